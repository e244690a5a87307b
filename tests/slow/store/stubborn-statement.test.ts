import { expect, test } from 'bun:test'
import type { StuckStatement } from '../../../src/store/duckdb/open-statements.ts'
import { openStore } from '../../../src/store/store.ts'
import { failureOf, rowsOf } from '../../support/store-fixture.ts'

/** DuckDB checks for an interrupt only after such a call, about two seconds later. */
const STUBBORN = "SELECT length(repeat('x', 400000000))"

test('a statement that DuckDB cannot interrupt is answered at its deadline, keeps its place and is known', async () => {
  const stuck = Promise.withResolvers<StuckStatement>()
  const store = await openStore({
    directory: ':memory:',
    threadPoolSize: 3,
    stuckMs: 300,
    onStuck: stuck.resolve,
  })
  const { signal } = new AbortController()
  const run = (sql: string, timeoutMs: number) =>
    failureOf(store.engine.run({ sql, values: {} }, { timeoutMs }, signal))
  expect((await run(STUBBORN, 50)).code).toBe('timeout')
  expect((await run('SELECT 1', 50)).code).toBe('timeout')
  expect(store.engine.statementCounts()).toMatchObject({
    running: 1,
    abandoned: [{ statement: 'SELECT length(repeat(?, ?))' }],
  })
  expect(await stuck.promise).toEqual({
    statement: 'SELECT length(repeat(?, ?))',
    source: STUBBORN,
    ms: 300,
  })
  // The test does not wait for a whole minute.
  expect(await run('SELECT 1', 60_000)).toEqual({
    code: 'too_busy',
    message:
      'No slot is free: DuckDB is still working on statements that were ended (1); try again later',
  })
  while (store.engine.statementCounts().abandoned.length > 0) await Bun.sleep(10)
  expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  await store.close()
}, 180_000)
