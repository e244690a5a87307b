import { afterEach, beforeEach, expect, jest, test } from 'bun:test'
import type { Job } from '../../src/core/domain/flow/job.ts'
import type { JobDraft, JobWork } from '../../src/core/domain/ports/job-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { Scheduler, scheduleTimes } from '../../src/ops/jobs/scheduler.ts'
import type { Store } from '../../src/store/store.ts'
import { openMemoryStore } from '../support/store-fixture.ts'

let store: Store
let scheduler: Scheduler
let nowMs: number
let started: JobDraft[]
let runs: number
let onStart: () => void
let onFailure: (error: unknown) => void

beforeEach(async () => {
  store = await openMemoryStore()
  nowMs = Date.parse('2026-01-01T00:00:30Z')
  started = []
  runs = 0
  onStart = () => {}
  onFailure = (error) => {
    throw error
  }
  scheduler = new Scheduler({
    store: store.schedules,
    times: scheduleTimes(60),
    jobs: {
      start: async (draft) => {
        started.push(draft)
        onStart()
        return jobOf(started.length)
      },
      get: (id) => {
        throw new AppError('job_not_found', `no job ${id}`)
      },
      cancel: async (id) => jobOf(id),
    },
    run: async () => {
      runs += 1
      return true
    },
    check: async () => {},
    onFailure: (error) => onFailure(error),
    now: () => nowMs,
  })
})

afterEach(async () => {
  scheduler.close()
  jest.useRealTimers()
  await store.close()
})

/** Only the ID of a job is read here. */
function jobOf(id: number): Job {
  return { id } as Job
}

function workOf(id: number): JobWork {
  // What a handler gets of a job that continues. Only its id and its request are read here.
  return { job: jobOf(id), request: started[0]?.request, checkpoint: null } as unknown as JobWork
}

async function hourly(name = 'j'): Promise<number> {
  const [project] = store.catalog.snapshot().projects
  if (project === undefined) throw new Error('there is a project')
  const definition = { project, name, query: 'SELECT 1', ifQuery: null, end: null }
  const created = await scheduler.create({ ...definition, start: '2026-01-01', every: '1 hour' })
  expect(created.nextRunAt).toBe('2026-01-01 01:00:00.000000')
  return created.id
}

test('runs missed while the server was down become one run, in one job', async () => {
  const id = await hourly()
  nowMs = Date.parse('2026-01-01T10:30:00Z')
  const begun = Promise.withResolvers<void>()
  onStart = begun.resolve
  scheduler.start()
  await begun.promise
  const never = new AbortController().signal
  await scheduler.run(workOf(1), never)
  await scheduler.run(workOf(2), never)
  expect([started.length, runs]).toEqual([1, 1])
  expect(store.schedules.get(id)).toMatchObject({
    lastDueAt: '2026-01-01 01:00:00.000000',
    nextRunAt: '2026-01-01 11:00:00.000000',
    lastJobId: 1,
  })
  expect(await store.schedules.runs(id)).toMatchObject([{ jobId: 1, state: 'done' }])
})

test('a job of a schedule that was dropped does nothing', async () => {
  const id = await hourly()
  const schedule = store.schedules.get(id)
  if (schedule !== undefined) await scheduler.drop(schedule)
  started.push({ request: { scheduleId: id, dueAt: '2026-01-01 01:00:00.000000' } } as JobDraft)
  await scheduler.run(workOf(1), new AbortController().signal)
  expect(runs).toBe(0)
})

test('dropping a schedule while its run starts reports nothing', async () => {
  const schedule = store.schedules.get(await hourly())
  const failures: unknown[] = []
  onFailure = (error) => failures.push(error)
  nowMs = Date.parse('2026-01-01T10:30:00Z')
  const dropped = Promise.withResolvers<void>()
  onStart = () => {
    if (schedule !== undefined) void store.schedules.drop(schedule).then(dropped.resolve)
  }
  scheduler.start()
  await dropped.promise
  await Bun.sleep(50)
  expect([started.length, failures]).toEqual([1, []])
})

/** Starts the scheduler with a due run, whose first 50 attempts to start fail. */
async function startRefused(code: 'too_busy' | 'shutting_down') {
  await hourly()
  nowMs = Date.parse('2026-01-01T10:30:00Z')
  const failures: unknown[] = []
  onFailure = (error) => failures.push(error)
  onStart = () => {
    if (started.length < 50) throw new AppError(code, 'no more jobs')
  }
  scheduler.start()
  await Bun.sleep(20)
  expect(started.length).toBe(1)
  return failures
}

test('a run that cannot start is tried again a second later, not at once, and logged once', async () => {
  const failures = await startRefused('too_busy')
  while (started.length < 2) await Bun.sleep(20)
  expect(failures.length).toBe(1)
})

test('each schedule logs its own reason once, and again when it changes', async () => {
  await hourly('full')
  await hourly('busy')
  nowMs = Date.parse('2026-01-01T10:30:00Z')
  const failures: string[] = []
  onFailure = (error) => failures.push(error instanceof AppError ? error.message : String(error))
  let reason = 'too many jobs'
  onStart = () => {
    if (started.at(-1)?.title.endsWith('busy') === true) throw new AppError('too_busy', reason)
    throw new AppError('storage_full', `The disk has ${90 - started.length} MB left`)
  }
  const tryAgain = async () => {
    jest.advanceTimersByTime(1_000)
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
  }
  jest.useFakeTimers()
  scheduler.start()
  await tryAgain()
  await tryAgain()
  expect(started.length).toBeGreaterThan(3)
  expect(failures).toEqual(['The disk has 89 MB left', 'too many jobs'])
  reason = 'too many requests'
  await tryAgain()
  await tryAgain()
  expect(failures.slice(2)).toEqual(['too many requests'])
})

test('no run starts while the server shuts down', async () => {
  const failures = await startRefused('shutting_down')
  await Bun.sleep(1_500)
  expect([started.length, failures.length]).toEqual([1, 0])
})

test('after the clock was set back, no run waits until it catches up, and none is repeated', async () => {
  const id = await hourly()
  const nextAfterRunAt = async (time: string) => {
    nowMs = Date.parse(time)
    const begun = Promise.withResolvers<void>()
    onStart = begun.resolve
    scheduler.start()
    await begun.promise
    const work = { ...workOf(started.length), request: started.at(-1)?.request }
    await scheduler.run(work, new AbortController().signal)
    scheduler.close()
    return store.schedules.get(id)?.nextRunAt
  }
  expect(await nextAfterRunAt('2026-01-09T10:30:00Z')).toBe('2026-01-09 11:00:00.000000')
  expect(await nextAfterRunAt('2026-01-02T08:15:00Z')).toBe('2026-01-02 09:00:00.000000')
  expect(await nextAfterRunAt('2026-01-02T09:00:00.005Z')).toBe('2026-01-02 10:00:00.000000')
  for (const second of ['08:59:59.900', '09:00:00.000', '09:00:00.100']) {
    nowMs = Date.parse(`2026-01-02T${second}Z`)
    // A due run would begin before this returns.
    scheduler.start()
    expect(started.length).toBe(3)
  }
})
