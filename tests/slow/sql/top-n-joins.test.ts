/**
 * Every kind of top-n within joins, repeated on two threads and compared with DuckDB on one thread
 * without optimizers.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { openSqlFixture, type SqlFixture } from '../../sql/sql-fixture.ts'
import { isEverything } from '../../support/sample.ts'

/** A filter that is applied too early changes the result in every third run. */
const REPEATS = 20
const STATEMENTS = isEverything ? 80 : 40

const TABLES = [
  'CREATE TABLE few AS (SELECT range AS k FROM range(60))',
  'CREATE TABLE others AS (SELECT range % 70 AS k, range AS w FROM range(150))',
  `CREATE TABLE many AS (SELECT range AS id, range AS k, range % 7 AS grp,
    CASE WHEN range % 5 > 0 THEN range // 3 END AS opt FROM range(400))`,
]

let fixture: SqlFixture
let plain: DuckDBConnection
beforeAll(async () => {
  fixture = await openSqlFixture()
  plain = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect()
  await plain.run('PRAGMA disable_optimizer')
  for (const sql of TABLES) {
    expect(await fixture.answer(sql)).toBe('ok')
    await plain.run(sql)
  }
  // For the knowledge base: the rows of a search in its order.
  const rows = await linesOf("SELECT id, price, distance FROM kb WHERE content = '40' LIMIT 1000")
  const values = rows.map((row, at) => {
    const [id, price] = row.split(' | ')
    return `('${id}', ${price}, ${at})`
  })
  await plain.run(`CREATE TABLE kb AS FROM (VALUES ${values.join(', ')}) t(id, price, place)`)
})
afterAll(async () => {
  plain.closeSync()
  await fixture.close()
})

async function linesOf(sql: string): Promise<readonly string[]> {
  const answer = await fixture.answer(sql)
  expect(answer).not.toStartWith('error')
  return answer.split('\n').slice(1)
}

async function plainLinesOf(sql: string): Promise<readonly string[]> {
  const reader = await plain.runAndReadAll(sql)
  return reader.getRows().map((row) => row.map(String).join(' | '))
}

/** The same rows as a statement of Eider and of DuckDB, with `id` as text and the key `k`. */
interface Rows {
  readonly own: string
  readonly plain: string
}

function same(sql: string): Rows {
  return { own: sql, plain: sql }
}

const count = fc.integer({ min: 1, max: 90 })
const offset = fc.integer({ min: 0, max: 330 })
const FROM_MANY = 'SELECT id::VARCHAR AS id, k FROM many'

const topRows: fc.Arbitrary<Rows> = fc.oneof(
  count.map((n) => same(`${FROM_MANY} ORDER BY many.k DESC LIMIT ${n}`)),
  fc
    .tuple(count, offset)
    .map(([n, from]) => same(`${FROM_MANY} ORDER BY many.k LIMIT ${n} OFFSET ${from}`)),
  offset.map((from) => same(`${FROM_MANY} ORDER BY many.k OFFSET ${from}`)),
  count.map((n) => same(`${FROM_MANY} ORDER BY grp DESC, many.k DESC LIMIT ${n}`)),
  fc.tuple(count, fc.constantFrom('FIRST', 'LAST')).map(([n, nulls]) => {
    return same(`${FROM_MANY} ORDER BY opt DESC NULLS ${nulls}, many.k DESC LIMIT ${n}`)
  }),
  fc.constant(same(`SELECT DISTINCT ON (grp) id::VARCHAR AS id, k FROM many ORDER BY grp, k DESC`)),
  count.map((n) =>
    same(`SELECT DISTINCT 'x' AS id, k // 3 AS k FROM many ORDER BY 2 DESC LIMIT ${n}`),
  ),
  count.map((n) => same(`${FROM_MANY} QUALIFY row_number() OVER (ORDER BY many.k DESC) <= ${n}`)),
  count.map((n) => {
    const order = 'PARTITION BY grp ORDER BY opt NULLS FIRST, many.k'
    return same(`${FROM_MANY} QUALIFY row_number() OVER (${order}) <= ${n % 9}`)
  }),
  count.map((n) =>
    same(`SELECT max(id)::VARCHAR AS id, grp AS k FROM
    (SELECT * FROM many ORDER BY k DESC LIMIT ${n}) GROUP BY grp`),
  ),
  fc.tuple(count, count).map(([n, m]) => {
    return same(
      `(${FROM_MANY} ORDER BY many.k LIMIT ${n}) UNION ALL (${FROM_MANY} ORDER BY many.k DESC LIMIT ${m})`,
    )
  }),
  fc.tuple(count, count).map(([n, m]) =>
    same(`SELECT t.id, o.w AS k FROM
    (${FROM_MANY} ORDER BY many.k DESC LIMIT ${n}) t JOIN others o ON t.k % 70 = o.k ORDER BY o.w, t.id LIMIT ${m}`),
  ),
  count.map((n) => ({
    own: `SELECT id, price AS k FROM kb WHERE content = '40' LIMIT ${n}`,
    plain: `SELECT id, price AS k FROM kb ORDER BY place LIMIT ${n}`,
  })),
  count.map((n) => ({
    own: `SELECT id, price * 7 AS k FROM kb ORDER BY price DESC, id LIMIT ${n}`,
    plain: `SELECT id, price * 7 AS k FROM kb ORDER BY price DESC, id LIMIT ${n}`,
  })),
)

