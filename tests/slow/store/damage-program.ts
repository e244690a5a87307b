/**
 * `fill <folder>` creates a knowledge base whose last writes are only in the write-ahead log, and
 * is then killed. `open <folder>` opens it and prints its documents, or why it was refused.
 */
import { requireKnowledgeBase } from '../../../src/core/domain/access/catalog-snapshot.ts'
import { StartError } from '../../../src/core/errors.ts'
import { openStore } from '../../../src/store/store.ts'
import { current, documentOf, draftOf, rowsOf } from '../../support/store-fixture.ts'

const [command, folder = ''] = process.argv.slice(2)

async function fill(): Promise<never> {
  const made = await openStore({ directory: folder })
  const kb = await made.catalog.createKnowledgeBase(draftOf('kb'))
  const texts = Array.from({ length: 200 }, (_, index) => `text ${index} `.repeat(50))
  await made.chunks.replaceDocuments(kb, [documentOf({ id: 'in the file', texts })])
  await made.close()
  const store = await openStore({ directory: folder })
  for (const id of ['log 1', 'log 2', 'log 3', 'log 4']) {
    await store.chunks.replaceDocuments(current(store), [
      documentOf({ id, texts: [`text of ${id}`] }),
    ])
  }
  process.kill(process.pid, 'SIGKILL')
  throw new Error('still alive')
}

async function open(): Promise<string> {
  try {
    const store = await openStore({ directory: folder })
    const kb = requireKnowledgeBase(store.catalog.snapshot(), 'mindsdb', 'kb')
    const rows = await rowsOf(
      store,
      `SELECT DISTINCT document_id FROM project_${kb.projectId}.kb_${kb.id}_chunks ORDER BY 1`,
    )
    await store.close()
    return `opened: ${rows.map(([id]) => id).join(', ')}`
  } catch (error) {
    if (error instanceof StartError) return `refused: ${error.message}`
    return `failed: ${String(error)}`
  }
}

process.stdout.write(command === 'fill' ? await fill() : await open())
process.exit(0)
