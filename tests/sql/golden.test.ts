import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { goldenBlocks, openSqlFixture, type SqlFixture } from './sql-fixture.ts'

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

for (const file of [...new Glob('*.slt').scanSync(import.meta.dir)].sort()) {
  describe(file, async () => {
    for (const { sql, expected } of await goldenBlocks(file)) {
      test(sql.replaceAll(/\s+/g, ' '), async () => {
        expect(await fixture.answer(sql)).toBe(expected)
      })
    }
  })
}
