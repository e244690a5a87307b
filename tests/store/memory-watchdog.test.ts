import { describe, expect, test } from 'bun:test'
import { AppError } from '../../src/errors.ts'
import { startDeadline } from '../../src/runtime/cancellation.ts'
import { yieldToEventLoop } from '../../src/runtime/scheduling.ts'
import { MemoryWatchdog } from '../../src/store/duckdb/memory-watchdog.ts'
import { type OpenStatement, OpenStatements } from '../../src/store/duckdb/open-statements.ts'
import { Places } from '../../src/store/duckdb/places.ts'
import { openStore } from '../../src/store/store.ts'
import { failureOf, nextStatementRuns, rowsOf } from '../support/store-fixture.ts'

const MB = 1e6
const ENDLESS = 'SELECT count(*) FROM range(100000000000) a, range(1000) b'

/** With a limit of 500 MB for the engine and 300 for the program, and a process of 100 MB. */
function watched() {
  const places = new Places({ longMax: 8, shortMax: 0, othersMin: 0, waitingMax: 0 })
  const statements = new OpenStatements({ places, stuckMs: 1000, onStuck() {} })
  const process = {
    rss: 100 * MB,
    engine: 0,
    reserved: 0,
    collectedAtOnce: 0,
    collectedSoon: 0,
    garbage: 0,
  }
  const giveBack = () => {
    process.rss -= process.garbage
    process.garbage = 0
  }
  const memory = {
    rss: () => process.rss,
    engineBytes: async () => process.engine,
    reservedBytes: () => process.reserved,
    trim: async () => {},
    collect: () => {
      process.collectedAtOnce += 1
      giveBack()
    },
    collectSoon: () => {
      process.collectedSoon += 1
    },
  }
  const limits = { engineBytesMax: 500 * MB, machineBytes: 100_000 * MB }
  const watchdog = new MemoryWatchdog(statements, memory, limits)
  const start = async (sql: string): Promise<OpenStatement> => {
    const signal = AbortSignal.any([])
    const timeoutError = () => new AppError('timeout', 'too late')
    const deadline = startDeadline({ timeoutMs: 60_000, signals: [], timeoutError })
    const turn = { caller: undefined, turn: 'long', tries: 0, onTooLong() {} } as const
    const statement = { sql, deadline, place: await places.enter(turn, signal) }
    statements.add(statement)
    return statement
  }
  const grow = (bytes: number) => {
    process.rss += bytes
    watchdog.look()
  }
  const rest = () => {
    for (let looks = 0; looks < 5; looks += 1) watchdog.look()
  }
  return { watchdog, statements, process, giveBack, start, grow, rest }
}

function endOf({ deadline: { signal } }: OpenStatement): string {
  return signal.aborted && signal.reason instanceof AppError ? signal.reason.code : 'runs'
}

