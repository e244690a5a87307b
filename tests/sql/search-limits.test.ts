import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

function texts(count: number): string {
  return Array.from({ length: count }, (_, index) => `'word ${index}'`).join(', ')
}

test('a hybrid search of thirty texts runs, and of more is refused in clear words', async () => {
  const search = (count: number) =>
    `SELECT id FROM kb WHERE content IN (${texts(count)}) AND hybrid_search = true LIMIT 2`
  expect(await fixture.answer(search(30))).not.toContain('error')
  for (const count of [31, 500]) {
    const said = `error: A hybrid search has at most 30 texts, and this one ${count}`
    expect(await fixture.answer(search(count))).toBe(said)
  }
})

test('a statement searches for a thousand texts', async () => {
  const search = (count: number) => `SELECT id FROM kb WHERE content IN (${texts(count)}) LIMIT 2`
  expect(await fixture.answer(search(100))).not.toContain('error')
  expect(await fixture.answer(search(1001))).toStartWith(
    'error: A statement searches for at most 1000 texts',
  )
})

test('too deep nesting is reported without advice that cannot be followed', async () => {
  const sql = `SELECT id FROM kb WHERE ${'NOT ('.repeat(3000)}true${')'.repeat(3000)}`
  expect(await fixture.answer(sql)).toBe(
    'error: A statement has at most 1000 expressions within one another',
  )
})
