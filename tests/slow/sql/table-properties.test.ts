/** Random statements on tables give the same rows, counts and refusals as plain DuckDB. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { isEverything } from '../../support/sample.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const SEED = Number(process.env.TABLES_SEED ?? 2711)
const SEQUENCES = isEverything ? 60 : 20

let app: TestApp
let instance: DuckDBInstance
let plain: DuckDBConnection

beforeAll(async () => {
  app = await createTestApp()
  instance = await DuckDBInstance.create(':memory:')
  plain = await instance.connect()
})

afterAll(async () => {
  plain.closeSync()
  instance.closeSync()
  await app.close()
})

const column = fc.constantFrom('a', 'b', 'c')
const number = fc.integer({ min: -2, max: 4 }).map(String)
const value = fc.oneof(
  { weight: 6, arbitrary: number },
  fc.constantFrom("'x'", "'2'", 'NULL', "'it''s'", '1.5', 'true'),
)
const given = fc.oneof({ weight: 8, arbitrary: value }, fc.constant('DEFAULT'))
const expression = fc.oneof(
  value,
  column,
  fc.tuple(column, number).map(([name, by]) => `${name} + ${by}`),
  fc.constant('(SELECT count(*) FROM t)'),
  fc.constant("coalesce(b, 'none')"),
  fc.constant('CASE WHEN a > 1 THEN a ELSE 0 END'),
)
const condition = fc.oneof(
  fc
    .tuple(column, fc.constantFrom('=', '<', '>=', '<>', 'IS DISTINCT FROM'), value)
    .map((parts) => parts.join(' ')),
  fc.constant('a IN (SELECT max(a) FROM t)'),
  fc.constant('b IS NULL'),
)
const optional = (part: fc.Arbitrary<string>, before: string) =>
  fc.option(part, { nil: '' }).map((text) => (text === '' ? '' : ` ${before} ${text}`))
const where = optional(condition, 'WHERE')
const returning = optional(
  fc.constantFrom('*', 'a', 'b AS named, a', 'a * 2 AS twice, upper(b) AS loud', 't.a'),
  'RETURNING',
)
const set = fc
  .uniqueArray(fc.tuple(column, fc.oneof(expression, fc.constant('DEFAULT'))), {
    minLength: 1,
    maxLength: 2,
    selector: ([name]) => name,
  })
  .map((sets) => sets.map(([name, to]) => `${name} = ${to}`).join(', '))

const conflict = fc.constantFrom(
  ...['', '', ' ON CONFLICT DO NOTHING', ' ON CONFLICT (a) DO NOTHING'],
  ' ON CONFLICT (a) DO UPDATE SET b = excluded.b',
  ' ON CONFLICT (a) DO UPDATE SET b = t.b || excluded.b, c = 9 WHERE t.a > 0',
  ' ON CONFLICT (c) DO UPDATE SET b = excluded.b',
)
const tuple = fc.array(given, { minLength: 3, maxLength: 3 }).map((all) => `(${all.join(', ')})`)
const insert = fc.oneof(
  fc
    .tuple(fc.array(tuple, { minLength: 1, maxLength: 3 }), conflict, returning)
    .map(([rows, on, back]) => `INSERT INTO t VALUES ${rows.join(', ')}${on}${back}`),
  fc
    .tuple(given, given, conflict, returning)
    .map(([a, b, on, back]) => `INSERT INTO t (b, a) VALUES (${b}, ${a})${on}${back}`),
  fc.tuple(expression, where, conflict, returning).map(([a, only, on, back]) => {
    return `INSERT INTO t (a, b) SELECT * FROM (SELECT ${a} AS x, b FROM t${only}) ORDER BY ALL${on}${back}`
  }),
  fc.tuple(value).map(([a]) => `INSERT OR IGNORE INTO t (a) VALUES (${a})`),
  fc.tuple(value, value).map(([a, b]) => `INSERT OR REPLACE INTO t (a, b) VALUES (${a}, ${b})`),
  fc.constantFrom(
    'INSERT INTO t DEFAULT VALUES',
    'INSERT INTO t VALUES (1)',
    'INSERT INTO t (d) VALUES (1)',
  ),
)
const change = fc.oneof(
  fc.tuple(set, where, returning).map(([sets, only, back]) => `UPDATE t SET ${sets}${only}${back}`),
  fc
    .tuple(fc.constantFrom('b = s.w', 'c = s.k', 'a = s.k + 10, b = s.w'), returning)
    .map(([sets, back]) => `UPDATE t SET ${sets} FROM s WHERE s.k = t.a${back}`),
  fc.tuple(where, returning).map(([only, back]) => `DELETE FROM t${only}${back}`),
  fc.constantFrom('DELETE FROM t USING s WHERE s.k = t.a RETURNING *', 'TRUNCATE t'),
)
const definition = fc.constantFrom(
  'ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7',
  'ALTER TABLE t DROP COLUMN d',
  'ALTER TABLE t DROP COLUMN b',
  'ALTER TABLE t RENAME COLUMN d TO e',
  'CREATE TABLE t (a INTEGER)',
  'CREATE TABLE IF NOT EXISTS t (a INTEGER)',
  'CREATE OR REPLACE TABLE t AS SELECT * FROM t',
  "CREATE OR REPLACE TABLE t (a BIGINT UNIQUE, b VARCHAR NOT NULL DEFAULT 'n', c DOUBLE DEFAULT 2)",
)
const first = fc.constantFrom(
  "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'd', c INTEGER DEFAULT 3)",
  "CREATE TABLE t (a INTEGER, b VARCHAR NOT NULL DEFAULT 'd', c INTEGER, UNIQUE (a), CHECK (c > 0))",
  'CREATE TABLE t (a INTEGER, b VARCHAR, c DECIMAL(6, 2) DEFAULT 0.5, PRIMARY KEY (a, c))',
  'CREATE TABLE t (a DOUBLE, b VARCHAR, c VARCHAR)',
)
const sequence = fc.tuple(
  first,
  fc.array(
    fc.oneof(
      { weight: 6, arbitrary: insert },
      { weight: 4, arbitrary: change },
      { weight: 1, arbitrary: definition },
    ),
    { minLength: 4, maxLength: 14 },
  ),
)

interface Outcome {
  /** The rows of a statement with RETURNING, in any order. */
  readonly rows?: readonly string[]
  readonly affected?: number
  readonly error?: string
}

