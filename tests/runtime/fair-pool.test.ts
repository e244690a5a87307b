import { expect, test } from 'bun:test'
import { AppError } from '../../src/core/errors.ts'
import { FairPool } from '../../src/core/runtime/fair-pool.ts'
import { yieldToEventLoop } from '../../src/core/runtime/serial-queue.ts'

const never = new AbortController().signal

function pool(options: { workersMax: number; queueMax?: number }) {
  let made = 0
  const ready = new Set<number>()
  const workers = new FairPool<number>({
    queueMax: 100,
    tooBusyMessage: 'too many',
    make: () => {
      made += 1
      return made
    },
    isReady: (worker) => ready.has(worker),
    ...options,
  })
  return { workers, ready }
}

test('those that wait have their turns, one job each', async () => {
  const { workers } = pool({ workersMax: 1 })
  const order: string[] = []
  const work = ['a', 'b', 'c'].flatMap((name) => {
    const key = Symbol(name)
    return [1, 2, 3].map((number) => {
      return workers.run({
        key,
        signal: never,
        work: async () => {
          await yieldToEventLoop()
          order.push(`${name}${number}`)
        },
      })
    })
  })
  await Promise.all(work)
  // The first job of `a` began before the others waited.
  expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'c2', 'b3', 'c3'])
})

test('one key has one worker at a time, others have theirs', async () => {
  const { workers } = pool({ workersMax: 3 })
  const key = Symbol('key')
  const gate = Promise.withResolvers<void>()
  const used: number[] = []
  const work = async (worker: number) => {
    used.push(worker)
    await gate.promise
  }
  const first = [1, 2].map(() => workers.run({ key, signal: never, work }))
  const other = workers.run({ key: Symbol('other'), signal: never, work })
  await yieldToEventLoop()
  expect(used).toEqual([1, 2])
  gate.resolve()
  await Promise.all([...first, other])
  expect(used).toHaveLength(3)
})

test('a worker that is ready goes before one that is not', async () => {
  const { workers, ready } = pool({ workersMax: 2 })
  const gate = Promise.withResolvers<void>()
  const first = workers.run({ key: Symbol('first'), signal: never, work: () => gate.promise })
  await yieldToEventLoop()
  expect(workers.next()).toBe(2)
  ready.add(2)
  gate.resolve()
  await first
  const next = workers.run({ key: Symbol('next'), signal: never, work: async (one) => one })
  expect(await next).toBe(2)
})

test('a full queue is reported, and closing ends the waiting requests', async () => {
  const { workers } = pool({ workersMax: 1, queueMax: 2 })
  const hanging = workers.run({
    key: Symbol('first'),
    signal: never,
    work: (_, signal) => {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    },
  })
  await yieldToEventLoop()
  const waiting = workers.run({ key: Symbol('second'), signal: never, work: async () => {} })
  const third = workers.run({ key: Symbol('third'), signal: never, work: async () => {} })
  const failures = Promise.allSettled([hanging, waiting, third])
  const reason = new AppError('shutting_down', 'closed')
  expect(workers.close(reason)).toEqual([1])
  const [first, second, refused] = await failures
  expect(first).toMatchObject({ reason: { code: 'shutting_down' } })
  expect(second).toMatchObject({ reason: { code: 'shutting_down' } })
  expect(refused).toMatchObject({ reason: { code: 'too_busy', message: 'too many' } })
})
