/** Writes random changes to documents over REST, and compares them with what SQL returns. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const WORDS = 'tea cup leaf water stone paper river glass'.split(' ')

let t: TestApp

beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

const id = fc.constantFrom('a', 'a/b', 'ü 🦆', "it's", '%', 'a:content:1of1:0to3', 'A')
const text = fc
  .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 40 })
  .map((words) => words.join(' '))
const value = fc.oneof(
  fc.integer({ min: -9, max: 9 }),
  fc.constantFrom('x', "q'uote", ''),
  fc.boolean(),
)
const metadata = fc.dictionary(
  fc.constantFrom('n', 'tag', 'Größe'),
  fc.oneof(value, fc.constant(null)),
)

const step = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), id, content: text, metadata }),
  fc.record({ kind: fc.constant('patch' as const), id, metadata }),
  fc.record({ kind: fc.constant('delete' as const), id }),
  fc.record({ kind: fc.constant('filter' as const), tag: fc.constantFrom('x', "q'uote") }),
)

interface Known {
  content: string
  metadata: Record<string, unknown>
}

interface Tried {
  readonly kb: string
  readonly known: Map<string, Known>
  readonly columns: readonly string[]
  /** Metadata that some document once had, whose columns keep a type. */
  readonly written: Set<string>
}

test('documents by REST are those that SQL shows', async () => {
  let number = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      number += 1
      const name = `p${number}`
      const preprocessing = { text_chunking_config: { chunk_size: 50, chunk_overlap: 20 } }
      const columns = ['n', 'tag', 'Größe']
      await t.send('POST', KBS, {
        knowledge_base: { name, preprocessing, metadata_columns: columns },
      })
      const kb = `${KBS}/${name}`
      const known = new Map<string, Known>()
      const written = new Set<string>()
      for (const one of steps) await apply(one, { kb, known, columns, written })
      await compare(name, known)
      await t.send('DELETE', kb)
    }),
    { numRuns: 25 },
  )
}, 120_000)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

async function apply(one: Step, { kb, known, columns, written }: Tried): Promise<void> {
  if (one.kind === 'filter') {
    const filters = encodeURIComponent(JSON.stringify({ tag: one.tag }))
    const answer = await t.send('DELETE', `${kb}/documents?filters=${filters}`)
    if (answer.status !== 200) {
      // A column whose values were numbers cannot be compared with a text.
      expect([written.has('tag'), answer.status]).toEqual([true, 400])
      return
    }
    for (const [key, { metadata: own }] of known) if (own.tag === one.tag) known.delete(key)
    return
  }
  const path = `${kb}/documents/${encodeURIComponent(one.id)}`
  const before = known.get(one.id)
  if ('metadata' in one) for (const key of Object.keys(one.metadata)) written.add(key)
  if (one.kind === 'put') {
    const answer = await t.send('PUT', path, { content: one.content, metadata: one.metadata })
    expect(answer.status).toBe(before === undefined ? 201 : 200)
    const own = Object.fromEntries(columns.map((column) => [column, one.metadata[column] ?? null]))
    known.delete(one.id)
    known.set(one.id, { content: one.content, metadata: own })
  } else if (one.kind === 'patch') {
    const answer = await t.send('PATCH', path, { metadata: one.metadata })
    expect(answer.status).toBe(before === undefined ? 404 : 200)
    for (const [key, sent] of Object.entries(before === undefined ? {} : one.metadata)) {
      if (sent === null) delete before?.metadata[key]
      else if (before !== undefined) before.metadata[key] = sent
    }
  } else {
    const answer = await t.send('DELETE', path)
    expect(answer.status).toBe(before === undefined ? 404 : 204)
    known.delete(one.id)
  }
}

async function compare(name: string, known: ReadonlyMap<string, Known>): Promise<void> {
  const expected = [...known].map(([key, { metadata: own }]) => [key, own])
  const listed: unknown[] = []
  for (let next: string | null = '0'; next !== null; ) {
    const { body } = await t.send('GET', `${KBS}/${name}/documents?limit=2&cursor=${next}`)
    const page = body as { items: { id: string; metadata: unknown }[]; next: string | null }
    listed.push(...page.items.map(({ id: key, metadata: own }) => [key, own]))
    next = page.next
  }
  expect(listed).toEqual(expected)
  const rows = await t.rows(`SELECT DISTINCT id FROM ${name}`)
  expect(rows.map(([key]) => String(key)).sort()).toEqual([...known.keys()].sort())
  for (const [key, { content, metadata: own }] of known) {
    const path = `${KBS}/${name}/documents/${encodeURIComponent(key)}`
    const { body } = await t.send('GET', path)
    const { chunks, ...read } = body as { chunks: { chunk_id: string }[] }
    expect(read).toMatchObject({ id: key, metadata: own, content: { content }, exact: true })
    const sql = `SELECT chunk_id, metadata FROM ${name} WHERE id = :key`
    const stored = await t.rows(sql, { key })
    expect(stored.map(([chunkId]) => chunkId).sort()).toEqual(
      chunks.map((chunk) => chunk.chunk_id).sort(),
    )
    for (const [, shown] of stored) expect(shown).toMatchObject(own)
  }
}
