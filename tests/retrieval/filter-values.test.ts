import { afterEach, expect, test } from 'bun:test'
import { chunkTables } from '../../src/core/domain/document.ts'
import type { BoundValue, PrefilterSql } from '../../src/core/domain/ports/engine-ports.ts'
import { openRetrieval, type Retrieval } from '../../src/retrieval/open-retrieval.ts'
import { isNode, parseTree, queryNode, statementOf } from '../../src/sql/ast/select-ast.ts'
import { memoryCondition } from '../../src/sql/search/memory-condition.ts'
import type { Store } from '../../src/store/store.ts'
import {
  current,
  documentOf,
  draftOf,
  newVector,
  openMemoryStore,
} from '../support/store-fixture.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'
const ROWS = 300

let app: TestApp | null = null
let store: Store | null = null
let retrieval: Retrieval | null = null
afterEach(async () => {
  await app?.close()
  await retrieval?.vectorCaches.close()
  await store?.close()
  app = null
  retrieval = null
  store = null
})

/** Each condition is used in a search, and alone in a statement that the database answers. */
const CONDITIONS: readonly (readonly [string, Readonly<Record<string, unknown>>?])[] = [
  ['number < 7'],
  ['7 > number'],
  ['number >= 3 AND number <> 5'],
  ['number BETWEEN 2 AND 6'],
  ['NOT (number BETWEEN 2 AND 6)'],
  ['number IN (1, 2, 11)'],
  ['number NOT IN (1, 2, 11)'],
  ['number IN :list', { list: [1, 2, 400] }],
  ['NOT (number IN :list)', { list: [1, 2] }],
  ['number = :n', { n: 4 }],
  ['number > :n', { n: 4.5 }],
  ['number < :n', { n: null }],
  ['number IS NULL'],
  ['number IS NOT NULL AND amount > -1.25'],
  ['amount <= 12.5 OR amount IS NULL'],
  ['NOT (amount <= 12.5)'],
  ['amount = 0.1'],
  ['number < 5.5'],
  ['is_new'],
  ['NOT is_new'],
  ['is_new = false OR number = 1'],
  ['is_new IS DISTINCT FROM true'],
  ["color = 'red'"],
  ["color <> 'red'"],
  ["color IN ('red', 'no such colour')"],
  ["color IS DISTINCT FROM 'red'"],
  ['color = :c', { c: "o'range" }],
  ["color = 'o''range'"],
  ['color IN :list', { list: ['red', "o'range"] }],
  ["NOT coalesce(color = 'red', FALSE)"],
  ["day >= '2024-01-20'"],
  ["day < DATE '2024-02-01' AND day IS NOT NULL"],
  ['day = CAST(:d AS DATE)', { d: '2024-01-15' }],
  ["came <= '2024-01-10'"],
  ["came > TIMESTAMP '2024-01-10 05:00:00'"],
  ['came >= CAST(:d AS TIMESTAMP)', { d: '2024-01-15 12:30:00.5' }],
  ["day > '2024-1-5'"],
  ["metadata.number < 3 AND k.color = 'red'"],
  ['large > 9007199254740993'],
  ["color LIKE 'r%' AND number < 9"],
  ['number + 1 < 5'],
  ["word = 'w7'"],
]

async function kept(condition: string, params = {}): Promise<readonly unknown[]> {
  const search = `SELECT id FROM kb AS k WHERE content = 'tea' AND (${condition}) LIMIT ${ROWS * 2}`
  const rows = await app?.rows(search, params)
  return (rows ?? []).map(([id]) => id).sort()
}

async function truth(condition: string, params = {}): Promise<readonly unknown[]> {
  const rows = await app?.rows(`SELECT id FROM kb AS k WHERE ${condition}`, params)
  return (rows ?? []).map(([id]) => id).sort()
}

async function query(sql: string): Promise<void> {
  const answer = await app?.send('POST', '/api/sql/query', { query: sql })
  expect(answer?.body).not.toHaveProperty('error_message', expect.stringMatching(/./))
}

function insertOf(from: number, to: number): string {
  return `INSERT INTO kb SELECT 'd' || i AS id, 'tea ' || (i % 9) AS content,
    CASE WHEN i % 7 > 0 THEN i % 13 END AS number,
    CASE WHEN i % 5 > 0 THEN (i % 40 - 4)::DOUBLE / 10 END AS amount,
    CASE WHEN i % 3 > 0 THEN i % 2 = 0 END AS is_new,
    CASE i % 4 WHEN 0 THEN 'red' WHEN 1 THEN 'o''range' WHEN 2 THEN 'blue ' || (i % 8) END AS color,
    CASE WHEN i % 11 > 0 THEN DATE '2024-01-01' + (i % 60)::INTEGER END AS day,
    CASE WHEN i % 6 > 0 THEN TIMESTAMP '2024-01-01 12:30:00.5' + INTERVAL (i % 30) DAY END AS came,
    9007199254740992 + i % 3 AS large, 'w' || i AS word
    FROM range(${from}, ${to}) AS t(i)`
}

