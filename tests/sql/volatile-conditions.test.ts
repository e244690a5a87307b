import { afterAll, beforeAll, expect, test } from 'bun:test'
import { requireKnowledgeBase } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { RerankerRegistry } from '../../src/core/domain/ports/model-ports.ts'
import type { NearestChunks } from '../../src/core/domain/ports/search-ports.ts'
import { alterKnowledgeBase } from '../../src/query/definitions/define-knowledge-base.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import type { QueryDeps } from '../../src/query/select/query-deps.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

/**
 * Of two hundred chunks, fewer than eight pass in one of 10^47 runs. Of eight chunks, all pass in
 * one of 256 runs.
 */
const PASSES = 'random() < 0.5'
const RUNS = 5

let fixture: SqlFixture

beforeAll(async () => {
  fixture = await openSqlFixture()
})

afterAll(() => fixture.close())

async function rowsOf(sql: string, deps: QueryDeps = fixture.deps) {
  const request = { sql, db: 'mindsdb', params: {} }
  const result = await runQuery(request, deps, new AbortController().signal)
  if (result.kind !== 'table') throw new Error('a table was asked for')
  const rows: (readonly unknown[])[] = []
  for await (const batch of result.rows.batches) rows.push(...batch)
  return rows
}

async function rowCounts(sql: string, deps?: QueryDeps) {
  const counts: number[] = []
  for (let run = 0; run < RUNS; run += 1) counts.push((await rowsOf(sql, deps)).length)
  return counts
}

const SEARCH = "content = 'text 60'"

test.each([
  ['alone', `SELECT id FROM kb WHERE ${SEARCH} AND ${PASSES} LIMIT 8`, 8],
  ['without a LIMIT', `SELECT * FROM kb WHERE ${SEARCH} AND ${PASSES}`, 10],
  [
    'beside a threshold',
    `SELECT id FROM kb WHERE ${SEARCH} AND relevance > 0.1 AND ${PASSES} LIMIT 8`,
    8,
  ],
  [
    'over a column of the chunks',
    `SELECT id FROM kb WHERE ${SEARCH} AND price * 0 + random() < 0.5 LIMIT 8`,
    8,
  ],
  [
    'of UUIDs',
    `SELECT id FROM kb WHERE ${SEARCH} AND price >= 0 AND uuidv4()::VARCHAR < '8' LIMIT 8`,
    8,
  ],
  [
    'beside one that is pushed down',
    `SELECT id FROM kb WHERE ${SEARCH} AND price < 8 AND ${PASSES} LIMIT 8`,
    8,
  ],
  ['after an OFFSET', `SELECT id FROM kb WHERE ${SEARCH} AND ${PASSES} LIMIT 8 OFFSET 5`, 8],
  [
    'in a sub-query',
    `SELECT * FROM (SELECT id FROM kb WHERE ${SEARCH} AND ${PASSES} LIMIT 8) AS near`,
    8,
  ],
  [
    'of a hybrid search',
    `SELECT id FROM kb WHERE ${SEARCH} AND hybrid_search = true AND price * 0 + random() < 0.5 LIMIT 8`,
    8,
  ],
  [
    'with an unwanted text',
    `SELECT id FROM kb WHERE ${SEARCH} AND content != 'text 1' AND ${PASSES} LIMIT 8`,
    8,
  ],
  ['in an OR', `SELECT id FROM kb WHERE ${SEARCH} AND (price > 99 OR ${PASSES}) LIMIT 8`, 8],
])('a volatile condition is evaluated once for each row: %s', async (_, sql, count) => {
  expect(await rowCounts(sql)).toEqual(Array.from({ length: RUNS }, () => count))
})

test('a volatile condition of a hybrid search keeps half of its rows', async () => {
  const condition = `${SEARCH} AND hybrid_search = true AND price * 0 + random() < 0.5`
  for (const count of await rowCounts(`SELECT id FROM kb WHERE ${condition} LIMIT 1000`)) {
    expect(Math.abs(count - 100)).toBeLessThan(45)
  }
})

test('candidates are never found by a volatile condition', async () => {
  const asked: unknown[] = []
  const nearest: NearestChunks = {
    nearest: async (search, signal) => {
      asked.push(search.prefilter)
      return fixture.deps.nearest.nearest(search, signal)
    },
    access: (kb) => fixture.deps.nearest.access(kb),
  }
  const deps = { ...fixture.deps, nearest }
  const volatile = ['random() < 2', 'price < 99 + random()', "uuidv7()::VARCHAR <> concat('', id)"]
  for (const condition of volatile) {
    for (const option of ['', ' AND hybrid_search = true']) {
      await rowsOf(`SELECT id FROM kb WHERE ${SEARCH}${option} AND ${condition} LIMIT 3`, deps)
    }
  }
  expect(asked).toEqual([])
  await rowsOf(`SELECT id FROM kb WHERE ${SEARCH} AND price < 99 LIMIT 3`, deps)
  expect(asked).toHaveLength(1)
})