/**
 * Returns the part of an error message that both share: the column or key, but not the position.
 */
function failureOf(message: string): string {
  if (/Constraint Error/.test(message)) {
    const [kind = ''] = /NOT NULL|CHECK|Duplicate key|violates \w+/.exec(message) ?? []
    return `constraint: ${kind}`
  }
  return 'refused'
}

/** DuckDB's binding writes large integers and decimals as texts. */
function shown(row: readonly unknown[]): string {
  const cells = row.map((cell) => {
    return typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell
  })
  return JSON.stringify(cells)
}

async function ofEider(query: string): Promise<Outcome> {
  const { body } = await app.send('POST', '/api/sql/query', { query })
  const { type, data, affected_rows, error_code, error_message } = body as {
    readonly type: string
    readonly data?: readonly unknown[][]
    readonly affected_rows?: number | null
    readonly error_code?: number
    readonly error_message?: string
  }
  if (type === 'error') {
    expect(error_code === 4010).toBe(/^Constraint Error/.test(error_message ?? ''))
    expect(error_message).not.toMatch(/eider_|table_\d|project_\d/)
    return { error: failureOf(error_message ?? '') }
  }
  if (type === 'table') return { rows: (data ?? []).map(shown).sort() }
  return typeof affected_rows === 'number' ? { affected: affected_rows } : {}
}

async function ofDuckDB(query: string): Promise<Outcome> {
  try {
    const reader = await plain.runAndReadAll(query)
    const isTable = / RETURNING |^(SELECT|FROM)/.test(query)
    if (isTable)
      return {
        rows: reader.getRowsJson().map(shown).sort(),
      }
    return /^(INSERT|UPDATE|DELETE|TRUNCATE)/.test(query) ? { affected: reader.rowsChanged } : {}
  } catch (error) {
    return { error: failureOf(error instanceof Error ? error.message : String(error)) }
  }
}

const ROWS = 'SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t ORDER BY ALL'

test('a sequence of statements does to a table what it does in DuckDB', async () => {
  const property = fc.asyncProperty(sequence, async ([create, statements]) => {
    const other =
      "CREATE OR REPLACE TABLE s AS SELECT * FROM (VALUES (1, 'one'), (2, 'two')) v(k, w)"
    for (const query of ['DROP TABLE IF EXISTS t', other]) {
      await app.send('POST', '/api/sql/query', { query })
      await plain.run(query)
    }
    for (const query of [create, ...statements]) {
      const isCounted = !/^CREATE/.test(query)
      const [own, theirs] = [await ofEider(query), await ofDuckDB(query)]
      const { affected: _, ...rest } = own
      expect({ query, ...(isCounted ? own : rest) }).toEqual({ query, ...theirs })
      expect({ query, ...(await ofEider(ROWS)) }).toEqual({ query, ...(await ofDuckDB(ROWS)) })
    }
  })
  await fc.assert(property, { numRuns: SEQUENCES, seed: SEED })
}, 300_000)
