/** Statements that DuckDB 1.5.5 answers wrongly with the optimizers that the store turns off (docs/decisions/0014-right-rows.md). */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

const TABLES = [
  'CREATE TABLE few AS (SELECT range AS fid FROM range(60))',
  'CREATE TABLE many AS (SELECT range AS id, range AS num FROM range(400))',
  'CREATE TABLE empty_rows AS (SELECT 1 AS s, 2 AS p WHERE false)',
  "CREATE TABLE lines AS (SELECT 1 AS id, 1 AS k, 'x' AS p)",
  'CREATE TABLE prices AS (SELECT 1 AS k, unnest([20, 10]) AS s)',
  'CREATE TABLE probes AS (SELECT unnest([1, 1, 2, 3, 4, NULL, 2, 3]) AS idb)',
  'CREATE TABLE keys AS (SELECT unnest([1, 1, 2, 3]) AS k)',
  "CREATE TABLE names AS (SELECT unnest([NULL, 2]) AS id, unnest(['a', 'b']) AS name, '' AS made)",
  'CREATE TABLE flags AS (SELECT false AS c0)',
  "CREATE TABLE letters AS (SELECT 'a' AS c1)",
]

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
  for (const sql of TABLES) expect(await fixture.answer(sql)).toBe('ok')
})
afterAll(() => fixture.close())

const JOINED = `SELECT count(d.id) AS n FROM few f
  JOIN (SELECT id, num FROM many ORDER BY num DESC LIMIT 60) d ON d.num = f.fid`

/**
 * In a third of the runs, one of two threads filled the filter before the other had read its rows.
 */
const RUNS = 100

test('a join does not narrow the rows from which ORDER BY and LIMIT choose', async () => {
  const answers = new Set<string>()
  for (let run = 0; run < RUNS; run += 1) answers.add(await fixture.answer(JOINED))
  expect([...answers]).toEqual(['n\n0'])
})

const UNLIKELY = '(NOT c0) AND (substring(c1 FROM -4294967296) <> c1)'

const STATEMENTS: readonly (readonly [what: string, sql: string, rows: string])[] = [
  [
    'an order by NULL',
    `SELECT * FROM (SELECT c0, row_number() OVER (PARTITION BY c0 ORDER BY NULL) AS c1
      FROM (VALUES (3), (3)) t(c0)) u WHERE c1 <= 7 ORDER BY c1`,
    'c0 | c1\n3 | 1\n3 | 2',
  ],
  [
    'the first row of none',
    'SELECT p FROM empty_rows QUALIFY row_number() OVER (ORDER BY s) <= 1',
    'p',
  ],
  [
    'an order that is NULL for some rows',
    `SELECT id, row_number() OVER (ORDER BY NULLIF(id % 3, 0) DESC NULLS LAST) AS n
      FROM many WHERE id BETWEEN 1 AND 3 QUALIFY n <= 3 ORDER BY n`,
    'id | n\n2 | 1\n1 | 2\n3 | 3',
  ],
  [
    'equal rows of a join',
    `SELECT id, p FROM (SELECT l.id, l.p, r.s FROM lines l JOIN prices r ON l.k = r.k)
      QUALIFY row_number() OVER (ORDER BY s DESC) <= 2`,
    'id | p\n1 | x\n1 | x',
  ],
  [
    'an order within row_number',
    `SELECT id, g FROM (VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 1), (5, 2, 2)) t(id, g, p)
      QUALIFY row_number(ORDER BY id DESC) OVER (PARTITION BY g ORDER BY p
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) <= 1 ORDER BY g`,
    'id | g\n3 | 1\n5 | 2',
  ],
  [
    'a million rows of three',
    'SELECT id FROM many WHERE id < 3 QUALIFY row_number() OVER (ORDER BY id) <= 1000000 ORDER BY id',
    'id\n0\n1\n2',
  ],
  [
    'a condition below a window',
    `WITH s AS (SELECT count(*) AS n FROM (VALUES (1)) t(a))
      SELECT * FROM s q WHERE q.n > 5 QUALIFY row_number() OVER (ORDER BY q.n) = 1`,
    'n',
  ],
  [
    'a LEFT JOIN whose rows UNNEST multiplies',
    `SELECT count(*) AS n FROM probes LEFT JOIN
      (SELECT k, unnest([1, 2, 3]) AS e FROM (SELECT DISTINCT k FROM keys)) t ON t.k = probes.idb`,
    'n\n20',
  ],
  [
    'a volatile condition below two windows',
    `SELECT bool_and(s = a) AS same FROM (SELECT i, s, sum(i) OVER () AS a FROM
      (SELECT i, sum(i) OVER (PARTITION BY g) AS s FROM
        (SELECT 1 AS g, id AS i FROM many WHERE random() < 0.5)))`,
    'same\ntrue',
  ],
  [
    'a key twice in PARTITION BY',
    `SELECT name, bit_and(id) OVER (PARTITION BY id, made) AS one,
      bit_or(id) OVER (PARTITION BY made, made) AS other FROM names ORDER BY name`,
    'name | one | other\na | null | 2\nb | 2 | 2',
  ],
  [
    'two sides of a UNION over one join',
    `SELECT count(*) AS n FROM (
      SELECT * FROM flags LEFT JOIN letters ON true WHERE NOT (${UNLIKELY})
      UNION ALL SELECT * FROM flags LEFT JOIN letters ON true WHERE (${UNLIKELY}) IS NULL)`,
    'n\n1',
  ],
]

for (const [what, sql, rows] of STATEMENTS) {
  test(what, async () => {
    expect(await fixture.answer(sql)).toBe(rows)
  })
}
