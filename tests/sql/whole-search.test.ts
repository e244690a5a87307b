import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

let fixture: SqlFixture

beforeAll(async () => {
  fixture = await openSqlFixture()
})

afterAll(() => fixture.close())

/** Keeps every chunk, and computes the distances after the join. */
const KEPT = 'length(chunk_content) > 0'

const SEARCHES = [
  "content = 'text 5'",
  "content = 'text 80' AND relevance > 0.6",
  "content = 'text 80' AND distance <= 0.3 AND relevance >= 0.2",
  "content = 'text 17' AND content != 'text 40'",
  "(content = 'text 5' OR content = 'text 90')",
  "content = 'text 5' AND content = 'text 90'",
  "content IN ('text 1', 'text 100', 'text 150')",
  "content = 'text 33' AND hybrid_search = true",
  "content = 'text 33' AND hybrid_search = true AND content != 'text 60'",
]

const SHOWN = [
  (where: string) => `SELECT id, chunk_id, distance, relevance FROM kb WHERE ${where} LIMIT 300`,
  (where: string) =>
    `SELECT price, count(*), min(distance), max(relevance), min(chunk_content) FROM kb WHERE ${where} GROUP BY price ORDER BY price`,
  (where: string) =>
    `SELECT price, id FROM kb WHERE ${where} QUALIFY row_number() OVER (PARTITION BY price ORDER BY distance, chunk_id) <= 3 ORDER BY price, id`,
  (where: string) =>
    `SELECT k.id, k.distance FROM kb AS k WHERE ${where} ORDER BY k.distance DESC, k.chunk_id LIMIT 40`,
]

for (const search of SEARCHES) {
  test(`measured before the join or after it: ${search}`, async () => {
    for (const statement of SHOWN) {
      const before = await fixture.answer(statement(search))
      expect(before).not.toStartWith('error')
      expect(await fixture.answer(statement(`${search} AND ${KEPT}`))).toBe(before)
    }
  })
}
