import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { NO_PROGRESS } from '../../src/core/domain/flow/job.ts'
import type { JobDraft, JobWork } from '../../src/core/domain/ports/job-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { abortable } from '../../src/core/runtime/cancellation.ts'
import { JobRunner } from '../../src/ops/jobs/job-runner.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { failureOf, openMemoryStore, temporaryFolder } from '../support/store-fixture.ts'

/** A running job that ends when the test says so. */
interface Running {
  readonly work: JobWork
  readonly signal: AbortSignal
  readonly end: PromiseWithResolvers<void>
}

let store: Store
let running: Map<number, Running>
let begun: number[]
let onBegin: () => void

beforeEach(async () => {
  store = await openMemoryStore()
  running = new Map()
  begun = []
  onBegin = () => {}
})

afterEach(() => store.close())

function runnerOver(over: Store = store, runningMax = 2, endMs = 10_000): JobRunner {
  const runner = new JobRunner({
    store: over.jobs,
    runningMax,
    waitingMax: 50,
    keptMax: 100,
    log: () => {},
    onFailure: () => {},
    now: Date.now,
    endMs,
  })
  runner.handle('import', {
    run: async (work) => {
      const end = Promise.withResolvers<void>()
      running.set(work.job.id, { work, signal: new AbortController().signal, end })
      begun.push(work.job.id)
      onBegin()
      await end.promise
    },
  })
  runner.handle('sync', {
    run: async (work, signal) => {
      const end = Promise.withResolvers<void>()
      running.set(work.job.id, { work, signal, end })
      begun.push(work.job.id)
      onBegin()
      await abortable(end.promise, signal)
    },
  })
  return runner
}

function draft(knowledgeBase: string | null = 'teas'): JobDraft {
  return { kind: 'sync', projectName: 'mindsdb', knowledgeBase, title: 'a test', request: {} }
}

async function untilBegun(count: number): Promise<void> {
  while (begun.length < count) {
    await new Promise<void>((resolve) => {
      onBegin = resolve
    })
  }
}

function at(id: number): Running {
  const found = running.get(id)
  if (found === undefined) throw new Error(`job ${id} does not run`)
  return found
}

async function endOf(runner: JobRunner, id: number): Promise<string> {
  let state = ''
  for await (const job of runner.watch(id, new AbortController().signal)) state = job.state
  return state
}

test('jobs of one knowledge base run one after the other, others beside them', async () => {
  const runner = runnerOver()
  for (const kb of ['teas', 'teas', 'coffees', 'milks']) await runner.start(draft(kb))
  await untilBegun(2)
  expect(begun).toEqual([1, 3])
  at(1).end.resolve()
  await untilBegun(3)
  // The second job of the same knowledge base was added before the last one.
  expect(begun).toEqual([1, 3, 2])
  at(3).end.resolve()
  await untilBegun(4)
  for (const id of [2, 4]) at(id).end.resolve()
  expect(await Promise.all([1, 2, 3, 4].map((id) => endOf(runner, id)))).toEqual(
    Array.from({ length: 4 }, () => 'done'),
  )
})

test('if two clients restart a job at the same time, one is refused', async () => {
  const runner = runnerOver()
  const { id } = await runner.start(draft())
  await untilBegun(1)
  at(id).end.reject(new AppError('insert_failed', 'no tea'))
  expect(await endOf(runner, id)).toBe('failed')
  expect(runner.get(id).error).toBe('no tea')
  const codes = await Promise.all([
    failureOf(runner.retry(id)),
    failureOf(runner.resume(id)),
    failureOf(runner.remove(id)),
  ])
  expect(codes.map(({ code }) => code)).toEqual(['none', 'job_state', 'job_state'])
  await untilBegun(2)
  expect(begun).toEqual([id, id])
  await runner.cancel(id)
})

test('cancelling a job twice at once reports once that it has ended', async () => {
  const runner = runnerOver()
  const { id } = await runner.start(draft())
  const queued = await runner.start(draft())
  await untilBegun(1)
  const codes = await Promise.all([failureOf(runner.cancel(id)), failureOf(runner.cancel(id))])
  expect(codes.map(({ code }) => code)).toEqual(['none', 'job_state'])
  await untilBegun(2)
  at(queued.id).end.resolve()
  expect(await endOf(runner, queued.id)).toBe('done')
})

test('cancelling a job that ignores the signal says so, and the job ends when its work does', async () => {
  const runner = runnerOver(store, 2, 20)
  const { id } = await runner.start({ ...draft(), kind: 'import' })
  await untilBegun(1)
  const { state, error } = await runner.cancel(id)
  expect([state, error]).toEqual(['running', 'It was cancelled but has not ended yet'])
  expect((await failureOf(runner.resume(id))).code).toBe('job_state')
  at(id).end.reject(new Error('it listened at last'))
  expect(await endOf(runner, id)).toBe('cancelled')
  expect(runner.get(id).error).toBeNull()
})

test('an unexpected failure shows nothing of itself', async () => {
  const runner = runnerOver()
  const { id } = await runner.start(draft())
  await untilBegun(1)
  at(id).end.reject(new Error('password=secret'))
  expect(await endOf(runner, id)).toBe('failed')
  expect(runner.get(id).error).toBe('Internal error')
})

test('after a restart, a job continues from its last checkpoint, with its request and its items', async () => {
  using folder = temporaryFolder()
  const first = await openStore({ directory: folder.path })
  const before = runnerOver(first)
  const items = [{ a: 1 }, { a: 2 }, { a: 3 }]
  const { id } = await before.start({ ...draft(), request: { secret: 's' }, items })
  await untilBegun(1)
  const progress = { ...NO_PROGRESS, rows: 2, documents: 2, skipped: 0 }
  await at(id).work.mark({ progress, checkpoint: { rows: 2 } })
  await before.close()
  await first.close()
  const second = await openStore({ directory: folder.path })
  const after = runnerOver(second)
  after.open()
  await untilBegun(2)
  const { work, end } = at(id)
  expect(work.request).toEqual({ secret: 's' })
  expect(work.checkpoint).toEqual({ rows: 2 })
  expect(work.job.progress).toEqual(progress)
  const rest: unknown[] = []
  for await (const item of work.items(2)) rest.push(item)
  expect(rest).toEqual([{ a: 3 }])
  // Another process has removed the file.
  await rm(join(folder.path, 'jobs', `${id}.ndjson`))
  const lost = await failureOf(Array.fromAsync(work.items(0)))
  expect(lost.code).toBe('job_items_missing')
  end.resolve()
  expect(await endOf(after, id)).toBe('done')
  await after.close()
  await second.close()
})

test('thousands can watch one job, and a watcher that leaves costs nothing', async () => {
  const runner = runnerOver()
  const { id } = await runner.start(draft())
  await untilBegun(1)
  const leaving = new AbortController()
  const left = Array.from({ length: 500 }, () => Array.fromAsync(runner.watch(id, leaving.signal)))
  const staying = Array.from({ length: 2_000 }, () => endOf(runner, id))
  leaving.abort()
  await Promise.all(left)
  at(id).end.resolve()
  expect(new Set(await Promise.all(staying))).toEqual(new Set(['done']))
})

test('jobs wait up to the limit, and no more', async () => {
  const runner = runnerOver(store, 1)
  const started = await Promise.all(
    Array.from({ length: 60 }, () => failureOf(runner.start(draft()))),
  )
  const refused = started.filter(({ code }) => code === 'too_busy').length
  // One job runs and fifty wait.
  expect(refused).toBe(9)
  await runner.close()
})
