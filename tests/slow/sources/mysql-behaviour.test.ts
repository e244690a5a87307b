/** A MariaDB that refuses, disconnects, or gets forbidden requests. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import type { SourceSelect } from '../../../src/core/domain/ports/engine-ports.ts'
import { testMariadb } from '../../support/database-servers.ts'
import {
  dataSource,
  failure,
  LIMITS,
  readRows,
  stagedTexts,
  testSources,
} from '../../support/test-sources.ts'

const server = await testMariadb({ settings: ['secure-file-priv=', 'event-scheduler=OFF'] })
const { sources, close, directory } = testSources()
const parameters = server?.parameters ?? {}
const source = dataSource('mysql', parameters)
const signal = new AbortController().signal

const select = (sql: string, values: readonly (string | number)[] = []) => ({ sql, values })
const readBy = (asked: SourceSelect, limits = LIMITS, by = signal) => {
  return readRows(sources, [source, asked], limits, by).then(({ rows }) => rows)
}
const read = (sql: string) => readBy(select(sql))
const run = async (sql: string) => (await server?.run(sql)) ?? []

async function settled(pattern: string, wanted: number): Promise<void> {
  const until = Date.now() + 30_000
  for (;;) {
    const sql = `SELECT count(*) AS n FROM information_schema.PROCESSLIST WHERE INFO LIKE '${pattern}' AND ID <> CONNECTION_ID()`
    const [row] = await run(sql)
    if (Number(row?.n) === wanted) return
    if (Date.now() > until) throw new Error(`the server runs ${row?.n} such statements`)
    await Bun.sleep(10)
  }
}

afterAll(async () => {
  await close()
  await server?.stop()
})

describe.skipIf(server === null)('a MariaDB', () => {
  beforeAll(async () => {
    await run(`CREATE TABLE teas (id int primary key, name text);
      INSERT INTO teas SELECT seq, concat('tea ', seq) FROM seq_1_to_5000; CREATE TABLE \`Weird \`\`Ü\` (\`A b\` int);
      CREATE VIEW v AS SELECT id FROM teas; CREATE SEQUENCE counter;
      CREATE TABLE made (a int, b int AS (a + 1) VIRTUAL, c int AS (a + 2) PERSISTENT); INSERT INTO made (a) VALUES (1);
      CREATE FUNCTION evil() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO teas VALUES (-1, 'x'); RETURN 1; END;
      CREATE PROCEDURE bad() DELETE FROM teas`)
  })

  test('its tables are listed with their columns', async () => {
    const tables = await sources.describeTables(source, signal)
    const shown = tables.map(({ schema, name, kind, columns }) => [
      schema,
      name,
      kind,
      columns.length,
    ])
    expect(shown.filter(([, name]) => name !== 'counter')).toEqual([
      [null, 'made', 'table', 3],
      [null, 'teas', 'table', 2],
      [null, 'v', 'view', 1],
      [null, 'Weird `Ü', 'table', 1],
    ])
    const missing = sources.columns(source, { schema: null, name: 'nope' }, signal)
    expect((await failure(missing)).code).toBe('table_not_found')
    expect(await read('SELECT * FROM made')).toEqual([[1, 2, 3]])
  })

  test('values are bound, read and staged alike', async () => {
    const sql = "SELECT id, name FROM teas WHERE id < ? AND name <> ? AND name <> '?' ORDER BY id"
    const asked = select(sql, [3, "it's \\"])
    const texts = [
      ['1', 'tea 1'],
      ['2', 'tea 2'],
    ]
    expect(await readBy(asked)).toEqual([
      [1, 'tea 1'],
      [2, 'tea 2'],
    ])
    const staged = await sources.stage(source, asked, LIMITS, signal)
    expect(await stagedTexts(staged)).toEqual(texts)
    await staged.release()
    expect(readdirSync(directory)).toEqual([])
  })

  const WRONG: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ['a wrong password', { password: 'wrong-pass' }, /Access denied for user/],
    ['an unknown database', { database: 'nope' }, /Unknown database/],
    ['a closed port', { port: 1 }, /127\.0\.0\.1:1\): the connection is refused; check the port/],
    [
      'an unknown host',
      { host: 'nowhere.invalid' },
      /nowhere\.invalid:\d+\): the host is not known; check its name/,
    ],
    ['TLS that it has not', { ssl: true }, /TLS/],
  ]
  test.each([...WRONG])(
    '%s is said in plain words, without a secret',
    async (_, change, message) => {
      const error = await failure(
        sources.check(dataSource('mysql', { ...parameters, ...change }), signal),
      )
      expect([error.code, error.message]).toEqual(['source_failed', expect.stringMatching(message)])
      for (const secret of ['wrong-pass', String(parameters.password)]) {
        expect(Bun.inspect(error)).not.toContain(secret)
      }
    },
  )

  const REFUSALS = ['sql_forbidden', 'sql_syntax', 'sql_not_supported', 'source_failed']
  const HOSTILE = [
    'COMMIT',
    'SELECT 1; DROP TABLE teas',
    "SELECT 'a\\\\'; DROP TABLE teas; -- '",
    'DROP TABLE teas',
    'DELETE FROM teas',
    'DELETE FROM teas RETURNING id',
    "UPDATE teas SET name = 'x'",
    "INSERT INTO teas VALUES (0, 'x') RETURNING id",
    "REPLACE INTO teas VALUES (0, 'x') RETURNING id",
    'TRUNCATE teas',
    'CREATE TABLE evil (a int)',
    'CREATE TEMPORARY TABLE evil (a int)',
    'SELECT evil()',
    'SELECT id, evil() FROM teas LIMIT 1',
    'CALL bad()',
    'DO evil()',
    'SET SESSION TRANSACTION READ WRITE',
    'START TRANSACTION READ WRITE',
    'SET autocommit = 1',
    'SET STATEMENT max_statement_time = 0 FOR SELECT 1',
    "SELECT 'x' INTO OUTFILE '/eider-evil'",
    "SELECT 'x' INTO DUMPFILE '/eider-evil'",
    "SELECT 1 /*!50000 INTO OUTFILE '/eider-evil' */",
    "SELECT 1 /*M!100000 INTO OUTFILE '/eider-evil' */",
    'SELECT 1 INTO @x',
    "SELECT LOAD_FILE('/etc/passwd')",
    "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE teas",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE teas",
    'SELECT * FROM teas FOR UPDATE',
    'SELECT * FROM teas LOCK IN SHARE MODE',
    "SELECT GET_LOCK('a', 1)",
    'SELECT NEXT VALUE FOR counter',
    'SELECT NEXTVAL(counter)',
    'SELECT SETVAL(counter, 99)',
    'SELECT * FROM teas PROCEDURE ANALYSE()',
    'HANDLER teas OPEN',
    'PREPARE p FROM "DELETE FROM teas"',
    "EXECUTE IMMEDIATE 'DELETE FROM teas'",
    'KILL 1',
    'FLUSH TABLES',
    'LOCK TABLES teas WRITE',
    'USE mysql',
    'GRANT ALL ON *.* TO x@y',
    'SHUTDOWN',
    'BEGIN NOT ATOMIC DELETE FROM teas; END',
    'EXPLAIN DELETE FROM teas',
    'ANALYZE DELETE FROM teas',
    'WITH x AS (SELECT 1) DELETE FROM teas',
    '',
    '# nothing',
  ]

  test('native SQL changes nothing, and no connection stays changed', async () => {
    const state = () =>
      run(`SELECT (SELECT count(*) FROM teas) AS teas, (SELECT next_not_cached_value FROM counter) AS counter,
        (SELECT group_concat(TABLE_NAME ORDER BY TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()) AS names`)
    const before = await state()
    for (const sql of HOSTILE) {
      const { code } = await failure(sources.stage(source, select(sql), LIMITS, signal))
      expect([sql, REFUSALS.includes(code)]).toEqual([sql, true])
    }
    expect(await state()).toEqual(before)
    expect(readdirSync(directory)).toEqual([])
    expect(await read('SELECT @@tx_read_only')).toEqual([[1]])
  })

  test('an aborted read ends at the server', async () => {
    const controller = new AbortController()
    const sql = 'SELECT SLEEP(60) AS waiting'
    const reading = readBy(select(sql), LIMITS, controller.signal)
    await settled('%AS waiting', 1)
    controller.abort(new Error('the client left'))
    expect((await failure(reading)).message).toBe('the client left')
    await settled('%AS waiting', 0)
  })

  test('an aborted stage ends at the server and leaves no file', async () => {
    const controller = new AbortController()
    const sql = 'SELECT seq, SLEEP(0.001) AS staging FROM seq_1_to_1000000'
    const staging = sources.stage(source, select(sql), LIMITS, controller.signal)
    await settled('%AS staging%', 1)
    controller.abort(new Error('the client left'))
    expect((await failure(staging)).message).toBe('the client left')
    await settled('%AS staging%', 0)
    expect(readdirSync(directory)).toEqual([])
  })

  test('the deadline ends a statement at the server', async () => {
    const limits = { timeoutMs: 300, setting: 'EIDER_QUERY_MS' }
    const slow = readBy(select('SELECT SLEEP(60) AS late'), limits)
    expect((await failure(slow)).code).toBe('timeout')
    await settled('%AS late', 0)
  })

  test('a statement of which a few rows are needed ends after them', async () => {
    const sql = "SELECT seq, repeat('x', 1000) AS leaving FROM seq_1_to_10000000 ORDER BY seq"
    const rows = await readBy({ ...select(sql), rowsMax: 3 })
    expect(rows.map(([seq]) => seq)).toEqual([1, 2, 3])
    await settled('%AS leaving%', 0)
    expect(await read('SELECT 1')).toEqual([[1]])
  })

  test('a connection that is cut while rows come is one clear error', async () => {
    const reading = failure(read('SELECT seq, SLEEP(0.001) AS cut FROM seq_1_to_1000000'))
    await settled('%AS cut%', 1)
    const [row] = await run(
      "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%AS cut%' AND ID <> CONNECTION_ID()",
    )
    await run(`KILL ${row?.ID}`)
    const error = await reading
    expect([error.code, error.message]).toEqual([
      'source_failed',
      expect.stringMatching(/closed the connection|interrupted/),
    ])
    expect(await read('SELECT 1')).toEqual([[1]])
  })

  test('a server that went away and came back is connected to again', async () => {
    expect(await read('SELECT 1')).toEqual([[1]])
    await server?.restart()
    expect(await read('SELECT 2')).toEqual([[2]])
  })
})
