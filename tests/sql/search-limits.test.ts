import { afterAll, beforeAll, expect, test } from 'bun:test'
import { setTimeout } from 'node:timers/promises'
import { createTestApp, wordEmbedders } from '../support/test-app.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

function texts(count: number): string {
  return Array.from({ length: count }, (_, index) => `'word ${index}'`).join(', ')
}

test('a hybrid search of thirty texts runs, and of more is refused in clear words', async () => {
  const search = (count: number) =>
    `SELECT id FROM kb WHERE content IN (${texts(count)}) AND hybrid_search = true LIMIT 2`
  expect(await fixture.answer(search(30))).not.toContain('error')
  for (const count of [31, 500]) {
    const said = `error: A hybrid search has at most 30 texts, and this one ${count}`
    expect(await fixture.answer(search(count))).toBe(said)
  }
})

test('a statement searches for a thousand texts', async () => {
  const search = (count: number) => `SELECT id FROM kb WHERE content IN (${texts(count)}) LIMIT 2`
  expect(await fixture.answer(search(100))).not.toContain('error')
  expect(await fixture.answer(search(1001))).toStartWith(
    'error: A statement searches for at most 1000 texts',
  )
})

test('too deep nesting is reported without advice that cannot be followed', async () => {
  const sql = `SELECT id FROM kb WHERE ${'NOT ('.repeat(3000)}true${')'.repeat(3000)}`
  expect(await fixture.answer(sql)).toBe(
    'error: A statement has at most 1000 expressions within one another',
  )
})

test('the time limit of a statement includes the embedding of its texts', async () => {
  let embeddingMs = 0
  const app = await createTestApp({
    environment: { EIDER_QUERY_MS: '1000' },
    embedders: {
      ...wordEmbedders,
      embedder: (model, withinMs) => {
        const { embed } = wordEmbedders.embedder(model, withinMs)
        return {
          embed: async (texts, signal) => {
            await setTimeout(embeddingMs, undefined, { signal })
            return embed(texts, signal)
          },
        }
      },
    },
  })
  const rows = "INSERT INTO kb (id, content) VALUES ('a', 'green tea')"
  for (const query of ['CREATE KNOWLEDGE_BASE kb', rows]) {
    await app.send('POST', '/api/sql/query', { query })
  }
  const search = async (text: string) => {
    const sql = `SELECT count(*) FROM kb WHERE content = '${text}'
      AND relevance >= (SELECT count(*) FROM range(10000000) t(i) WHERE i % 7 > 6)`
    const { body } = await app.send('POST', '/api/sql/query', { query: sql })
    return Object(body).error_message ?? Object(body).data
  }
  expect(await search('tea')).toEqual([[1]])
  // Only the rest of the statement is late; and the embedding itself, by far.
  for (const [ms, late] of [
    [1_005, 'The statement took longer than its limit of 1000 ms (EIDER_QUERY_MS)'],
    [
      9_000,
      'The search texts were not embedded within the time limit of the statement, 1000 ms (EIDER_QUERY_MS)',
    ],
  ] as const) {
    embeddingMs = ms
    const startMs = performance.now()
    expect(await search(`cup ${ms}`)).toBe(late)
    expect(performance.now() - startMs).toBeLessThan(5_000)
  }
  await app.close()
})

test('thirty texts can be excluded, each by up to 256 words, and more are refused', async () => {
  const without = (count: number) =>
    `SELECT count(*) FROM kb WHERE content NOT IN (${texts(count)})`
  expect(await fixture.answer(without(30))).not.toContain('error')
  const said = 'error: A search excludes at most 30 texts, and this one 31'
  expect(await fixture.answer(without(31))).toContain(said)
  const [first] = (await fixture.answer('SELECT chunk_content FROM kb LIMIT 1'))
    .split('\n')
    .slice(-1)
  const long = `${first?.replaceAll("'", "''")} ${'x '.repeat(50_000)}`
  expect(
    await fixture.answer(`SELECT count(*) FROM kb WHERE content NOT LIKE '${long}'`),
  ).not.toContain('error')
})

test('a very long word of flags, whose error DuckDB cannot write, is a syntax error', async () => {
  expect(await fixture.answer('🇩🇪'.repeat(25_000))).toBe('error: The statement cannot be read')
})