const COUNTED =
  "count(*) AS n, count(d.id) AS ids, min(d.id) AS least, string_agg(d.id, ',' ORDER BY d.id, d.k) AS all_ids"

/** A statement around the rows `d`, which become a sub-query, a CTE or a materialized one. */
const joins = fc.constantFrom(
  `SELECT ${COUNTED} FROM few f JOIN D d ON d.k = f.k`,
  `SELECT ${COUNTED} FROM D d JOIN few f ON d.k = f.k`,
  `SELECT ${COUNTED} FROM few f LEFT JOIN D d ON d.k = f.k`,
  `SELECT ${COUNTED} FROM D d LEFT JOIN few f ON d.k = f.k`,
  `SELECT ${COUNTED} FROM few f RIGHT JOIN D d ON d.k = f.k`,
  `SELECT ${COUNTED} FROM few f FULL JOIN D d ON d.k = f.k`,
  `SELECT ${COUNTED} FROM D d SEMI JOIN few f ON d.k = f.k`,
  `SELECT ${COUNTED} FROM D d ANTI JOIN few f ON d.k = f.k`,
  `SELECT count(*) AS n FROM few f SEMI JOIN D d ON d.k = f.k`,
  `SELECT count(*) AS n FROM few f ANTI JOIN D d ON d.k = f.k`,
  `SELECT sum(k) AS n FROM few WHERE k IN (SELECT k FROM D d)`,
  `SELECT sum(k) AS n FROM few WHERE k NOT IN (SELECT k FROM D d)`,
  `SELECT sum(k) AS n FROM few f WHERE EXISTS (SELECT 1 FROM D d WHERE d.k = f.k)`,
  `SELECT sum(k) AS n FROM few f WHERE NOT EXISTS (SELECT 1 FROM D d WHERE d.k = f.k)`,
  `SELECT k, k IN (SELECT k FROM D d) AS is_in FROM few ORDER BY k`,
  `SELECT k, (SELECT count(*) FROM D d WHERE d.k = f.k) AS n FROM few f ORDER BY k`,
  `SELECT ${COUNTED} FROM few f JOIN D d ON d.k = f.k JOIN others o ON o.k = d.k`,
  `SELECT ${COUNTED} FROM others o JOIN (few f JOIN D d USING (k)) ON o.w = f.k`,
  `SELECT ${COUNTED} FROM few f JOIN D d ON d.k = f.k WHERE f.k < 20 AND d.id <> '3'`,
  `SELECT ${COUNTED} FROM D d JOIN D e ON d.k = e.k JOIN few f ON f.k = d.k`,
  `SELECT d.k, count(*) AS n FROM few f JOIN D d ON d.k = f.k GROUP BY d.k ORDER BY n DESC, d.k LIMIT 5`,
  `SELECT n FROM (SELECT count(*) AS n FROM few f JOIN D d ON d.k = f.k
    UNION ALL SELECT count(*) FROM others o JOIN D d ON d.k = o.w) ORDER BY n`,
)

const PLACES = ['sub-query', 'CTE', 'materialized'] as const

function placed(join: string, rows: string, place: (typeof PLACES)[number]): string {
  if (place === 'sub-query') return join.replaceAll(/\bD\b/g, `(${rows})`)
  const kind = place === 'CTE' ? '' : 'MATERIALIZED '
  return `WITH top_rows AS ${kind}(${rows}) ${join.replaceAll(/\bD\b/g, 'top_rows')}`
}

test('top-n within joins gives the same rows every time, and those of a plain DuckDB', async () => {
  const statement = fc.tuple(joins, topRows, fc.constantFrom(...PLACES))
  await fc.assert(
    fc.asyncProperty(statement, async ([join, rows, place]) => {
      const expected = await plainLinesOf(placed(join, rows.plain, place))
      const sql = placed(join, rows.own, place)
      for (let run = 0; run < REPEATS; run += 1) expect(await linesOf(sql)).toEqual(expected)
    }),
    { numRuns: STATEMENTS },
  )
}, 300_000)
