/** Statements that run by themselves: `CREATE JOB`. Each run is a job of the kind `schedule`. */
export interface Schedule {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  /** Statements separated by semicolons, as they were written. May hold secrets: answers show it by `withoutSecrets`. */
  readonly query: string
  /** It runs only where the last of these gives a row; null: always. */
  readonly ifQuery: string | null
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly startAt: string
  readonly endAt: string | null
  /** `2 hours`, or a cron expression; null: it runs once. */
  readonly every: string | null
  readonly createdAt: string
}

export type ScheduleDraft = Omit<Schedule, 'id' | 'projectName' | 'createdAt'>

/** How far it is. */
export interface ScheduleState {
  /** null: it does not run any more. */
  readonly nextRunAt: string | null
  /** The time for which the last run was made; null: there was none. */
  readonly lastDueAt: string | null
  /** The job that runs it, or ran it last. */
  readonly lastJobId: number | null
  readonly lastStartedAt: string | null
  /** Of the run before that. */
  readonly previousStartedAt: string | null
  /** What LAST stands for, by the place of its statement. */
  readonly marks: Readonly<Record<string, LastMark>>
}

/** The highest value of a column that was taken. */
export interface LastMark {
  readonly value: string
  /** DuckDB's name of its type. */
  readonly type: string
}

export interface StoredSchedule extends Schedule, ScheduleState {}

/** What became of one run. */
export interface ScheduleRun {
  readonly id: number
  readonly scheduleId: number
  readonly jobId: number
  readonly startedAt: string
  readonly endedAt: string
  readonly state: 'done' | 'skipped' | 'failed' | 'cancelled'
  readonly error: string | null
}
