import { isOver } from '../../core/domain/flow/job.ts'
import type { StoredSchedule } from '../../core/domain/flow/sync-source.ts'
import { checkedName } from '../../core/domain/names.ts'
import type {
  JobHandler,
  Jobs,
  JobWork,
  ScheduleDefinition,
  ScheduleStore,
  Schedules,
  ScheduleTimes,
} from '../../core/domain/ports/job-ports.ts'
import { AppError, failureKey, toAppError } from '../../core/errors.ts'
import { checkedSchedule, nextTime } from '../../core/runtime/schedule-times.ts'
import { MINUTE_MS, timestampOfMillis } from '../../core/time.ts'

interface SchedulerOptions {
  readonly store: ScheduleStore
  readonly times: ScheduleTimes
  readonly jobs: Pick<Jobs, 'start' | 'get' | 'cancel'>
  /** Runs the statements from the checkpoint on. @returns false if the IF query returned no row */
  readonly run: (schedule: StoredSchedule, work: JobWork, signal: AbortSignal) => Promise<boolean>
  /** @throws AppError for statements that can never run */
  readonly check: (definition: ScheduleDefinition) => Promise<void>
  readonly onFailure: (error: unknown) => void
  readonly now: () => number
}

/** Timers do not notice a changed clock or sleep, so look for due runs at least this often. */
const LONGEST_MS = MINUTE_MS
/** How soon a due run is retried if the schedule is still busy, or the run could not start. */
const BUSY_MS = 1000

/** The request of a `schedule` job. */
interface RunRequest {
  readonly scheduleId: number
  readonly dueAt: string
}

/** Runs of one schedule never overlap; several missed runs become one. */
export class Scheduler implements Schedules, JobHandler {
  readonly #options: SchedulerOptions
  readonly #active = new Set<number>()
  /** Why, by schedule, no run could start. Each attempt fails then, but is logged once. */
  readonly #refusals = new Map<number, string>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOpen = false

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  get store(): ScheduleStore {
    return this.#options.store
  }

  start(): void {
    this.#isOpen = true
    this.#wake()
  }

