/** What each knowledge base takes in memory and on disk, over HTTP. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeKey } from '../support/access-keys.ts'
import { createTestApp, wordEmbedders } from '../support/test-app.ts'

const folder = await mkdtemp(join(tmpdir(), 'eider-usage-'))
const app = await createTestApp({ embedders: wordEmbedders, directory: folder })
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

interface Used {
  readonly knowledge_base: string
  readonly chunks: number
  readonly disk: Readonly<Record<'texts' | 'vectors' | 'keywords', number>> | null
  readonly memory: Readonly<Record<'vectors' | 'rows', number>>
  readonly vectors: { readonly copy: string; readonly count: number }
}

async function usage(query = '', headers?: HeadersInit) {
  const { body } = await app.send('GET', `/api/usage${query}`, undefined, headers)
  // The route's schema defines this form.
  return body as { readonly items: readonly Used[]; readonly total: number; readonly next: unknown }
}

async function sql(query: string) {
  const { body } = await app.send('POST', '/api/sql/query', { query })
  expect(body).not.toMatchObject({ type: 'error' })
}

/** Its vectors are loaded into memory in the background. */
async function copied(count: number): Promise<Used> {
  for (;;) {
    const [first] = (await usage('?project=mindsdb')).items
    if (first?.vectors.count === count) return first
    await Bun.sleep(5)
  }
}

test('a knowledge base takes memory and disk, and says so right after inserts and deletes', async () => {
  await sql('CREATE KNOWLEDGE_BASE notes')
  expect((await usage()).items).toMatchObject([
    {
      knowledge_base: 'notes',
      documents: 0,
      chunks: 0,
      dimensions: 64,
      vectors: { copy: 'none', count: 0 },
    },
  ])
  await sql(
    "INSERT INTO notes SELECT i::VARCHAR AS id, 'the note ' || i AS content FROM range(40) t(i)",
  )
  const full = await copied(40)
  expect(full).toMatchObject({ chunks: 40, vectors: { copy: 'whole' } })
  expect(full.memory.vectors).toBeGreaterThanOrEqual(40 * 64 * 4)
  await sql("DELETE FROM notes WHERE id IN ('1', '2')")
  expect((await usage()).items[0]).toMatchObject({
    ...{ documents: 38, chunks: 38, vectors: { count: 38 } },
  })
  expect((await usage('?without_disk=true')).items).toMatchObject([{ documents: 38, disk: null }])
  await sql('VACUUM')
  const { disk } = await copied(38)
  for (const bytes of Object.values(disk ?? { texts: 0 })) expect(bytes).toBeGreaterThan(0)
})

test('a limited key sees what its projects take, and pages follow each other', async () => {
  await app.send('POST', '/api/projects', { project: { name: 'other' } })
  await sql('CREATE KNOWLEDGE_BASE other.notes')
  const { headers } = await makeKey(app, ['read'], { projects: ['other'] })
  expect(await usage('', headers)).toMatchObject({ items: [{ project: 'other' }], total: 1 })
  const refused = await app.send('GET', '/api/usage?project=mindsdb', undefined, headers)
  expect([refused.status, Object(refused.body).code]).toEqual([403, 'forbidden'])
  const first = await usage('?limit=1')
  expect(first).toMatchObject({ items: [{ project: 'mindsdb' }], total: 2, next: 1 })
  expect(await usage('?limit=1&offset=1')).toMatchObject({
    items: [{ project: 'other' }],
    next: null,
  })
})
