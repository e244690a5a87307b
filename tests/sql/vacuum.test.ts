import { expect, test } from 'bun:test'
import { openSqlFixture } from './sql-fixture.ts'

test('VACUUM says what it removed, of one knowledge base or of everything', async () => {
  const { answer, close } = await openSqlFixture()
  await answer(`DELETE FROM kb WHERE price > 4`)
  const before = await answer('SELECT count(*), min(price), max(price) FROM kb')
  // A hundred documents have chunks, vectors, terms and counts. In memory, there is no file.
  expect(await answer('VACUUM empty')).toBe('bytes_before | bytes_after | rows_removed\n0 | 0 | 0')
  const removed = /\| (\d+)$/.exec(await answer('vacuum mindsdb.kb;'))?.[1]
  expect(Number(removed)).toBeGreaterThanOrEqual(300)
  expect(await answer('VACUUM kb')).toBe('bytes_before | bytes_after | rows_removed\n0 | 0 | 0')
  expect(await answer('SELECT count(*), min(price), max(price) FROM kb')).toBe(before)
  expect(
    await answer("SELECT count(*) FROM kb WHERE kb.content = 'text number 7' AND price = 3"),
  ).toMatch(/\n\d+$/)
  expect(await answer('VACUUM files.t')).toBe(
    'bytes_before | bytes_after | rows_removed\n0 | 0 | 0',
  )
  expect(await answer('VACUUM')).toMatch(/^bytes_before/)
  expect(await answer('VACUUM nowhere')).toBe('error: Table with name nowhere does not exist')
  expect(await answer('VACUUM files.nothing')).toBe('error: Table with name nothing does not exist')
  expect(await answer('VACUUM FULL kb')).toMatch(/^error: .*end of the statement/)
  await close()
})
