/** A PostgreSQL that refuses, disconnects, or gets forbidden requests. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import type { SourceSelect } from '../../../src/core/domain/ports/engine-ports.ts'
import { testPostgres } from '../../support/database-servers.ts'
import {
  dataSource,
  failure,
  LIMITS,
  readRows,
  stagedTexts,
  testSources,
} from '../../support/test-sources.ts'

const server = await testPostgres()
const { sources, close, directory } = testSources()
const parameters = server?.parameters ?? {}
const source = dataSource('postgres', parameters)
const signal = new AbortController().signal

const select = (sql: string, values: readonly (string | number)[] = []) => ({ sql, values })
const readBy = (asked: SourceSelect, limits = LIMITS, by = signal) => {
  return readRows(sources, [source, asked], limits, by).then(({ rows }) => rows)
}
const read = (sql: string) => readBy(select(sql))
const run = async (sql: string) => (await server?.run(sql)) ?? []

/** How many statements of Eider the server is running. */
async function running(): Promise<number> {
  const rows = await run(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'eider' AND state = 'active'",
  )
  return Number(rows[0]?.n)
}

async function settled(wanted: number): Promise<void> {
  const until = Date.now() + 30_000
  while ((await running()) !== wanted) {
    if (Date.now() > until) throw new Error(`the server still runs ${await running()} statements`)
    await Bun.sleep(10)
  }
}

afterAll(async () => {
  await close()
  await server?.stop()
})