test('the candidates of a reranked search meet a volatile condition once', async () => {
  const passageCounts: number[] = []
  const rerankers: RerankerRegistry = {
    providers: ['rerank'],
    reranker: () => ({
      rerank: async (_text, passages) => {
        passageCounts.push(passages.length)
        return passages.map(() => 0.5)
      },
    }),
  }
  const deps = { ...fixture.deps, rerankers }
  const { catalog } = deps
  const own = requireKnowledgeBase(catalog.snapshot(), 'mindsdb', 'kb')
  const model = { provider: 'rerank', base_url: 'http://127.0.0.1:9' }
  await alterKnowledgeBase(own, { reranking_model: model }, deps)
  try {
    const counts = await rowCounts(`SELECT id FROM kb WHERE ${SEARCH} AND ${PASSES} LIMIT 8`, deps)
    expect(counts).toEqual(Array.from({ length: RUNS }, () => 8))
    expect(passageCounts).toEqual(Array.from({ length: RUNS }, () => 50))
  } finally {
    const changed = requireKnowledgeBase(catalog.snapshot(), 'mindsdb', 'kb')
    await alterKnowledgeBase(changed, { reranking_model: null }, deps)
  }
})

test('the texts of a lateral search are not narrowed by a volatile condition', async () => {
  const texts = 'FROM range(20) AS t(n) JOIN kb AS k'
  const search = "k.content = concat('text ', t.n)"
  const inWhere = `SELECT DISTINCT t.n ${texts} ON ${search} WHERE ${PASSES}`
  const inJoin = `SELECT DISTINCT t.n FROM range(20) AS t(n)
    JOIN range(1000) AS u(m) ON ${PASSES} JOIN kb AS k ON ${search} AND k.price = 1`
  for (const sql of [inWhere, inJoin]) {
    expect(await rowCounts(sql)).toEqual(Array.from({ length: RUNS }, () => 20))
  }
  // DuckDB evaluates it for each row of t, so half of them stay. If it evaluated it twice, a
  // quarter would.
  const ofColumn = `SELECT DISTINCT t.n FROM range(400) AS t(n) JOIN kb AS k ON ${search}
    WHERE t.n + random() < t.n + 0.5`
  expect(Math.abs((await rowsOf(ofColumn)).length - 200)).toBeLessThan(60)
})

test('a search for a text that is another each time is refused', async () => {
  const sql = `SELECT k.id FROM range(3) AS t(n), kb AS k WHERE k.content = concat(t.n, random())`
  expect(await fixture.answer(sql)).toStartWith('error: content is searched for')
})

test('UPDATE and DELETE find their chunks by a volatile condition once', async () => {
  const own = await openSqlFixture()
  try {
    await own.answer(`UPDATE kb SET price = 77 WHERE ${SEARCH} AND relevance > 0 AND ${PASSES}`)
    const updated = await rowsOf('SELECT id FROM kb WHERE price = 77', own.deps)
    expect(Math.abs(updated.length - 100)).toBeLessThan(45)
    const hybrid = `${SEARCH} AND relevance >= 0 AND hybrid_search = true`
    await own.answer(`DELETE FROM kb WHERE ${hybrid} AND price * 0 + random() < 0.5`)
    const left = await rowsOf('SELECT id FROM kb', own.deps)
    expect(Math.abs(left.length - 100)).toBeLessThan(45)
  } finally {
    await own.close()
  }
})

test.each([
  ['price < 7', true],
  ['"snow" = 1 AND lifetime = 1 AND k."random" = 1 AND metadata.today = 1', true],
  ["chunk_content <> 'now today random()'", true],
  [
    "chunk_content <> 'now' AND date_trunc('day', now()) > TIMESTAMP '2020-01-01' + to_days(price)",
    false,
  ],
  ["age(TIMESTAMP '2020-01-01' + to_days(price)) > INTERVAL 1 DAY", false],
  ["current_localtimestamp() > TIMESTAMP '2020-01-01' + to_days(price)", false],
  ["ago(INTERVAL 1 DAY) > TIMESTAMP '2020-01-01' + to_days(price)", false],
])(
  'the chunks that %s keeps may be kept for the next statement: %p',
  async (condition, isCacheable) => {
    const own = await openSqlFixture()
    const columns = ['snow', 'lifetime', 'random', 'today']
    const metadata = columns.map((column) => `1 AS ${column}`).join(', ')
    await own.answer(
      `INSERT INTO kb SELECT 'x' AS id, 'text 60' AS content, 1 AS price, ${metadata}`,
    )
    const asked: unknown[] = []
    const nearest: NearestChunks = {
      nearest: async (search, signal) => {
        asked.push(search.prefilter?.isCacheable)
        return own.deps.nearest.nearest(search, signal)
      },
      access: (kb) => own.deps.nearest.access(kb),
    }
    try {
      const sql = `SELECT id FROM kb AS k WHERE ${SEARCH} AND ${condition} LIMIT 3`
      expect((await rowsOf(sql, { ...own.deps, nearest })).length).toBeGreaterThan(0)
      expect(asked).toEqual([isCacheable])
    } finally {
      await own.close()
    }
  },
)
