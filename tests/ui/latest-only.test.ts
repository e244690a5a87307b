import { expect, test } from 'bun:test'
import { LatestOnly } from '../../src/ui/views/search/live-search.ts'

/** Tasks that end on command. */
function controlled(latest: LatestOnly) {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const signals = new Map<string, AbortSignal>()
  const run = (name: string) => {
    latest.run((signal) => {
      started.push(name)
      signals.set(name, signal)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.set(name, resolve)
      return promise
    })
  }
  const end = async (name: string) => {
    ends.get(name)?.()
    // Its end is noticed a few turns of the event loop later.
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
  }
  return { run, end, started, isAborted: (name: string) => signals.get(name)?.aborted }
}

const LONG_MS = 60_000

test('one runs at a time, and of those that came meanwhile only the newest', async () => {
  const { run, end, started, isAborted } = controlled(new LatestOnly(LONG_MS))
  for (const name of ['a', 'b', 'c']) run(name)
  expect(started).toEqual(['a'])
  await end('a')
  expect(started).toEqual(['a', 'c'])
  expect(isAborted('a')).toBe(false)
  await end('c')
  run('d')
  expect(started).toEqual(['a', 'c', 'd'])
})

test('what takes too long is given up for what is newer', async () => {
  const { run, end, started, isAborted } = controlled(new LatestOnly(0))
  run('slow')
  run('newer')
  await Bun.sleep(1)
  while (started.length < 2) await Bun.sleep(1)
  expect(isAborted('slow')).toBe(true)
  // Its late end changes nothing.
  await end('slow')
  run('newest')
  expect(started).toEqual(['slow', 'newer'])
  await end('newer')
  expect(started).toEqual(['slow', 'newer', 'newest'])
})

test('stopped, nothing that waits begins', async () => {
  const latest = new LatestOnly(LONG_MS)
  const { run, end, started, isAborted } = controlled(latest)
  run('a')
  run('b')
  latest.stop()
  await end('a')
  expect([started, isAborted('a')]).toEqual([['a'], true])
  run('c')
  expect(started).toEqual(['a', 'c'])
})
