import { describe, expect, test } from 'bun:test'
import { mysqlSelect, withValues } from '../../src/sources/mysql/mysql-source.ts'
import { postgresSelect, withLiterals } from '../../src/sources/postgres/postgres-select.ts'

describe('native SQL for PostgreSQL', () => {
  const ALLOWED = [
    ['SELECT 1;', 'SELECT 1'],
    ['  -- why\n SELECT 1 -- end', 'SELECT 1'],
    ['/* a /* b */ c */ TABLE x ; ;', 'TABLE x'],
    [
      `SELECT ';', E'\\';', "a;b", $$;$$, $x$ ; $$ $x$`,
      `SELECT ';', E'\\';', "a;b", $$;$$, $x$ ; $$ $x$`,
    ],
    ['(SELECT 1) UNION VALUES (2)', '(SELECT 1) UNION VALUES (2)'],
    ['WITH x AS (SELECT 1) SELECT "into" FROM x', 'WITH x AS (SELECT 1) SELECT "into" FROM x'],
  ] as const
  test.each([...ALLOWED])('%s is one SELECT', (sql, body) => {
    expect(postgresSelect(sql)).toBe(body)
  })

  const REFUSED = [
    '',
    ';',
    'SELECT 1; SELECT 2',
    "SELECT E'\\'; DROP TABLE x; --'; DROP TABLE y",
    'INSERT INTO x VALUES (1)',
    'COMMIT',
    'COPY x TO PROGRAM $$id$$',
    "SELECT 1) TO PROGRAM 'id' --",
    'SELECT (1',
    'SELECT 1 INTO x',
    'SELECT lo_export(1, $$/x$$)',
    'SELECT pg_catalog."lo_export" (1, $$/x$$)',
    'SELECT U&"lo\\005fexport"(1, $$/x$$)',
    "SELECT * FROM query_to_xml('DROP TABLE x', true, true, '')",
    "SELECT set_config('transaction_read_only', 'off', false)",
    'SELECT 1 /* not closed',
    "SELECT 'not closed",
    'SELECT $a$ not closed $b$',
    'DO $$ BEGIN END $$',
    'EXPLAIN ANALYZE SELECT 1',
  ]
  test.each(REFUSED)('%s is refused', (sql) => {
    expect(() => postgresSelect(sql)).toThrow(/native SQL/)
  })

  test('values become literals at placeholders only', () => {
    const sql = `SELECT '$1', "$2", $1, /* $1 */ $$ $2 $$, $2 -- $1`
    expect(withLiterals(sql, ["it's \\ here", null])).toBe(
      `SELECT '$1', "$2", 'it''s \\ here', /* $1 */ $$ $2 $$, NULL -- $1`,
    )
  })
})

describe('native SQL for MySQL', () => {
  const REFUSED = [
    'SELECT 1; SELECT 2',
    "SELECT 'a\\'; DROP TABLE x; -- '; DROP TABLE y",
    "SELECT 1 INTO OUTFILE '/x'",
    "SELECT LOAD_FILE('/etc/passwd')",
    'SELECT * FROM x FOR UPDATE',
    'SELECT * FROM x LOCK IN SHARE MODE',
    "SELECT GET_LOCK('a', 1)",
    'SELECT `load_file`("/x")',
    'SELECT 1 /*! INTO OUTFILE "/x" */',
    'SELECT 1 /*M! INTO OUTFILE "/x" */',
    'SET STATEMENT max_statement_time=0 FOR SELECT 1',
    'CALL p()',
    'SELECT NEXT VALUE FOR s',
    'SELECT 1 # ; \n; DROP TABLE x',
  ]
  test.each(REFUSED)('%s is refused', (sql) => {
    expect(() => mysqlSelect(sql)).toThrow(/native SQL/)
  })

  test('values become literals at placeholders only', () => {
    const sql = "SELECT '?', `?`, ?, /* ? */ ? -- ?"
    expect(withValues(sql, ["it's \\ \0", 5])).toBe(
      "SELECT '?', `?`, 'it''s \\\\ \\0', /* ? */ 5 -- ?",
    )
  })
})
