import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { VectorIndexState } from '../../src/core/domain/index-definition.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

const STATES: readonly VectorIndexState[] = [
  {
    project: 'mindsdb',
    knowledgeBase: 'kb',
    type: 'hnsw',
    state: 'building',
    vectorCount: 200,
    detail: 'the graph is being built',
  },
  {
    project: 'mindsdb',
    knowledgeBase: 'empty',
    type: 'auto',
    state: 'exact',
    vectorCount: null,
    detail: 'there are no vectors',
  },
  // It has the same name in another project.
  {
    project: 'other',
    knowledgeBase: 'kb',
    type: 'ivf',
    state: 'ready',
    vectorCount: 5,
    detail: 'recall 1',
  },
]

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

async function rowsOf(sql: string) {
  const indexes = { ...fixture.deps.indexes, states: () => STATES }
  const request = { sql, db: 'mindsdb', params: {} }
  const deps = { ...fixture.deps, indexes }
  const result = await runQuery(request, deps, new AbortController().signal)
  if (result.kind === 'ok') throw new Error('no rows')
  const rows = [result.rows.columns.map(({ name }) => name)]
  for await (const batch of result.rows.batches) rows.push(...batch.map((row) => row.map(String)))
  return rows
}

const COLUMNS = ['project', 'knowledge_base', 'type', 'state', 'vectors', 'detail']
const KB = ['mindsdb', 'kb', 'hnsw', 'building', '200', 'the graph is being built']

test('SHOW INDEXES shows how each knowledge base is searched', async () => {
  expect(await rowsOf('SHOW INDEXES;')).toEqual([
    COLUMNS,
    KB,
    ['mindsdb', 'empty', 'auto', 'exact', 'null', 'there are no vectors'],
    ['other', 'kb', 'ivf', 'ready', '5', 'recall 1'],
  ])
})

test("SHOW INDEXES ON shows one knowledge base's index, not that of its namesake in another project", async () => {
  expect(await rowsOf('SHOW INDEXES ON KNOWLEDGE_BASE KB')).toEqual([COLUMNS, KB])
  expect(await rowsOf('show indexes on knowledge base mindsdb.kb')).toEqual([COLUMNS, KB])
})

test('SHOW INDEX ON leaves out the words KNOWLEDGE_BASE', async () => {
  expect(await rowsOf('SHOW INDEX ON kb')).toEqual([COLUMNS, KB])
  expect(await rowsOf('SHOW INDEXES ON mindsdb.kb')).toEqual([COLUMNS, KB])
  await expect(rowsOf('SHOW INDEX ON nothing')).rejects.toThrow('does not exist: nothing')
})

test('LIKE, WHERE, ORDER BY and LIMIT narrow it as any SHOW', async () => {
  const names = async (sql: string) => (await rowsOf(sql)).slice(1).map(([, name]) => name)
  expect(await names("SHOW INDEXES LIKE 'em%'")).toEqual(['empty'])
  expect(await names("SHOW INDEXES WHERE state = 'ready' OR vectors > 100")).toEqual(['kb', 'kb'])
  expect(await names('SHOW INDEX ORDER BY vectors DESC NULLS LAST LIMIT 1')).toEqual(['kb'])
  expect(await names("SHOW INDEXES ON KNOWLEDGE_BASE kb WHERE type = 'ivf'")).toEqual([])
  await expect(rowsOf('SHOW INDEXES WHERE nothing = 1')).rejects.toThrow('"nothing"')
  await expect(rowsOf('SHOW INDEXES WHERE state = (SELECT 1')).rejects.toThrow()
})
