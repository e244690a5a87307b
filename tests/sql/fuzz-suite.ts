/**
 * Statements made of pieces of others. The result must always be rows or an error with a code,
 * never a crash.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { AppError } from '../../src/core/errors.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { parseStatement } from '../../src/sql/dialect/parse-statement.ts'
import { parameterNamesOf, toDuckDB, tokenize } from '../../src/sql/lexer/tokens.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

const WORDS =
  `SELECT FROM WHERE AND OR NOT IN LIKE IS NULL BETWEEN CASE WHEN THEN END JOIN LEFT ON USING LATERAL WITH AS UNION ALL
  EXCEPT GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT QUALIFY OVER PARTITION VALUES EXISTS PIVOT UNPIVOT FOR INTO SET
  CREATE DROP ALTER DESCRIBE SHOW USE EXPLAIN INSERT UPDATE DELETE KNOWLEDGE_BASE AGENT VIEW TABLE PROJECT TABLES
  kb empty echo files t mindsdb content relevance distance chunk_id chunk_content metadata id price colour question answer
  count max row_number unnest range k a x true`.split(/\s+/)
const SIGNS =
  `( ) , . * = <> != < > + - / || :: -> ->> [ ] { } : ; \` " ' $ @ % ? 1 2.5 'text 5' 'x' "id" \`kb\` :text
  $text E'a\\'b' $$x$$ -- /* */ 0x1F 1e5`.split(/\s+/)

const piece = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...WORDS) },
  fc.constantFrom(...SIGNS),
)
const noise = fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join(' '))

const corpus = (await Bun.file(`${import.meta.dir}/corpus.sql`).text())
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('--'))
const SEARCHES = [
  "SELECT * FROM kb WHERE content = 'text 5' AND price < 3 LIMIT 5",
  "WITH a AS (SELECT id FROM kb WHERE content IN ('1', '2')) SELECT * FROM a JOIN kb k USING (id) WHERE NOT k.content = '7'",
  'SELECT t.id, k.id FROM files.t t, LATERAL (SELECT id FROM kb WHERE content = t.id LIMIT 1) k WHERE t.a < 3',
  "SELECT answer FROM echo WHERE question = 'x' USING timeout = 3",
  "SELECT colour, max(relevance) FROM kb WHERE content = 'x' GROUP BY ALL HAVING count(*) > 1 ORDER BY 2 DESC",
  "SELECT metadata->>'colour', metadata.price FROM kb k WHERE k.content LIKE '%5%' QUALIFY row_number() OVER () < 3",
]

/** A statement in which some pieces were removed, doubled, swapped or replaced. */
const mutated = fc
  .tuple(
    fc.constantFrom(...corpus, ...SEARCHES),
    fc.array(fc.tuple(fc.nat(60), fc.constantFrom('lose', 'double', 'swap', 'put'), piece), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map(([sql, changes]) => {
    const pieces = sql.split(/(\s+|[(),.=])/)
    for (const [at, change, other] of changes) {
      const place = at % pieces.length
      const [here = ''] = pieces.slice(place)
      if (change === 'lose') pieces.splice(place, 1)
      else if (change === 'double') pieces.splice(place, 0, here)
      else if (change === 'put') pieces.splice(place, 0, ` ${other} `)
      else pieces.splice(place, 2, pieces[place + 1] ?? '', here)
    }
    return pieces.join('')
  })

const anything = fc.oneof(noise, mutated, fc.string({ unit: 'binary', maxLength: 40 }))

/** @param runs how many statements are run; more are only parsed */
export function fuzzSuite(runs: number): void {
  let fixture: SqlFixture
  beforeAll(async () => {
    fixture = await openSqlFixture()
  })
  afterAll(() => fixture.close())

  test('tokens cover the text in order, or the statement is refused with a position', () => {
    fc.assert(
      fc.property(anything, fc.constantFrom('standard', 'backslash'), (sql, escapes) => {
        try {
          const tokens = tokenize(sql, escapes)
          let end = 0
          for (const token of tokens) {
            expect(token.start).toBeGreaterThanOrEqual(end)
            expect(token.end).toBeGreaterThan(token.start)
            expect(sql.slice(token.start, token.end)).toBe(token.text)
            end = token.end
          }
          expect(end).toBeLessThanOrEqual(sql.length)
          parameterNamesOf(tokens)
          toDuckDB(sql, tokens)
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
        }
      }),
      { numRuns: runs * 10 },
    )
  })

  test('the text for DuckDB has the same tokens', () => {
    fc.assert(
      fc.property(mutated, (sql) => {
        try {
          const given = toDuckDB(sql, tokenize(sql))
          const again = toDuckDB(given, tokenize(given))
          expect(again).toBe(given)
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
        }
      }),
      { numRuns: runs * 5 },
    )
  })

  test('a statement of the dialect is read or refused', () => {
    fc.assert(
      fc.property(noise, (sql) => {
        try {
          parseStatement(sql, tokenize(sql))
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
        }
      }),
      { numRuns: runs * 10 },
    )
  })

  test('a SELECT is answered or refused with a code, and the next one runs', async () => {
    const params = { text: '60', price: 3, ids: ['d3'] }
    const isReading = (sql: string) =>
      /^\s*(\(|select|with|from|values|pivot|unpivot|explain)/i.test(sql)
    await fc.assert(
      fc.asyncProperty(fc.oneof(mutated, noise).filter(isReading), async (sql) => {
        const { signal } = new AbortController()
        try {
          const result = await runQuery({ sql, db: 'mindsdb', params }, fixture.deps, signal)
          if (result.kind === 'table') for await (const _ of result.rows.batches);
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          expect(error.code).not.toBe('internal')
        }
      }),
      { numRuns: runs },
    )
    expect(await fixture.answer('SELECT count(*) AS n FROM kb')).toBe('n\n200')
  }, 120_000)
}
