import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AppError } from '../../src/core/errors.ts'
import {
  INFORMATION_SCHEMA_TABLES,
  informationSchemaSql,
} from '../../src/query/information-schema/information-schema.ts'
import { rowsSql, schemaColumns } from '../../src/query/information-schema/schema-table.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { PlanCache } from '../../src/query/select/plan-cache.ts'
import { openSqlFixture, type SqlFixture } from '../sql/sql-fixture.ts'

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

async function answerIn(db: string, sql: string) {
  const { signal } = new AbortController()
  const result = await runQuery({ sql, db, params: {} }, fixture.deps, signal)
  if (result.kind !== 'table') throw new Error(`no rows: ${result.kind}`)
  const rows: unknown[] = []
  for await (const batch of result.rows.batches) rows.push(...batch)
  return { columns: result.rows.columns, rows, context: result.context }
}

describe('each table of information_schema', () => {
  for (const name of INFORMATION_SCHEMA_TABLES) {
    test(`${name} has the columns that information_schema.columns says`, async () => {
      const { columns } = await answerIn('mindsdb', `SELECT * FROM information_schema.${name}`)
      const { rows } = await answerIn(
        'mindsdb',
        `SELECT column_name, data_type FROM information_schema.columns
         WHERE table_schema = 'information_schema' AND table_name = upper('${name}')`,
      )
      expect(rows).toEqual(columns.map((column) => [column.name, column.type]))
    })
  }

  test('can be used in DESCRIBE and SHOW COLUMNS', async () => {
    const { rows } = await answerIn(
      'mindsdb',
      'SELECT table_schema, table_name FROM information_schema.tables',
    )
    expect(rows.length).toBeGreaterThan(20)
    for (const row of rows) {
      const name = (Array.isArray(row) ? row : []).map((part) => `"${part}"`).join('.')
      expect((await answerIn('mindsdb', `SHOW COLUMNS FROM ${name}`)).rows).not.toEqual([])
      expect((await answerIn('mindsdb', `DESCRIBE ${name}`)).rows).not.toEqual([])
    }
  })
})

test('thousands of relations do not make the text of a statement longer', () => {
  const snapshot = fixture.deps.catalog.snapshot()
  const knowledgeBases = Array.from({ length: 1000 }, () => snapshot.knowledgeBases).flat()
  for (const table of ['tables', 'columns']) {
    const text = informationSchemaSql({ ...snapshot, knowledgeBases }, table)
    expect(text).toBe(informationSchemaSql(snapshot, table))
  }
})

describe('rows in one literal', () => {
  const columns = schemaColumns('A B:BIGINT')
  const { signal } = new AbortController()

  async function rowsOf(rows: readonly Readonly<Record<string, string | number | null>>[]) {
    const statement = { sql: rowsSql(columns, rows), values: {} }
    const stream = await fixture.deps.engine.run(statement, { timeoutMs: 10_000 }, signal)
    const found: unknown[] = []
    for await (const batch of stream.batches) found.push(...batch)
    return { found, types: stream.columns.map(({ type }) => type) }
  }

  test('come back unchanged and in order, with the types of the columns', async () => {
    const texts = ["it's", '"', '\\', '\n\t', '\u0000', '', 'null', '🦆', '{"a":1}', 'é']
    const { found, types } = await rowsOf(texts.map((text, index) => ({ A: text, B: index })))
    expect(found).toEqual(texts.map((text, index) => [text, index]))
    expect(types).toEqual(['VARCHAR', 'BIGINT'])
  })

  test('may lack values, or be none', async () => {
    const missing = [{ B: 1 }, { A: null }]
    expect((await rowsOf(missing)).found).toEqual([
      [null, 1],
      [null, null],
    ])
    expect(await rowsOf([])).toEqual({ found: [], types: ['VARCHAR', 'BIGINT'] })
  })

  test('half a surrogate pair does not break them', async () => {
    expect((await rowsOf([{ A: 'a\ud800b' }])).found).toEqual([['a\ufffdb', null]])
  })
})

describe('within files as the database of the request', () => {
  test('names without a project are those of files', async () => {
    expect((await answerIn('files', 'SHOW FULL TABLES')).rows).toEqual([['t', 'BASE TABLE']])
    expect((await answerIn('files', 'SHOW COLUMNS FROM t')).rows.length).toBe(2)
    expect((await answerIn('files', 'DESCRIBE t')).rows.length).toBe(2)
    expect((await answerIn('files', 'SHOW KNOWLEDGE_BASES')).rows).toEqual([])
    expect((await answerIn('files', 'SELECT database()')).rows).toEqual([['files']])
  })

  test('the tables of a project are not there', async () => {
    const code = await answerIn('files', 'SELECT * FROM models').catch(
      (error: AppError) => error.code,
    )
    expect(code).toBe('sql_unknown_name')
  })

  test('the answer keeps the context of the request', async () => {
    expect((await answerIn('files', 'SHOW DATABASES')).context).toEqual({ db: 'files' })
  })
})

test('a plan with a long text is not cached', () => {
  const plans = new PlanCache()
  const plan = {
    searches: [],
    candidates: null,
    knowledgeBases: [],
    scans: [],
    constant: null,
    counted: null,
    document: null,
    agents: [],
    thresholds: [],
    rerankings: [],
    reads: [],
    described: [],
    direct: null,
    isShort: false,
    innerPlans: new Map(),
    parameterNames: [],
  }
  const rest = { parameters: new Set<string>(), readsCatalog: false }
  const versions = { version: 1, definitionsVersion: 1 }
  plans.set('short', versions, { ...plan, ...rest, sql: 'SELECT 1' })
  plans.set('long', versions, { ...plan, ...rest, sql: 'x'.repeat(100_001) })
  const known = ['short', 'long'].map((statement) => plans.get(statement, versions)?.sql)
  expect(known).toEqual(['SELECT 1', undefined])
})

test('a plan is cached until something it depends on changes', () => {
  const plans = new PlanCache()
  const requests = {
    searches: [],
    candidates: null,
    knowledgeBases: [],
    scans: [],
    constant: null,
    counted: null,
    document: null,
    agents: [],
    thresholds: [],
    rerankings: [],
    reads: [],
    described: [],
    direct: null,
    isShort: false,
  }
  const plan = {
    ...requests,
    innerPlans: new Map(),
    parameterNames: [],
    parameters: new Set<string>(),
  }
  const versions = { version: 1, definitionsVersion: 1 }
  plans.set('table', versions, { ...plan, sql: 'SELECT 1', readsCatalog: false })
  plans.set('catalog', versions, { ...plan, sql: 'SELECT 2', readsCatalog: true })
  const knownAt = (version: number, definitionsVersion: number) => {
    return ['table', 'catalog'].map((one) => plans.get(one, { version, definitionsVersion })?.sql)
  }
  expect(knownAt(1, 1)).toEqual(['SELECT 1', 'SELECT 2'])
  expect(knownAt(2, 1)).toEqual(['SELECT 1', undefined])
  expect(knownAt(3, 2)).toEqual([undefined, undefined])
})
