import { expect, test } from 'bun:test'
import { openStore } from '../../../src/store/store.ts'
import { failureOf, rowsOf } from '../../support/store-fixture.ts'

/** DuckDB looks for an interrupt only when such a call is over, about two seconds later. */
const STUBBORN = "SELECT length(repeat('x', 400000000))"

test('a statement that DuckDB cannot interrupt is answered at its deadline and keeps its place until it is over', async () => {
  const store = await openStore({ directory: ':memory:', threadPoolSize: 3 })
  const { signal } = new AbortController()
  const run = (sql: string, timeoutMs: number) =>
    failureOf(store.engine.run({ sql, values: {} }, { timeoutMs }, signal))
  const start = performance.now()
  expect((await run(STUBBORN, 50)).code).toBe('timeout')
  expect(performance.now() - start).toBeLessThan(1000)
  expect((await run('SELECT 1', 50)).code).toBe('timeout')
  expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  await store.close()
})
