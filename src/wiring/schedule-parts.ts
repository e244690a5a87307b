import type { LoggedError } from '../api/http/request/running-requests.ts'
import { withoutSecrets } from '../core/domain/flow/source-parameters.ts'
import type { ScheduleStore } from '../core/domain/ports/job-ports.ts'
import type { UploadDeps } from '../ingest/pipeline/upload-files.ts'
import type { DocumentReader } from '../ingest/readers/document-reader.ts'
import type { InsertDeps } from '../ingest/sources/insert-request.ts'
import { SourceKeeper, WATCHING } from '../ingest/sync/source-keeper.ts'
import { scheduleTimes } from '../ops/jobs/job-periods.ts'
import type { JobRunner } from '../ops/jobs/job-runner.ts'
import { Scheduler } from '../ops/jobs/scheduler.ts'
import type { LiveRows } from '../query/information-schema/schema-table.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import type { Store } from '../store/store.ts'
import { LATER } from './later.ts'
import type { Settings } from './settings/settings.ts'

export function schedulerOf(given: {
  readonly settings: Settings
  readonly store: ScheduleStore
  readonly jobs: JobRunner
  readonly log: { readonly failure: (error: LoggedError) => void }
  readonly queryDeps: () => QueryDeps
}): Scheduler {
  const { settings, store, jobs, log, queryDeps } = given
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
): Promise<LiveRows | undefined> {
  const schedules = store.list()
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

/** Syncs knowledge bases from `start` on. */
export function sourceKeeperOf(parts: {
  readonly settings: Settings
  readonly store: Store
  readonly log: { readonly failure: (error: LoggedError) => void }
  readonly jobs: JobRunner
  readonly reader: DocumentReader
  readonly insertDeps: () => InsertDeps & UploadDeps
}): SourceKeeper {
  const { settings, store, log, jobs, reader, insertDeps } = parts
  const keeper = new SourceKeeper({
    store: store.sources,
    snapshot: () => store.catalog.snapshot(),
    folders: settings.folders,
    now: Date.now,
    run: async (request, signal) => {
      const deps = {
        ...insertDeps(),
        chunks: store.chunks,
        chunker: reader.forRequest(),
        syncStore: store.sources,
        folders: settings.folders,
        bytesMax: settings.fileBytesMax,
        files: store.contents,
        tables: store.files,
        reader: () => reader.forRequest(),
        now: Date.now,
      }
      return (await LATER.syncRun()).runSource(request, deps, signal)
    },
    jobs,
    onFailure: (error) => log.failure({ requestId: 'source', error }),
    watching: WATCHING,
  })
  jobs.handle('sync', keeper.handler)
  return keeper
}