  close(): void {
    this.#isOpen = false
    clearTimeout(this.#timer)
  }

  async create(definition: ScheduleDefinition): Promise<StoredSchedule> {
    const { project, name, query, ifQuery, start, end, every } = definition
    checkedName('job', name)
    if (every !== null) this.#options.times.check(every)
    await this.#options.check(definition)
    const now = this.#options.now()
    const startMs = start === null || start.toLowerCase() === 'now' ? now : millisOf(start)
    const endAt = end === null ? null : timestampOfMillis(millisOf(end))
    const startAt = timestampOfMillis(startMs)
    if (endAt !== null && endAt <= startAt) {
      throw new AppError('invalid_schedule', 'END must be after START')
    }
    const times = { startAt, endAt, every }
    // A recurring schedule counts its times from its start but begins now at the earliest; a single
    // run with a start in the past is due at once.
    const from = every === null ? startMs - 1 : Math.max(startMs, now) - 1
    const nextMs = this.#options.times.next(times, from)
    const nextRunAt = nextMs === null ? null : timestampOfMillis(nextMs)
    const draft = { projectId: project.id, name, query, ifQuery, ...times }
    const created = await this.store.create(draft, nextRunAt)
    this.#wake()
    return created
  }

  async drop(schedule: StoredSchedule): Promise<void> {
    const running = this.store.get(schedule.id)?.lastJobId ?? null
    await this.store.drop(schedule)
    if (running !== null && !this.#isOver(running)) {
      await this.#options.jobs.cancel(running).catch((error: unknown) => {
        const { code } = toAppError(error)
        if (code !== 'job_state' && code !== 'job_not_found') throw error
      })
    }
  }

  async run(work: JobWork, signal: AbortSignal): Promise<void> {
    // Only this class creates such jobs.
    const { scheduleId, dueAt } = work.request as RunRequest
    const { store } = this.#options
    const known = store.get(scheduleId)
    if (known === undefined) return
    if (!(await this.#claim(known, dueAt, work.job.id))) return
    const schedule = store.get(scheduleId)
    if (schedule === undefined) return
    try {
      await this.#runClaimed(schedule, work, signal)
    } finally {
      this.#wake()
    }
  }

  async #runClaimed(schedule: StoredSchedule, work: JobWork, signal: AbortSignal): Promise<void> {
    const { store, now } = this.#options
    const run = {
      scheduleId: schedule.id,
      jobId: work.job.id,
      startedAt: schedule.lastStartedAt ?? schedule.createdAt,
    }
    const endedAt = () => timestampOfMillis(now())
    try {
      const isRun = await this.#options.run(schedule, work, signal)
      const state = isRun ? 'done' : 'skipped'
      await store.addRun({ ...run, endedAt: endedAt(), state, error: null })
    } catch (error) {
      const reason: unknown = signal.aborted ? signal.reason : error
      const { code, message } = toAppError(reason)
      // Otherwise the run continues at the next start.
      if (code !== 'shutting_down') {
        const state = signal.aborted ? 'cancelled' : 'failed'
        await store.addRun({ ...run, endedAt: endedAt(), state, error: message })
      }
      throw error
    }
  }

  #isOver(jobId: number): boolean {
    try {
      return isOver(this.#options.jobs.get(jobId))
    } catch {
      // The schedule was removed in the meantime.
      return true
    }
  }

  #wake(): void {
    if (!this.#isOpen) return
    clearTimeout(this.#timer)
    const now = this.#options.now()
    let nextMs = now + LONGEST_MS
    for (const schedule of this.store.list()) {
      const { id, nextRunAt, lastJobId } = schedule
      if (nextRunAt === null) continue
      const dueMs = this.#dueMs(schedule, nextRunAt, now)
      if (dueMs > now) {
        nextMs = Math.min(nextMs, dueMs)
        continue
      }
      // An interrupted run continues as its own job, and the next run waits for it.
      const isBusy = this.#active.has(id) || (lastJobId !== null && !this.#isOver(lastJobId))
      if (isBusy) nextMs = Math.min(nextMs, now + BUSY_MS)
      else void this.#begin(schedule, nextRunAt)
    }
    this.#timer = setTimeout(() => this.#wake(), Math.max(1, nextMs - now))
    this.#timer.unref?.()
  }

  async #begin(schedule: StoredSchedule, dueAt: string): Promise<void> {
    const { id, name, projectName } = schedule
    this.#active.add(id)
    const request: RunRequest = { scheduleId: id, dueAt }
    try {
      const job = await this.#options.jobs.start({
        kind: 'schedule',
        projectName,
        knowledgeBase: null,
        title: `job ${projectName}.${name}`,
        request,
      })
      await this.#claim(schedule, dueAt, job.id)
      this.#active.delete(id)
      this.#refusals.delete(id)
    } catch (error) {
      const { code } = toAppError(error)
      const refusal = failureKey(error)
      if (code === 'shutting_down') this.close()
      else if (code !== 'schedule_not_found' && refusal !== this.#refusals.get(id)) {
        this.#refusals.set(id, refusal)
        this.#options.onFailure(error)
      }
      // A run is refused at once, so trying again at once would leave no time for anything else.
      setTimeout(() => this.#active.delete(id), BUSY_MS).unref()
    } finally {
      this.#wake()
    }
  }

  /** Now if the clock was set back, and more than one run would be missed. */
  #dueMs(schedule: StoredSchedule, dueAt: string, nowMs: number): number {
    const { times } = this.#options
    const dueMs = millisOf(dueAt)
    if (millisOf(schedule.lastStartedAt ?? schedule.createdAt) <= nowMs) return dueMs
    const nextMs = times.next(schedule, nowMs) ?? dueMs
    return dueMs > (times.next(schedule, nextMs) ?? dueMs) ? nowMs : dueMs
  }

  /** Claims the run for this job. Its start and its handler may both claim it; no other job can. */
  #claim(schedule: StoredSchedule, dueAt: string, jobId: number): Promise<boolean> {
    const { store, times, now } = this.#options
    const startedMs = now()
    const fromMs = Math.max(startedMs, this.#dueMs(schedule, dueAt, startedMs))
    const nextMs = times.next(schedule, fromMs)
    return store.claim(schedule.id, {
      jobId,
      dueAt,
      startedAt: timestampOfMillis(startedMs),
      nextRunAt: nextMs === null ? null : timestampOfMillis(nextMs),
    })
  }
}

/** Counts periods from the schedule's start, so that a late run does not shift later ones. UTC. */
export function scheduleTimes(secondsMin: number): ScheduleTimes {
  return {
    check(every) {
      const hint = ' (EIDER_SCHEDULE_SECONDS_MIN)'
      checkedSchedule(every, { secondsMin, code: 'invalid_schedule', hint })
    },
    next({ startAt, endAt, every }, afterMs) {
      const startMs = millisOf(startAt)
      const once = startMs > afterMs ? startMs : null
      const next = every === null ? once : nextTime(every, startMs, afterMs)
      return next === null || (endAt !== null && next > millisOf(endAt)) ? null : next
    },
  }
}

/** Parses a time in the API's format, or as people write it, in UTC. */
function millisOf(text: string): number {
  const zoned = /(?:z|[+-]\d{2}:?\d{2})$/i.test(text) ? text : `${text}Z`
  const millis = Date.parse(/^\d{4}-\d{2}-\d{2}$/.test(text) ? text : zoned.replace(' ', 'T'))
  if (Number.isNaN(millis)) {
    throw new AppError(
      'invalid_schedule',
      `"${text.slice(0, 40)}" is not a time: write YYYY-MM-DD HH:MM:SS, UTC`,
    )
  }
  return millis
}
