import { afterEach, beforeEach, expect, jest, test } from 'bun:test'
import type { SyncSource } from '../../src/core/domain/flow/sync-source.ts'
import type { SyncStore } from '../../src/core/domain/ports/job-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { DAY_MS } from '../../src/core/time.ts'
import { SourceKeeper, WATCHING } from '../../src/ingest/sync/source-keeper.ts'

type KeeperOptions = ConstructorParameters<typeof SourceKeeper>[0]

let nowMs: number
let attempts: number
let failures: string[]
let keeper: SourceKeeper

beforeEach(() => {
  jest.useFakeTimers()
  nowMs = Date.parse('2026-01-02T00:00:00Z')
  attempts = 0
  failures = []
})

afterEach(() => {
  keeper.close()
  jest.useRealTimers()
})

/** Starts a keeper of these sources, none of which can start a run. */
async function startRefused(names: readonly string[], refusalOf: (name: string) => AppError) {
  const at = '2026-01-01 00:00:00.000000'
  const sources = names.map((name, index) => ({
    id: index + 1,
    knowledgeBaseId: 1,
    name,
    kind: 'query',
    parameters: {},
    schedule: 'every 1 minute',
    isWatched: false,
    createdAt: at,
    updatedAt: at,
  }))
  const kb = { id: 1, name: 'docs', projectName: 'mindsdb' }
  // What the keeper reads of a store, a snapshot and the jobs.
  const store = { sources: () => sources, lastRun: () => null, change: async () => sources[0] }
  const jobs = {
    list: () => [],
    start: async ({ title }: { readonly title: string }) => {
      attempts += 1
      throw refusalOf(title.replace('Sync docs from ', ''))
    },
  }
  keeper = new SourceKeeper({
    store: store as unknown as SyncStore,
    snapshot: () => ({ knowledgeBases: [kb] }) as unknown as ReturnType<KeeperOptions['snapshot']>,
    folders: [],
    now: () => nowMs,
    watching: WATCHING,
    run: () => Promise.reject(new Error('no run starts')),
    jobs: jobs as unknown as KeeperOptions['jobs'],
    onFailure: (error) => failures.push(error instanceof AppError ? error.message : String(error)),
  })
  await keeper.start()
  await settled()
  return sources as unknown as readonly [SyncSource]
}

/** Lets attempts that have begun end. None of them waits for anything. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
}

async function tryAgain(): Promise<void> {
  jest.advanceTimersByTime(10_000)
  await settled()
}

test('while no run can start, one attempt at a time waits, and one failure is logged', async () => {
  const full = new AppError('storage_full', 'The disk is full')
  const [source] = await startRefused(['rows'], () => full)
  for (let day = 0; day < 5; day += 1) {
    nowMs += DAY_MS
    // Any change looks at the schedules of all sources, as the timer does.
    await keeper.change(source, {})
    await settled()
  }
  expect([attempts, failures.length]).toEqual([1, 1])
  await tryAgain()
  expect([attempts, failures.length]).toEqual([2, 1])
})

test('each source logs its own reason once, and again when it changes', async () => {
  let left = 90
  let reason = 'too many jobs'
  await startRefused(['full', 'busy'], (name) => {
    left -= 1
    if (name === 'full') return new AppError('storage_full', `The disk has ${left} MB left`)
    return new AppError('too_busy', reason)
  })
  await tryAgain()
  await tryAgain()
  expect([attempts, failures]).toEqual([6, ['The disk has 89 MB left', 'too many jobs']])
  reason = 'too many requests'
  await tryAgain()
  await tryAgain()
  expect([attempts, failures.slice(2)]).toEqual([10, ['too many requests']])
})
