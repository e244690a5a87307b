/**
 * Run by kill.test.ts: replaces documents endlessly and prints a line for each acknowledged write.
 */
import { findIn, requireProject } from '../../../src/core/domain/access/catalog-snapshot.ts'
import { openStore } from '../../../src/store/store.ts'
import { documentOf, draftOf, newVector } from '../../support/store-fixture.ts'
import { chunkCountOf } from './kill-rules.ts'

const [directory = '', round = '0'] = process.argv.slice(2)
const store = await openStore({ directory })
const project = requireProject(store.catalog.snapshot(), 'mindsdb')
const kb =
  findIn(store.catalog.snapshot().knowledgeBases, project, 'kb') ??
  (await store.catalog.createKnowledgeBase(draftOf('kb')))

/** Each writer repeatedly writes its own documents, sometimes with new metadata columns. */
async function write(writer: number): Promise<never> {
  for (let step = 1; ; step += 1) {
    const version = Number(round) * 1_000_000 + step
    const id = `w${writer}-${step % 5}`
    const texts = Array.from({ length: chunkCountOf(version) }, (_, index) => `${version} ${index}`)
    const vectors = texts.map((_, index) => newVector(version, index, 1))
    const metadata = { version, [`c${step % 30}`]: step % 2 === 0 ? step : `${step}` }
    await store.chunks.replaceDocuments(kb, [documentOf({ id, texts, vectors, metadata })])
    process.stdout.write(`${id} ${version}\n`)
  }
}

await Promise.all([0, 1, 2, 3].map(write))
