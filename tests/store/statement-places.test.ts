import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { shownStatement } from '../../src/core/domain/server-state.ts'
import { setCaller } from '../../src/core/runtime/cancellation.ts'
import { type Place, Places, type Turn } from '../../src/store/duckdb/places.ts'
import type { Store } from '../../src/store/store.ts'
import { failureOf, openMemoryStore, rowsOf, STATEMENTS_MAX } from '../support/store-fixture.ts'

let store: Store

beforeAll(async () => {
  store = await openMemoryStore()
})

afterAll(() => store.close())

const ENDLESS = 'SELECT count(*) FROM range(100000000000) a, range(1000) b'
const MANY_ROWS = 'SELECT i FROM range(100000) t(i)'

function run(sql: string, signal = new AbortController().signal) {
  return store.engine.run({ sql, values: {} }, { timeoutMs: 60_000 }, signal)
}

describe('unread results', () => {
  test('hold no slot, and are complete when they are read later', async () => {
    const unread = await Promise.all(
      Array.from({ length: STATEMENTS_MAX * 4 }, () => run(MANY_ROWS)),
    )
    expect(store.engine.statementCounts().parked).toBe(STATEMENTS_MAX * 4)
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
    for (const { batches } of unread) {
      let count = 0
      for await (const batch of batches) count += batch.length
      expect(count).toBe(100_000)
    }
    expect(store.engine.statementCounts()).toEqual({
      running: 0,
      waiting: 0,
      parked: 0,
      abandoned: [],
    })
  })

  test('are limited, and one caller gets half of the limit', async () => {
    const leaving = new AbortController()
    const caller = () => {
      const { signal } = new AbortController()
      setCaller(signal, 'one')
      return signal
    }
    const results = await Promise.allSettled(
      Array.from({ length: 66 }, () => run(MANY_ROWS, caller())),
    )
    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    // A result that fits into the first rows needs no further room. Other results have their own.
    expect(await failureOf(run('SELECT i FROM range(2000) t(i)', caller()))).toMatchObject({
      code: 'none',
    })
    const other = await run(MANY_ROWS, leaving.signal)
    await other.batches[Symbol.asyncIterator]().return?.()
    for (const result of results) {
      if (result.status === 'fulfilled') {
        await result.value.batches[Symbol.asyncIterator]().return?.()
      } else expect(result.reason.code).toBe('too_busy')
    }
  })
})

describe('beside long statements', () => {
  test('a short one is answered, and one that is not short waits and is whole', async () => {
    const leaving = new AbortController()
    const long = Array.from({ length: STATEMENTS_MAX * 2 }, () => {
      return failureOf(run(ENDLESS, leaving.signal))
    })
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
    const waits = run('SELECT count(*) FROM range(300000000)')
    // All but those in slots for long statements.
    while (store.engine.statementCounts().waiting < STATEMENTS_MAX * 2 - 2) {
      expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
    }
    leaving.abort(new Error('gone'))
    for (const failure of await Promise.all(long)) expect(failure.message).toBe('gone')
    const rows = []
    for await (const batch of (await waits).batches) rows.push(...batch)
    expect(rows).toEqual([[300_000_000]])
  })
})

describe('places', () => {
  const options = { longMax: 3, shortMax: 1, othersMin: 1, waitingMax: 10 }
  const { signal } = new AbortController()

  function turns(places: Places) {
    const entered: string[] = []
    const enter = async (caller: string, turn: Exclude<Turn, 'continued'> = 'long') => {
      const place = await places.enter({ caller, turn, onTooLong() {} }, signal)
      entered.push(caller)
      return place
    }
    return { entered, enter }
  }

  test('one caller never gets the last long slots, others do', async () => {
    const places = new Places(options)
    const { entered, enter } = turns(places)
    await Promise.all([enter('a'), enter('a')])
    void enter('a')
    expect(places.waiting).toBe(1)
    await enter('b')
    expect(entered).toEqual(['a', 'a', 'b'])
  })

  test('the waiting caller with the fewest slots is next', async () => {
    const places = new Places({ ...options, othersMin: 0, shortMax: 0 })
    const { entered, enter } = turns(places)
    const held: Place[] = await Promise.all([enter('a'), enter('a'), enter('b')])
    const waiting = [enter('a'), enter('a'), enter('b'), enter('c')]
    held[0]?.release()
    await waiting[3]
    expect(entered.slice(3)).toEqual(['c'])
    held[2]?.release()
    await waiting[2]
    expect(entered.slice(4)).toEqual(['b'])
  })

  test('the latest arrival is tried first in a short slot, the earliest gets a long one', async () => {
    const places = new Places({ ...options, longMax: 1, othersMin: 0 })
    const { enter } = turns(places)
    const [long, short] = await Promise.all([enter('a', 'new'), enter('a', 'new')])
    const order: string[] = []
    const come = (name: string) => enter('a', 'new').then(() => order.push(name))
    const waiting = [come('first'), come('second'), come('third')]
    short.release()
    await waiting[2]
    long.release()
    await waiting[0]
    expect(order).toEqual(['third', 'first'])
  })

  test('a statement that continues comes before new ones, and leaves them a short slot', async () => {
    const places = new Places({ ...options, longMax: 1, othersMin: 0 })
    const { entered, enter } = turns(places)
    const reading = await enter('a', 'new')
    reading.park()
    // Its slot is taken away if no more rows were requested for a while.
    const held = await enter('a')
    const begun = enter('a').then((place) => place.release())
    const resumed = reading.resume(signal)?.then(() => entered.push('reading'))
    held.release()
    await resumed
    expect(entered.at(-1)).toBe('reading')
    expect(await enter('c', 'new')).toMatchObject({ kind: 'short' })
    reading.release()
    await begun
  })
})

test.each([
  ["SELECT 'secret', 12.5, x FROM t", 'SELECT ?, ?, x FROM t'],
  ["SELECT 'it''s cut here", 'SELECT ?'],
  [
    'SELECT "2024" FROM files."flights-3m" LIMIT 3',
    'SELECT "2024" FROM files."flights-3m" LIMIT ?',
  ],
  [
    'ALTER KNOWLEDGE_BASE k USING embedding_model = {"api_key": "sk-secret"}',
    'ALTER KNOWLEDGE_BASE k USING …',
  ],
  [
    `CREATE DATABASE d WITH ENGINE = 'mysql', PARAMETERS = {"password": "it's secret"}`,
    'CREATE DATABASE d WITH ENGINE = ?, PARAMETERS …',
  ],
  ['SELECT a FROM t JOIN u USING (b)', 'SELECT a FROM t JOIN u USING (b)'],
  [`SELECT ${'a, '.repeat(100)}`, `SELECT ${'a, '.repeat(24)}a…`],
])('%s is shown without values', (sql, shown) => expect(shownStatement(sql, 80)).toBe(shown))
