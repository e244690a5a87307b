import { describe, expect, test } from 'bun:test'
import { AppError } from '../../src/core/errors.ts'
import { startDeadline } from '../../src/core/runtime/cancellation.ts'
import { MemoryCeiling } from '../../src/core/runtime/process-limits.ts'
import { MemoryWatchdog, type WatchedMemory } from '../../src/store/duckdb/memory-watchdog.ts'
import { type OpenStatement, OpenStatements } from '../../src/store/duckdb/open-statements.ts'
import { Places } from '../../src/store/duckdb/places.ts'

const MB = 1e6

/** The engine's limit is 400 MB, which leaves 1,500 MB for the process without a ceiling. */
function watched(ceiling: WatchedMemory['ceiling'] = new MemoryCeiling()) {
  const places = new Places({ longMax: 8, shortMax: 0, othersMin: 0, waitingMax: 0 })
  const statements = new OpenStatements({ places, stuckMs: 1000, onStuck() {} })
  const process = { rss: 100 * MB, collected: 0, trimmed: 0, madeRoom: 0, full: [] as string[] }
  const memory = {
    ceiling,
    rss: () => process.rss,
    trim: async () => {
      process.trimmed += 1
    },
    collectSoon: () => {
      process.collected += 1
    },
    makeRoom: async () => {
      process.madeRoom += 1
    },
    onFull: (error: AppError) => process.full.push(error.code),
  }
  const limits = { engineBytesMax: 400 * MB, machineBytes: 100_000 * MB }
  const watchdog = new MemoryWatchdog(statements, memory, limits)
  const start = async (sql: string): Promise<OpenStatement> => {
    const timeoutError = () => new AppError('timeout', 'too late')
    const deadline = startDeadline({ timeoutMs: 60_000, signals: [], timeoutError })
    const turn = { caller: undefined, turn: 'long', tries: 0, onTooLong() {} } as const
    const statement = { sql, deadline, place: await places.enter(turn, AbortSignal.any([])) }
    statements.add(statement)
    return statement
  }
  const look = (times: number) => {
    for (let looks = 0; looks < times; looks += 1) watchdog.look()
  }
  return { watchdog, statements, process, start, look }
}

describe('without a ceiling of the system', () => {
  test('a process that stays too large is replaced, once', async () => {
    const { process, start, look } = watched()
    await start('SELECT 1')
    process.rss = 1600 * MB
    look(4)
    process.rss = 1400 * MB
    look(1)
    process.rss = 1600 * MB
    look(4)
    expect(process.full).toEqual([])
    look(20)
    expect(process.full).toEqual(['out_of_memory'])
  })

  test('memory with a limit of its own counts apart', async () => {
    const ceiling = new MemoryCeiling()
    ceiling.raise(1000 * MB)
    const { process, start, look } = watched(ceiling)
    await start('SELECT 1')
    process.rss = 2400 * MB
    look(20)
    expect(process.full).toEqual([])
  })
})

test('near the ceiling of the system, unread results make room, one attempt at a time', async () => {
  let isInReserve = false
  const ceiling = Object.assign(new MemoryCeiling(), { keepReserve: () => isInReserve })
  const { process, start, look } = watched(ceiling)
  await start('SELECT 1')
  look(3)
  expect(process.madeRoom).toBe(0)
  isInReserve = true
  look(3)
  expect(process.madeRoom).toBe(1)
  await Bun.sleep(0)
  look(1)
  expect(process.madeRoom).toBe(2)
})

describe('when nothing runs', () => {
  test('memory that statements left is freed once', async () => {
    const { statements, process, start, look } = watched()
    const statement = await start('SELECT 1')
    process.rss = 500 * MB
    look(20)
    expect(process.collected).toBe(0)
    statements.delete(statement)
    look(30)
    expect([process.collected, process.trimmed]).toEqual([1, 1])
  })

  test('garbage is collected while results wait for their readers, and the engine keeps its blocks', async () => {
    const { process, start, look } = watched()
    const parked = await start('SELECT 1')
    process.rss = 500 * MB
    parked.place.park()
    look(30)
    expect([process.collected, process.trimmed]).toEqual([1, 0])
  })

  test('a statement that comes meanwhile restarts the wait', async () => {
    const { statements, process, start, look } = watched()
    statements.delete(await start('SELECT 1'))
    process.rss = 500 * MB
    look(4)
    const next = await start('SELECT 2')
    look(1)
    statements.delete(next)
    look(4)
    expect(process.collected).toBe(0)
    look(1)
    expect(process.collected).toBe(1)
  })
})