describe.skipIf(server === null)('a PostgreSQL', () => {
  beforeAll(async () => {
    await run(`CREATE TABLE teas (id int, name text); INSERT INTO teas SELECT i, 'tea ' || i FROM generate_series(1, 5000) i;
      CREATE SEQUENCE counter; CREATE TABLE "Weird ""Ü" ("A b" int); CREATE VIEW v AS SELECT id FROM teas;
      CREATE MATERIALIZED VIEW m AS SELECT 1 AS one; CREATE TABLE parts (id int) PARTITION BY RANGE (id);
      CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10); CREATE SCHEMA other;
      CREATE TABLE other.teas (only_here int);
      CREATE FUNCTION evil() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO teas VALUES (-1); RETURN 1; END $$`)
  })

  test('its tables are listed with their columns', async () => {
    const tables = await sources.describeTables(source, signal)
    expect(
      tables.map(({ schema, name, kind, columns }) => [schema, name, kind, columns.length]),
    ).toEqual([
      [null, 'Weird "Ü', 'table', 1],
      [null, 'm', 'view', 1],
      [null, 'parts', 'table', 1],
      [null, 'teas', 'table', 2],
      [null, 'v', 'view', 1],
      ['other', 'teas', 'table', 1],
    ])
    const columns = await sources.columns(source, { schema: 'other', name: 'teas' }, signal)
    expect(columns.map(({ name }) => name)).toEqual(['only_here'])
    const missing = sources.columns(source, { schema: null, name: 'nope' }, signal)
    expect((await failure(missing)).code).toBe('table_not_found')
  })

  test('the schema parameter says where names are looked up', async () => {
    const other = dataSource('postgres', { ...parameters, schema: 'other,public' })
    const found = await readRows(sources, [other, select('SELECT * FROM teas')], LIMITS, signal)
    expect(found.columns.map(({ name }) => name)).toEqual(['only_here'])
    expect(found.rows).toEqual([])
    const [first] = await sources.tables(other, signal)
    expect(first).toMatchObject({ schema: null, name: 'teas' })
  })

  test('values are bound, read and staged alike', async () => {
    const asked = select('SELECT id, name FROM teas WHERE id < $1 AND name <> $2 ORDER BY id', [
      3,
      "it's",
    ])
    expect(await readBy(asked)).toEqual([
      [1, 'tea 1'],
      [2, 'tea 2'],
    ])
    const staged = await sources.stage(source, asked, LIMITS, signal)
    expect(await stagedTexts(staged)).toEqual([
      ['1', 'tea 1'],
      ['2', 'tea 2'],
    ])
    await staged.release()
    expect(readdirSync(directory)).toEqual([])
  })

  const WRONG: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ['a wrong password', { password: 'wrong-pass' }, /password authentication failed/],
    ['an unknown database', { database: 'nope' }, /database "nope" does not exist/],
    ['a closed port', { port: 1 }, /127\.0\.0\.1:1\): the connection is refused; check the port/],
    [
      'an unknown host',
      { host: 'nowhere.invalid' },
      /nowhere\.invalid:\d+\): the host is not known; check its name/,
    ],
    ['TLS that it has not', { sslmode: 'require' }, /TLS: the server does not offer it/],
  ]
  test.each([...WRONG])(
    '%s is said in plain words, without a secret',
    async (_, change, message) => {
      const wrong = dataSource('postgres', { ...parameters, ...change })
      const error = await failure(sources.check(wrong, signal))
      expect(error.code).toBe('source_failed')
      expect(error.message).toMatch(message)
      expect(error.message).toStartWith('Data source shop (postgres at ')
      for (const secret of ['wrong-pass', String(parameters.password)]) {
        expect(error.message).not.toContain(secret)
        expect(Bun.inspect(error)).not.toContain(secret)
      }
    },
  )

  test('a URL is taken whole', async () => {
    const { user, password, host, port, database } = parameters
    const url = `postgresql://${user}:${encodeURIComponent(String(password))}@${host}:${port}/${database}`
    await sources.check(dataSource('postgres', { url }), signal)
    const wrong = await failure(sources.check(dataSource('postgres', { url: `${url}x` }), signal))
    expect(wrong.message).not.toContain(encodeURIComponent(String(password)))
  })

  test('an address that the policy does not allow is refused', async () => {
    const closed = testSources({ isOpen: false })
    const error = await failure(closed.sources.check(source, signal))
    await closed.close()
    expect(error.code).toBe('address_refused')
    expect(error.message).toContain('EIDER_NETWORK_ALLOW')
  })

  const REFUSALS = ['sql_forbidden', 'sql_syntax', 'sql_not_supported', 'source_failed']
  const HOSTILE = [
    'COMMIT',
    'ROLLBACK; DROP TABLE teas',
    'SELECT 1; COMMIT; DROP TABLE teas',
    "SELECT 1) TO '/x'; DROP TABLE teas; --",
    'DROP TABLE teas',
    'DELETE FROM teas',
    "UPDATE teas SET name = 'x'",
    'INSERT INTO teas VALUES (0)',
    'TRUNCATE teas',
    'CREATE TABLE evil (a int)',
    'CREATE TEMP TABLE evil (a int)',
    'SELECT * INTO evil FROM teas',
    'SELECT * INTO TEMP evil FROM teas',
    'WITH x AS (DELETE FROM teas RETURNING *) SELECT * FROM x',
    'WITH x AS (INSERT INTO teas VALUES (0) RETURNING *) SELECT * FROM x',
    "WITH x AS (UPDATE teas SET name = 'x' RETURNING *) SELECT * FROM x",
    'SELECT evil()',
    'SELECT * FROM evil() WHERE true',
    'SELECT id FROM teas FOR UPDATE',
    'SELECT id FROM teas FOR SHARE',
    "SELECT nextval('counter')",
    "SELECT setval('counter', 99)",
    "SELECT set_config('transaction_read_only', 'off', false)",
    `SELECT "set_config"('default_transaction_read_only', 'off', false)`,
    'SET TRANSACTION READ WRITE',
    'SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE',
    'RESET ALL',
    'BEGIN READ WRITE',
    'SAVEPOINT x',
    'ROLLBACK TO eider',
    'RELEASE eider',
    'DO $$ BEGIN DELETE FROM teas; END $$',
    'CALL evil()',
    "COPY teas FROM PROGRAM 'echo 1'",
    "COPY teas TO PROGRAM 'touch /eider-evil'",
    "COPY (SELECT 1) TO '/eider-evil'",
    'LOCK TABLE teas',
    "LISTEN x; NOTIFY x, 'y'",
    'PREPARE p AS DELETE FROM teas',
    'EXECUTE p',
    'DECLARE c CURSOR WITH HOLD FOR SELECT 1',
    'EXPLAIN ANALYZE DELETE FROM teas',
    'VACUUM teas',
    "SELECT lo_export(1, '/eider-evil')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT query_to_xml('DELETE FROM teas', true, true, '')",
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity',
    'SELECT pg_advisory_lock(1)',
    'GRANT ALL ON teas TO PUBLIC',
    'ALTER SYSTEM SET fsync = off',
    '',
    '-- nothing',
    'SELECT',
  ]

  test('native SQL changes nothing, and no connection stays changed', async () => {
    const state = () =>
      run(`SELECT (SELECT count(*) FROM teas) AS teas, (SELECT last_value FROM counter) AS counter,
        (SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace) AS names`)
    const before = await state()
    for (const sql of HOSTILE) {
      const { code } = await failure(sources.stage(source, select(sql), LIMITS, signal))
      expect([sql, REFUSALS.includes(code)]).toEqual([sql, true])
    }
    expect(await state()).toEqual(before)
    expect(readdirSync(directory)).toEqual([])
    const settings = await read(
      "SELECT current_setting('transaction_read_only'), current_setting('default_transaction_read_only'), pg_backend_pid() > 0",
    )
    expect(settings).toEqual([['on', 'on', true]])
    expect(
      await run('SELECT count(*)::int AS n FROM pg_locks WHERE locktype = $$advisory$$'),
    ).toEqual([{ n: 0 }])
  })

  test('an aborted read ends at the server', async () => {
    const controller = new AbortController()
    const sql = 'SELECT pg_sleep(60)'
    const reading = readBy(select(sql), LIMITS, controller.signal)
    await settled(1)
    controller.abort(new Error('the client left'))
    expect((await failure(reading)).message).toBe('the client left')
    await settled(0)
  })

  test('an aborted stage ends at the server and leaves no file', async () => {
    const controller = new AbortController()
    const sql = 'SELECT i, pg_sleep(0.001) FROM generate_series(1, 1000000) i'
    const staging = sources.stage(source, select(sql), LIMITS, controller.signal)
    await settled(1)
    controller.abort(new Error('the client left'))
    expect((await failure(staging)).message).toBe('the client left')
    await settled(0)
    expect(readdirSync(directory)).toEqual([])
  })

  test('the deadline ends a statement at the server', async () => {
    const limits = { timeoutMs: 300, setting: 'EIDER_QUERY_MS' }
    const error = await failure(readBy(select('SELECT pg_sleep(60)'), limits))
    expect([error.code, error.message]).toEqual([
      'timeout',
      'Data source shop took longer than 300 ms (EIDER_QUERY_MS)',
    ])
    await settled(0)
  })

  test('a statement of which a few rows are needed reads no more', async () => {
    await run('CREATE TABLE big AS SELECT i AS id FROM generate_series(1, 300000) i')
    expect(await readBy({ ...select('SELECT id FROM big'), rowsMax: 100 })).toHaveLength(100)
    // A backend's statistics appear a moment after its transaction.
    await run('SELECT pg_stat_force_next_flush()')
    await settled(0)
    const [row] = await run(
      "SELECT seq_tup_read::int AS read FROM pg_stat_user_tables WHERE relname = 'big'",
    )
    expect(Number(row?.read)).toBeLessThan(1000)
    expect(await read('SELECT count(*) FROM big')).toEqual([[300_000]])
  })

  test('many rows come to a reader that takes them as fast as they do', async () => {
    const sql = "SELECT i, repeat('x', 60) AS pad FROM generate_series(1, 300000) i"
    const rows = await read(sql)
    expect(rows.length).toBe(300_000)
    expect(rows.at(-1)?.[0]).toBe(300_000)
  })

  test('no transaction stays open', async () => {
    await read('SELECT id FROM teas')
    const idle = await run(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'eider' AND state LIKE 'idle in%'",
    )
    expect(idle).toEqual([{ n: 0 }])
  })

  test('a connection that is cut while rows come is one clear error', async () => {
    const sql = 'SELECT i, pg_sleep(0.001) FROM generate_series(1, 1000000) i'
    const reading = failure(read(sql))
    await settled(1)
    await run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'eider'",
    )
    const error = await reading
    expect(error.code).toBe('source_failed')
    expect(error.message).toMatch(/terminating connection|closed the connection/)
    expect(await read('SELECT 1')).toEqual([[1]])
  })

  test('a server that went away and came back is connected to again', async () => {
    expect(await read('SELECT 1')).toEqual([[1]])
    await server?.restart()
    expect(await read('SELECT 2')).toEqual([[2]])
  })

  test('many at once wait for a connection, and few are open', async () => {
    const all = await Promise.all(Array.from({ length: 40 }, () => read('SELECT 1')))
    expect(all.flat(2)).toEqual(Array.from({ length: 40 }, () => 1))
    const [row] = await run(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'eider'",
    )
    expect(Number(row?.n)).toBeLessThanOrEqual(8)
  })
})
