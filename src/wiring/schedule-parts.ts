import type { LoggedError } from '../api/http/request/running-requests.ts'
import type { CatalogSnapshot } from '../core/domain/access/catalog-snapshot.ts'
import { sees } from '../core/domain/access/rights.ts'
import { withoutSecrets } from '../core/domain/flow/hidden-secrets.ts'
import type { ScheduleStore } from '../core/domain/ports/schedule-ports.ts'
import { scheduleTimes } from '../ops/jobs/job-periods.ts'
import type { JobRunner } from '../ops/jobs/job-runner.ts'
import { Scheduler } from '../ops/jobs/scheduler.ts'
import type { LiveRows } from '../query/information-schema/schema-table.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import { LATER } from './later.ts'
import type { Settings } from './settings/settings.ts'

interface ScheduleParts {
  readonly settings: Settings
  readonly store: ScheduleStore
  readonly jobs: JobRunner
  readonly log: { readonly failure: (error: LoggedError) => void }
  readonly queryDeps: () => QueryDeps
}

export function schedulerOf({ settings, store, jobs, log, queryDeps }: ScheduleParts): Scheduler {
  const scheduler = new Scheduler({
    store,
    jobs,
    times: scheduleTimes(settings.scheduleSecondsMin),
    run: async (schedule, work, signal) => {
      const { runScheduled } = await LATER.scheduled()
      return runScheduled(schedule, work, { query: queryDeps(), store }, signal)
    },
    check: async (definition) => {
      const { checkScheduled } = await LATER.checkScheduled()
      await checkScheduled(definition, queryDeps())
    },
    onFailure: (error) => log.failure({ requestId: 'schedule', error }),
    now: Date.now,
  })
  jobs.handle('schedule', scheduler)
  return scheduler
}

/** The rows of JOBS and JOBS_HISTORY; undefined: it is another table. */
export async function scheduleRows(
  table: string,
  store: Pick<ScheduleStore, 'list' | 'runs'>,
  { limits }: Pick<CatalogSnapshot, 'limits'>,
): Promise<LiveRows | undefined> {
  const schedules = store.list().filter(({ projectName }) => sees(limits?.rights, projectName))
  if (table === 'jobs') {
    const rows = schedules.map((schedule) => ({
      NAME: schedule.name,
      PROJECT: schedule.projectName,
      START_AT: schedule.startAt,
      END_AT: schedule.endAt,
      NEXT_RUN_AT: schedule.nextRunAt,
      SCHEDULE_STR: schedule.every,
      QUERY: withoutSecrets(schedule.query),
      IF_QUERY: schedule.ifQuery === null ? null : withoutSecrets(schedule.ifQuery),
      VARIABLES: JSON.stringify({ LAST: schedule.marks }),
    }))
    return { rows }
  }
  if (table !== 'jobs_history') return undefined
  const byId = new Map(schedules.map((schedule) => [schedule.id, schedule]))
  const rows = (await store.runs()).flatMap((run) => {
    const schedule = byId.get(run.scheduleId)
    if (schedule === undefined) return []
    return {
      ID: run.id,
      NAME: schedule.name,
      PROJECT: schedule.projectName,
      RUN_START: run.startedAt,
      RUN_END: run.endedAt,
      STATE: run.state,
      ERROR: run.error,
      QUERY: withoutSecrets(schedule.query),
      JOB_ID: run.jobId,
    }
  })
  return { rows }
}
