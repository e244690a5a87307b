/** Names in the statements of agents, and statements that try to read more than their data. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { requireKnowledgeBase } from '../../src/core/domain/access/catalog-snapshot.ts'
import { AppError } from '../../src/core/errors.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { runSelect } from '../../src/query/select/run-select.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

const HIDDEN = 'hidden-from-agents'

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
  for (const sql of [
    'CREATE PROJECT other',
    'CREATE KNOWLEDGE_BASE other.secret',
    `INSERT INTO other.secret (id, content, secret_column) VALUES ('1', '${HIDDEN}', 1)`,
    'CREATE KNOWLEDGE_BASE other.shown',
    "INSERT INTO other.shown (id, content) VALUES ('s1', 'shown')",
    `CREATE TABLE hidden AS SELECT '${HIDDEN}' AS x`,
    "CREATE TABLE `odd ta,ble` AS SELECT 'odd' AS y",
    'CREATE VIEW hidden_view AS SELECT x FROM hidden',
  ]) {
    await runQuery({ sql, db: 'mindsdb', params: {} }, fixture.deps, NO_SIGNAL)
  }
})
afterAll(() => fixture.close())

const NO_SIGNAL = new AbortController().signal

async function narrowed(sql: string): Promise<string> {
  const snapshot = fixture.deps.catalog.snapshot()
  const knowledgeBases = [
    requireKnowledgeBase(snapshot, 'mindsdb', 'kb'),
    requireKnowledgeBase(snapshot, 'other', 'shown'),
  ]
  const allowed = { knowledgeBases, tables: ['files.t', 'mindsdb.odd ta,ble'] }
  const request = { sql, database: 'mindsdb', params: {}, allowed }
  const { batches } = await runSelect(request, fixture.deps, NO_SIGNAL)
  const rows: unknown[] = []
  for await (const batch of batches) rows.push(...batch)
  return JSON.stringify(rows)
}

describe('a name is understood in every notation', () => {
  for (const from of [
    'kb',
    'KB',
    '"kb"',
    '`kb`',
    'mindsdb.kb',
    '"mindsdb"."kb"',
    '`mindsdb`.`kb`',
    '"mindsdb.kb"',
    '`mindsdb.kb`',
    'MindsDB . KB',
    '"MINDSDB.KB"',
    '`mindsdb`."kb"',
    '"mindsdb . kb"',
  ]) {
    test(from, async () => {
      expect(await narrowed(`SELECT id FROM ${from} WHERE content = '5' LIMIT 1`)).toBe('[["d5"]]')
    })
  }

  test('of another project, of a file, with signs in it', async () => {
    for (const from of ['shown', 'other.shown', '"other.shown"', '`Other.Shown`']) {
      expect(await narrowed(`SELECT id FROM ${from}`)).toBe('[["s1"]]')
    }
    for (const from of ['t', 'files.t', '"files.t"', '`files`.`T`']) {
      expect(await narrowed(`SELECT count(*) > 0 FROM ${from}`)).toBe('[[true]]')
    }
    for (const from of ['`odd ta,ble`', '"mindsdb.odd ta,ble"', 'mindsdb."Odd Ta,ble"']) {
      expect(await narrowed(`SELECT y FROM ${from}`)).toBe('[["odd"]]')
    }
  })

  test('and its columns are named by it', async () => {
    const sql = 'SELECT "mindsdb.kb".id FROM "mindsdb.kb" ORDER BY 1 LIMIT 1'
    expect(await narrowed(sql)).toContain('d')
  })
})

describe('an unknown name', () => {
  const failureOf = (sql: string) => narrowed(sql).catch((error: unknown) => error)

  test('is answered with the known ones, the likeliest first', async () => {
    expect(await failureOf('SELECT * FROM shwon')).toMatchObject({
      message: expect.stringContaining('shwon is not available here. Available: other.shown, '),
    })
  })

  test('gets the same answer as one that may not be read', async () => {
    const [missing, hidden] = [
      await failureOf('SELECT * FROM hiddem'),
      await failureOf('SELECT * FROM hidden'),
    ]
    expect(missing).toMatchObject({ code: 'sql_forbidden' })
    expect(hidden).toMatchObject({ code: 'sql_forbidden' })
    const suggested = 'Available: mindsdb.kb, other.shown, files.t, mindsdb.odd ta,ble'
    for (const failure of [missing, hidden]) {
      expect(String(failure).split(' Available: ')[1]?.split(', ').toSorted()).toEqual(
        suggested.replace('Available: ', '').split(', ').toSorted(),
      )
    }
    expect(String(await failureOf('SELECT secret_colum FROM kb'))).not.toContain('secret_column')
  })
})

const BREAKOUTS = [
  // Files.
  "SELECT * FROM read_csv('/etc/passwd')",
  "SELECT * FROM read_csv_auto('/etc/passwd')",
  "SELECT * FROM read_text('/etc/passwd')",
  "SELECT * FROM read_blob('/etc/passwd')",
  "SELECT * FROM read_json('/etc/passwd')",
  "SELECT * FROM read_parquet('/data/x.parquet')",
  "SELECT * FROM parquet_metadata('/data/x.parquet')",
  "SELECT * FROM sniff_csv('/etc/passwd')",
  "SELECT * FROM glob('/etc/*')",
  "SELECT * FROM '/etc/passwd'",
  "SELECT * FROM '/etc/passwd.csv'",
  'SELECT * FROM "/etc/passwd.csv"',
  "SELECT * FROM 'https://example.com/x.parquet'",
  "SELECT * FROM read_duckdb('/data/x.db')",
  "SELECT * FROM sqlite_scan('/data/x.db', 't')",
  "SELECT * FROM postgres_query('x', 'SELECT 1')",
  "SELECT getenv('HOME')",
  "SELECT content FROM read_text(['/etc/hosts'])",
  // Statements that do not read.
  "ATTACH '/data/x.db'",
  "COPY (SELECT 1) TO '/data/x.csv'",
  "COPY hidden FROM '/etc/passwd'",
  "EXPORT DATABASE '/data/x'",
  "IMPORT DATABASE '/data/x'",
  'PRAGMA database_list',
  'PRAGMA show_tables',
  "CALL pragma_table_info('hidden')",
  "SET memory_limit = '1GB'",
  'RESET memory_limit',
  'INSTALL httpfs',
  'LOAD httpfs',
  'CHECKPOINT',
  'VACUUM',
  'CREATE TABLE x AS SELECT 1',
  'CREATE VIEW v AS SELECT * FROM hidden',
  'CREATE MACRO m() AS TABLE SELECT * FROM hidden',
  "CREATE SECRET s (TYPE s3, KEY_ID 'x')",
  'INSERT INTO hidden VALUES (1)',
  'UPDATE hidden SET x = 1',
  'DELETE FROM hidden',
  'DROP TABLE hidden',
  'ALTER TABLE hidden ADD COLUMN y INT',
  'BEGIN TRANSACTION',
  'PREPARE p AS SELECT 1',
  'EXECUTE p',
  'USE other',
  'SHOW ALL TABLES',
  'SHOW DATABASES',
  'EXPLAIN ANALYZE SELECT * FROM hidden',
  // The engine's own tables.
  'SELECT * FROM duckdb_tables()',
  'SELECT * FROM duckdb_settings()',
  'SELECT * FROM duckdb_secrets()',
  'SELECT * FROM duckdb_columns()',
  'SELECT * FROM duckdb_views()',
  'SELECT * FROM duckdb_temporary_files()',
  "SELECT * FROM pragma_table_info('hidden')",
  "SELECT * FROM query('SELECT * FROM hidden')",
  "SELECT * FROM query_table('hidden')",
  "SELECT * FROM query_table(['hidden', 'kb'])",
  'SELECT * FROM sqlite_master',
  'SELECT * FROM pg_catalog.pg_tables',
  'SELECT * FROM information_schema.columns',
  'SELECT * FROM information_schema.knowledge_bases',
  'SELECT * FROM information_schema.traces',
  'SELECT * FROM "information_schema.agents"',
  'SELECT * FROM main.hidden',
  'SELECT * FROM memory.main.hidden',
  'SELECT * FROM system.main.duckdb_tables',
  'SELECT * FROM temp.hidden',
  "SELECT current_setting('memory_limit')",
  "SELECT json_execute_serialized_sql(json_serialize_sql('SELECT * FROM hidden'))",
  "FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM hidden'))",
  // Names that look like others.
  'SELECT * FROM "other.secret"',
  'SELECT * FROM `other`.`secret`',
  'SELECT * FROM "other"."secret "',
  'SELECT * FROM other . secret',
  'SELECT * FROM secret',
  'SELECT * FROM "[other].[secret]"',
  'SELECT * FROM "mindsdb.hidden"',
  'SELECT * FROM "project_1.table_1"',
  'SELECT * FROM kb, "mindsdb.hidden_view"',
  'SELECT * FROM mindsdb.kb JOIN "other.secret" USING (id)',
  'SELECT (SELECT x FROM "mindsdb.hidden")',
  'SELECT * FROM kb WHERE id IN (SELECT id FROM "other.secret")',
  'SELECT * FROM kb WHERE content = (SELECT x FROM hidden LIMIT 1) LIMIT 1',
  'WITH kb AS (SELECT * FROM hidden) SELECT * FROM kb',
  'SELECT id FROM kb; SELECT * FROM hidden',
  'SELECT id FROM kb /* */ UNION ALL SELECT x FROM hidden',
  'SELECT 1 AS x UNION BY NAME SELECT x FROM hidden',
  'SELECT * FROM kb POSITIONAL JOIN hidden',
  'SELECT * FROM kb ASOF JOIN hidden ON kb.id >= hidden.x',
  'FROM hidden SELECT x',
  'FROM hidden',
  'SELECT * FROM (FROM hidden)',
  'SELECT * FROM (VALUES ((SELECT max(x) FROM hidden)))',
  'SELECT [(SELECT x FROM hidden)]',
  'SELECT CASE WHEN EXISTS (FROM hidden) THEN 1 END',
  'SELECT kb.id FROM kb SEMI JOIN hidden ON true',
  'SELECT id FROM kb WHERE id = ANY (SELECT x FROM hidden)',
  'SELECT COLUMNS(*) FROM hidden',
] as const

test(`${BREAKOUTS.length} statements read and change nothing beyond the data`, async () => {
  for (const sql of BREAKOUTS) {
    const failure = await narrowed(sql).catch((error: unknown) => error)
    if (!(failure instanceof AppError))
      throw new Error(`${sql} gave ${String(failure).slice(0, 200)}`)
    expect(`${sql}: ${failure.message}`).not.toContain(HIDDEN)
    expect(`${sql}: ${failure.code}`).not.toBe(`${sql}: internal`)
  }
})
