import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

/** A block is comments, the statement, a line `----`, then the rows, `ok`, or `error: <message>`; a blank line ends it. */
function blocksOf(text: string) {
  return text
    .split(/\n{2,}/)
    .map((block) => block.split('\n').filter((line) => !line.startsWith('#')))
    .filter((lines) => lines.join('').trim() !== '')
    .map((lines) => {
      const at = lines.indexOf('----')
      return {
        sql: lines.slice(0, at).join('\n'),
        expected: lines
          .slice(at + 1)
          .join('\n')
          .trim(),
      }
    })
}

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

for (const file of [...new Glob('*.slt').scanSync(import.meta.dir)].sort()) {
  describe(file, async () => {
    for (const { sql, expected } of blocksOf(await Bun.file(`${import.meta.dir}/${file}`).text())) {
      test(sql.replaceAll(/\s+/g, ' '), async () => {
        expect(await fixture.answer(sql)).toBe(expected)
      })
    }
  })
}
