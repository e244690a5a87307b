/** What the use cases need of schedules. The store keeps them, `jobs/` knows when they are due. */
import type {
  LastMark,
  Schedule,
  ScheduleDraft,
  ScheduleRun,
  StoredSchedule,
} from '../flow/schedule.ts'
import type { Project } from '../project.ts'

/** Schedules on disk, and all of them in memory. */
export interface ScheduleStore {
  list(): readonly StoredSchedule[]
  get(id: number): StoredSchedule | undefined
  /** @throws AppError `schedule_exists`, `too_many_schedules`, `project_not_found` */
  create(draft: ScheduleDraft, nextRunAt: string | null): Promise<StoredSchedule>
  /** With its history. @throws AppError `schedule_not_found` */
  drop(schedule: Pick<Schedule, 'id' | 'name'>): Promise<void>
  /**
   * A job begins the run that is due, or goes on with it.
   * @returns false where another job had this run
   */
  claim(id: number, run: ClaimedRun): Promise<boolean>
  /** What LAST stands for from now on. */
  setMark(id: number, place: string, mark: LastMark): Promise<void>
  /** Ends a run. The oldest of the schedule's history go. */
  addRun(run: Omit<ScheduleRun, 'id'>): Promise<void>
  /** Of one schedule or of all, the newest first. */
  runs(scheduleId?: number): Promise<readonly ScheduleRun[]>
}

export interface ClaimedRun {
  readonly jobId: number
  readonly dueAt: string
  readonly startedAt: string
  readonly nextRunAt: string | null
}

/** When schedules run. */
export interface ScheduleTimes {
  /** @throws AppError `invalid_schedule` for what is no period, or too short a one */
  check(every: string): void
  /** The first time after `afterMs`, in milliseconds since 1970; null: there is none. */
  next(schedule: Pick<Schedule, 'startAt' | 'endAt' | 'every'>, afterMs: number): number | null
}

/** What statements and requests do with schedules. */
export interface Schedules {
  readonly store: Pick<ScheduleStore, 'list' | 'runs'>
  /** @throws AppError `invalid_schedule`, `schedule_exists`, `too_many_schedules` */
  create(definition: ScheduleDefinition): Promise<StoredSchedule>
  /** What runs is ended. @throws AppError `schedule_not_found` */
  drop(schedule: StoredSchedule): Promise<void>
}

export interface ScheduleDefinition {
  readonly project: Project
  readonly name: string
  readonly query: string
  readonly ifQuery: string | null
  /** As they were written; null: now, and never. */
  readonly start: string | null
  readonly end: string | null
  readonly every: string | null
}
