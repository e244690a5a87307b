import { expect, test } from 'bun:test'
import { TableLocks } from '../../src/store/tables/stored-tables.ts'

const LIMITS = { timeoutMs: 60_000 }
const NEVER = new AbortController().signal

test('work on one table waits for earlier work, even if that fails', async () => {
  const locks = new TableLocks()
  const log: string[] = []
  const first = Promise.withResolvers<void>()
  const work = (name: string, table: string, until: Promise<void> = Promise.resolve()) => {
    return locks.during({ projectId: 1, name: table }, LIMITS, NEVER, async () => {
      log.push(`${name} begins`)
      await until
      log.push(`${name} ends`)
    })
  }
  const failing = work('a', 't', first.promise).catch(() => log.push('a fails'))
  const waiting = work('b', 'T')
  await work('c', 'other')
  expect(log).toEqual(['a begins', 'c begins', 'c ends'])
  first.reject(new Error('of its own'))
  await Promise.all([failing, waiting])
  expect(log).toEqual(['a begins', 'c begins', 'c ends', 'a fails', 'b begins', 'b ends'])
})

test('a wait ends with its time limit', async () => {
  const locks = new TableLocks()
  const held = Promise.withResolvers<void>()
  const table = { projectId: 1, name: 't' }
  const holder = locks.during(table, LIMITS, NEVER, () => held.promise)
  const late = locks.during(table, { timeoutMs: 5 }, NEVER, async () => 'never')
  await expect(late).rejects.toMatchObject({ code: 'timeout' })
  held.resolve()
  await holder
  expect(await locks.during(table, LIMITS, NEVER, async () => 'next')).toBe('next')
})
