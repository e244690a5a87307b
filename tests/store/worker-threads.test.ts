import { expect, test } from 'bun:test'
import { openStore } from '../../src/store/store.ts'
import { failureOf, rowsOf } from '../support/store-fixture.ts'

test('DuckDB has threads of its own only while something takes long', async () => {
  const store = await openStore({ directory: ':memory:', threads: 2, threadPoolSize: 8 })
  let texts = 0
  /** The threads that are not DuckDB's. Each text is new, because a plan keeps the setting. */
  const externalThreads = async () => {
    texts += 1
    const [row] = await rowsOf(store, `SELECT current_setting('external_threads'), ${texts}`)
    return Number(row?.[0])
  }
  const until = async (count: number) => {
    while ((await externalThreads()) !== count) await Bun.sleep(5)
  }
  await until(2)
  const caller = new AbortController()
  const sql = 'SELECT count(*) FROM range(100000000000) a, range(1000) b'
  const long = store.engine.run({ sql, values: {} }, { timeoutMs: 60_000 }, caller.signal)
  const failure = failureOf(long)
  await until(1)
  caller.abort(new Error('enough'))
  expect((await failure).message).toBe('enough')
  await until(2)
  await store.close()
})
