/**
 * The statements in tests/sql about knowledge bases must give the same results on PostgreSQL as on
 * the embedded store.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { goldenBlocks, openSqlFixture } from '../../sql/sql-fixture.ts'
import { testPgvector } from '../../support/pgvector-server.ts'

const FILES = [
  ...['search', 'hybrid', 'rows', 'lateral-search', 'pivot', 'views', 'names', 'gates'],
  ...['errors', 'tables', 'variables', 'statements'],
]

/** These also list the connection. */
const LISTS = /^SHOW (FULL )?DATABASES|information_schema\.databases/
/** These need statements that are refused without a copy, or compare two distances exactly. */
const NEED_COPIES = /files\.native|FROM n( ORDER BY id)?$|USING \(id, relevance, distance\)/

/** The message that a knowledge base without a copy does not support this. */
const REFUSAL = /^error: (Not without a copy|This search of \w+ needs a copy)/

const server = await testPgvector()
const parameters = server?.parameters ?? {}
const copied = server && (await openSqlFixture({ parameters, isCopied: true }))
await server?.run('CREATE DATABASE lean')
const other = { ...parameters, database: 'lean' }
const lean = server && (await openSqlFixture({ parameters: other, isCopied: false }))

afterAll(async () => {
  await copied?.close()
  await lean?.close()
  await server?.stop()
})

for (const file of FILES) {
  describe.skipIf(server === null)(file, async () => {
    for (const { sql, expected } of await goldenBlocks(`${file}.slt`)) {
      if (LISTS.test(sql)) continue
      const name = sql.replaceAll(/\s+/g, ' ')
      test(`with a copy: ${name}`, async () => {
        expect(await copied?.answer(sql)).toBe(expected)
      })
      if (!NEED_COPIES.test(sql))
        test(`without one: ${name}`, async () => {
          const answer = await lean?.answer(sql)
          if (!REFUSAL.test(answer ?? '')) expect(answer).toBe(expected)
        })
    }
  })
}
