import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { RowStream } from '../../src/core/domain/query-result.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

const CORPUS = (await Bun.file(`${import.meta.dir}/corpus.sql`).text())
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('--'))

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

async function contentOf(rows: RowStream) {
  const values: unknown[] = []
  for await (const batch of rows.batches) values.push(...batch)
  return { columns: rows.columns, values }
}

/** Names that DuckDB makes of an unnamed expression follow its printed form, which may add a cast or parentheses. */
const isOwnName = (name: string) => /^[a-z_"]+$/i.test(name)

describe('a statement without a knowledge base means what DuckDB says', () => {
  for (const sql of CORPUS) {
    test(sql, async () => {
      const { signal } = new AbortController()
      const result = await runQuery({ sql, db: 'mindsdb', params: {} }, fixture.deps, signal)
      if (result.kind !== 'table') throw new Error(`no rows: ${result.kind}`)
      const answered = await contentOf(result.rows)
      const plain = sql.replaceAll('files.t', 'uploaded.file_1')
      const statement = { sql: plain, values: {} }
      const direct = await contentOf(
        await fixture.deps.engine.run(statement, { timeoutMs: 10_000 }, signal),
      )
      expect(answered.values).toEqual(direct.values)
      expect(answered.columns.map(({ type }) => type)).toEqual(
        direct.columns.map(({ type }) => type),
      )
      const named = direct.columns.map(({ name }, index) => [name, answered.columns[index]?.name])
      for (const [expected = '', name] of named.filter(([own = '']) => isOwnName(own))) {
        expect(name).toBe(expected)
      }
    })
  }
})