describe('above the limit', () => {
  test('the statement that ran while memory grew is ended, and no other', async () => {
    const { watchdog, statements, start, grow } = watched()
    const first = await start('SELECT 1')
    grow(10 * MB)
    const hungry = await start('SELECT 2')
    grow(500 * MB)
    statements.delete(first)
    grow(150 * MB)
    const last = await start('SELECT 3')
    expect([first, hungry, last].map(endOf)).toEqual(['runs', 'runs', 'runs'])
    grow(100 * MB)
    expect([first, hungry, last].map(endOf)).toEqual(['runs', 'out_of_memory', 'runs'])
    expect(watchdog.state()).toMatchObject({ limit: 800 * MB, interrupted: 1 })
    // It is being given back: nobody else has to go.
    grow(-20 * MB)
    expect(endOf(last)).toBe('runs')
  })

  test('as many are ended as took what is too much, far above it new ones are refused', async () => {
    const { watchdog, statements, start, grow } = watched()
    const hungry = [await start('SELECT 1'), await start('SELECT 2'), await start('SELECT 3')]
    grow(1200 * MB)
    expect(hungry.map(endOf)).toEqual(['out_of_memory', 'out_of_memory', 'runs'])
    // What they held is not back yet, and does not grow any more.
    grow(0)
    expect(hungry.map(endOf)).toEqual(['out_of_memory', 'out_of_memory', 'runs'])
    grow(100 * MB)
    expect(hungry.map(endOf)).toEqual(['out_of_memory', 'out_of_memory', 'out_of_memory'])
    expect(() => watchdog.admit()).toThrow('EIDER_MEMORY_LIMIT')
    for (const statement of hungry) statements.delete(statement)
    grow(-1100 * MB)
    watchdog.admit()
    watchdog.close()
  })

  test('memory that was taken before, by whomever, ends none', async () => {
    const { start, grow } = watched()
    grow(790 * MB)
    const calm = await start('SELECT 1')
    grow(15 * MB)
    expect(endOf(calm)).toBe('runs')
  })

  test('garbage is collected before anybody is ended', async () => {
    const { start, grow, process } = watched()
    const calm = await start('SELECT 1')
    process.garbage = 400 * MB
    grow(800 * MB)
    expect(endOf(calm)).toBe('runs')
    grow(400 * MB)
    expect(endOf(calm)).toBe('out_of_memory')
  })

  test('vectors are no reason to end a statement', async () => {
    const { start, grow, process } = watched()
    const calm = await start('SELECT 1')
    process.reserved = 1000 * MB
    grow(1000 * MB)
    expect(endOf(calm)).toBe('runs')
  })
})

describe('when nothing runs', () => {
  test('garbage goes while results wait for their readers', async () => {
    const { start, grow, rest, process } = watched()
    const parked = await start('SELECT 1')
    grow(300 * MB)
    parked.place.park()
    rest()
    rest()
    expect(process.collectedSoon).toBe(1)
    expect(process.collectedAtOnce).toBe(0)
  })

  test('what is free is given back once, without holding anybody, and the rest is the program’s', async () => {
    const { watchdog, statements, process, giveBack, start, grow, rest } = watched()
    const statement = await start('SELECT 1')
    process.garbage = 100 * MB
    grow(500 * MB)
    statements.delete(statement)
    process.engine = 150 * MB
    rest()
    expect(process.collectedSoon).toBe(1)
    expect(process.collectedAtOnce).toBe(0)
    giveBack()
    rest()
    await yieldToEventLoop()
    // 500 held, 150 of them in the engine, and some room beside.
    expect(watchdog.state().limit).toBe((500 + 350 + 64) * MB)
    rest()
    rest()
    expect(process.collectedSoon).toBe(1)
  })

  test('a statement that comes meanwhile begins the wait anew', async () => {
    const { statements, process, start, grow, rest } = watched()
    statements.delete(await start('SELECT 1'))
    grow(400 * MB)
    rest()
    const next = await start('SELECT 2')
    grow(0)
    statements.delete(next)
    rest()
    expect(process.collectedSoon).toBe(2)
  })
})

test('a statement that fills the memory is answered so, and the next ones when it is back', async () => {
  const process = { rss: 100 * MB }
  const store = await openStore({
    directory: ':memory:',
    threadPoolSize: 6,
    memoryLimit: '100MB',
    rss: () => process.rss,
  })
  const isRunning = nextStatementRuns()
  const { signal } = new AbortController()
  const filling = failureOf(
    store.engine.run({ sql: ENDLESS, values: {} }, { timeoutMs: 60_000 }, signal),
  )
  await isRunning
  process.rss = 420 * MB
  expect(await filling).toMatchObject({ code: 'out_of_memory' })
  expect((await filling).message).toContain('EIDER_MEMORY_LIMIT')
  process.rss = 150 * MB
  expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  expect(store.engine.memoryState()).toEqual({ rss: 150 * MB, limit: 400 * MB, interrupted: 1 })
  await store.close()
})
