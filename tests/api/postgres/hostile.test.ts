/**
 * The attempts to escape the restrictions (tests/sql/hostile.sql), sent through the PostgreSQL
 * port.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import pg from 'pg'
import { ATTEMPTS, fill, SECRET } from '../../sql/hostile-attempts.ts'
import { type Served, serve } from './postgres-fixture.ts'

/**
 * The port allows these: settings of the session, which change nothing else, and PostgreSQL's
 * catalog, which shows only what the caller may see.
 */
const HARMLESS =
  /^(?:SET|RESET|DEALLOCATE)\b|^SELECT (?:current_setting\('memory_limit'\)|txid_current\(\)|\* FROM (?:pg_catalog\.)?pg_class)$/i

/** Attempts that are possible only here, because the port's catalog is a DuckDB database, too. */
const OF_THE_CATALOG = [
  "SELECT * FROM pg_class, read_text('/etc/passwd')",
  "SELECT * FROM pg_class, read_csv('/etc/passwd')",
  "SELECT * FROM pg_catalog.pg_class, glob('/*')",
  "SELECT version(), (SELECT content FROM read_text('/etc/passwd'))",
  "SELECT getenv('HOME'), version()",
  "SELECT * FROM pg_class, '/etc/passwd.csv'",
  "SELECT oid FROM pg_class; ATTACH '/x.db'",
  "COPY (SELECT * FROM pg_class) TO '/x.csv'",
  "WITH x AS (SELECT oid FROM pg_class) SELECT * FROM x, read_blob('/etc/passwd')",
  'SELECT * FROM pg_class, duckdb_secrets()',
  "SELECT pg_read_file('/etc/passwd')",
  "SELECT lo_import('/etc/passwd') FROM pg_class",
  "SELECT * FROM pg_class, sniff_csv('/etc/passwd')",
  'CREATE TABLE pg_catalog.x (a INT)',
  'INSERT INTO pg_catalog.pg_class (oid) VALUES (1)',
  'DROP VIEW pg_catalog.pg_class',
  'DELETE FROM pg_class',
  "WITH x AS (SELECT 1 FROM pg_class) INSERT INTO pgc.session_facts VALUES ('a', 'b', 'c', 'd')",
  'WITH x AS (SELECT 1 FROM pg_class) DELETE FROM pgc.own_relations',
]

let served: Served
let client: pg.Client
beforeAll(async () => {
  served = await serve()
  await fill(served.t)
  client = new pg.Client({ host: '127.0.0.1', port: served.port, user: 'x', database: 'mindsdb' })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await served.stop()
})

interface Outcome {
  readonly text: string
  /** Null if the statement succeeded. */
  readonly state: string | null
}

async function outcomeOf(config: pg.QueryConfig | string): Promise<Outcome> {
  try {
    const answer = await client.query(config)
    return { text: JSON.stringify(answer), state: null }
  } catch (error) {
    const { code = 'XX000', message } = error as { code?: string; message: string }
    return { text: message, state: code }
  }
}

async function expectUnharmed(): Promise<void> {
  const { rows } = await client.query('SELECT id, price FROM kb')
  expect(rows).toEqual([{ id: 'a', price: '1' }])
  const { rows: tables } = await client.query(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'mindsdb' ORDER BY 1",
  )
  expect(tables).toEqual([{ table_name: 'kb' }, { table_name: 'mine' }])
}

describe('an attempt to get out by way of the PostgreSQL port', () => {
  for (const sql of [...ATTEMPTS.map(({ sql }) => sql), ...OF_THE_CATALOG]) {
    test(sql, async () => {
      const prepared = { text: sql, queryMode: 'extended' } as const
      // Simple queries may contain several statements.
      for (const config of /;\s*[^\s;]/.test(sql) ? [prepared] : [prepared, sql]) {
        const { text, state } = await outcomeOf(config)
        expect(text).not.toContain('root:')
        expect(text).not.toContain(SECRET)
        expect(text).not.toContain('Internal error')
        if (!HARMLESS.test(sql)) expect([sql, state]).toEqual([sql, expect.any(String)])
        expect(state).not.toBe('XX000')
      }
      await expectUnharmed()
    })
  }
})

/** Each took one second to minutes when patterns read it in quadratic time. */
test.each([
  ['a name like nested casts', `SELECT 1 AS "CAST(${' AS A'.repeat(60_000)}S)"`],
  ['blanks in a FETCH', `FETCH${' '.repeat(300_000)}x y`],
  ['comments without an end', `SELECT ${'-/*'.repeat(100_000)}`],
])('%s does not keep the server busy', async (_what, sql) => {
  const started = process.cpuUsage()
  await outcomeOf(sql)
  const { user, system } = process.cpuUsage(started)
  expect((user + system) / 1_000).toBeLessThan(1_000)
})