test('a search finds the same chunks as its conditions in SQL, before and after writes', async () => {
  app = await createTestApp()
  await app.send('POST', KB, { knowledge_base: { name: 'kb' } })
  await query(insertOf(0, ROWS))
  const writes = [
    insertOf(ROWS - 20, ROWS + 40),
    "UPDATE kb SET number = 1, color = 'new' WHERE number = 4",
    "DELETE FROM kb WHERE id IN ('d1', 'd2', 'd13')",
    "INSERT INTO kb SELECT 'late' AS id, 'tea' AS content, 2.5 AS number, 'red' AS color",
    `DELETE FROM kb WHERE number < 9`,
  ]
  for (const write of [null, ...writes]) {
    if (write !== null) await query(write)
    for (const [condition, params] of CONDITIONS) {
      const found = { condition, write, ids: await kept(condition, params) }
      expect(found).toEqual({ condition, write, ids: await truth(condition, params) })
    }
  }
}, 60_000)

test('a value of another kind fails as it does without a search', async () => {
  app = await createTestApp()
  await app.send('POST', KB, { knowledge_base: { name: 'kb' } })
  await query(insertOf(0, 50))
  expect(await kept('number < 100')).not.toEqual([])
  for (const condition of ["number = 'five'", "day > 'yesterday'", 'number = :p']) {
    const params = { p: ['a', 'list'] }
    const alone = await truth(condition, params).catch((error) => String(error))
    expect(alone).toEqual(expect.stringContaining('rror'))
    expect(await kept(condition, params).catch((error) => String(error))).toBe(alone)
  }
})

test('once a column is in memory, a new range asks the database for nothing; after a write, for what it changed', async () => {
  store = await openMemoryStore()
  const opened = store
  const selects: string[] = []
  const { engine } = opened
  const counting = {
    run: (...call: Parameters<typeof engine.run>) => {
      selects.push(call[0].sql)
      return engine.run(...call)
    },
    columns: (...call: Parameters<typeof engine.columns>) => {
      selects.push(call[0].sql)
      return engine.columns(...call)
    },
  }
  const spied = { ...opened, engine: counting, setListener: opened.setListener.bind(opened) }
  retrieval = openRetrieval(spied, { bytesMax: 2 ** 26, wholeVectorsMax: 1_000, rowBytesMax: 0 })
  await opened.catalog.createKnowledgeBase(draftOf('kb'))
  const put = (from: number, count: number) => {
    const documents = Array.from({ length: count }, (_, index) => {
      const number = from + index
      const [metadata, vectors] = [{ number }, [newVector(1, number, 0)]]
      return documentOf({ id: `d${number}`, texts: ['tea'], metadata, vectors })
    })
    return opened.chunks.replaceDocuments(current(opened), documents)
  }
  await put(0, 100)
  await retrieval.vectorCaches.settled()
  const found = async (condition: string, values: Record<string, BoundValue> = {}) => {
    selects.length = 0
    const search = {
      knowledgeBase: current(opened),
      queryVector: Float32Array.from([1, 0, 0]),
      count: 500,
      prefilter: await prefilterOf(opened, condition, values),
      limits: { timeoutMs: 10_000 },
    }
    const near = await retrieval?.vectorCaches.nearest(search, new AbortController().signal)
    return near?.neighbours.length
  }
  expect(await found('number < 30')).toBe(30)
  expect(selects.length).toBeGreaterThan(0)
  expect(await found('number BETWEEN 10 AND 19')).toBe(10)
  expect(await found('number > $least', { least: 90 })).toBe(9)
  expect(selects).toEqual([])
  await put(100, 10)
  expect(await found('number > $least', { least: 90 })).toBe(19)
  expect(selects).toHaveLength(1)
  expect(selects[0]).toContain('IN ($keys)')
})

async function prefilterOf(
  opened: Store,
  condition: string,
  values: PrefilterSql['values'],
): Promise<PrefilterSql> {
  const kb = current(opened)
  const columns = kb.storedMetadata.map(({ column, name }) => `${column} AS ${name}`).join(', ')
  const from = `(SELECT chunk_key AS __chunk_key, ${columns} FROM ${chunkTables(kb).chunks}) AS kb`
  const sql = `SELECT __chunk_key FROM ${from} WHERE ${condition}`
  const where = queryNode(statementOf(parseTree(await opened.engine.parse(sql)))).where_clause
  const checked = isNode(where) ? memoryCondition(where, 'kb', kb) : null
  return { sql, values, isCacheable: true, condition: checked }
}
