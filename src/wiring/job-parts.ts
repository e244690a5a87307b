import type { LoggedError } from '../api/http/request/running-requests.ts'
import type { CatalogSnapshot } from '../core/domain/access/catalog-snapshot.ts'
import type { Rights } from '../core/domain/access/principal.ts'
import { INGEST_LIMITS } from '../core/domain/flow/ingest-limits.ts'
import { type Activity, insertOfJob, NO_ACTIVITY } from '../core/domain/flow/job.ts'
import type { ScheduleStore } from '../core/domain/ports/job-ports.ts'
import { addressPolicy, internet } from '../core/runtime/address-policy.ts'
import { withoutSecrets } from '../core/text/shown-statement.ts'
import { DAY_MS } from '../core/time.ts'
import type { AttachDeps } from '../ingest/pipeline/attach-job.ts'
import type { InsertFilesDeps } from '../ingest/pipeline/insert-files.ts'
import type { UploadDeps } from '../ingest/pipeline/upload-files.ts'
import type { DocumentReader } from '../ingest/readers/document-reader.ts'
import { guardedFetch } from '../ingest/sources/guarded-fetch.ts'
import type { InsertDeps, InsertLog } from '../ingest/sources/insert-request.ts'
import { SourceKeeper, WATCHING } from '../ingest/sync/source-keeper.ts'
import { JobRunner } from '../ops/jobs/job-runner.ts'
import type { JobLogEntry } from '../ops/jobs/job-runs.ts'
import { Scheduler, scheduleTimes } from '../ops/jobs/scheduler.ts'
import type { LiveRows } from '../query/information-schema/schema-table.ts'
import { rightsOfWork } from '../query/run/statement-scopes.ts'
import type { QueryDeps, ShownActivity } from '../query/select/query-deps.ts'
import type { Store } from '../store/store.ts'
import { LATER } from './later.ts'
import type { Settings } from './settings/settings.ts'

/** Creates the job runner. Before `open`, each part registers the handlers for its jobs. */
const JOBS_WAITING_MAX = 1000
const FINISHED_JOBS_KEPT = 1000

export function jobRunnerOf(given: {
  readonly settings: Settings
  readonly store: Store
  readonly log: {
    readonly job?: (entry: JobLogEntry) => void
    readonly failure: (error: LoggedError) => void
  }
}): JobRunner {
  const { settings, store, log } = given
  return new JobRunner({
    store: store.jobs,
    runningMax: settings.jobsMax,
    waitingMax: JOBS_WAITING_MAX,
    keptMax: FINISHED_JOBS_KEPT,
    log: (entry) => log.job?.(entry),
    onFailure: (error) => log.failure({ requestId: 'job', error }),
    now: Date.now,
  })
}

/** @param deps the dependencies of inserts @param queryDeps the dependencies of statements */
export function handleInserts(
  jobs: JobRunner,
  deps: () => InsertDeps & AttachDeps,
  queryDeps: (rights: Rights | null) => QueryDeps,
): void {
  jobs.handle('insert', {
    run: async (work, signal) => {
      const { isStoredStatement, runStatementJob } = await LATER.statementJob()
      const { request } = work
      if (isStoredStatement(request)) {
        return runStatementJob(work, request, queryDeps(rightsOfWork(request)), signal)
      }
      const { isStoredAttach, runAttachJob } = await LATER.attachJob()
      if (isStoredAttach(request)) return runAttachJob(work, request, deps(), signal)
      return (await LATER.insertJob()).runInsertJob(work, deps(), signal)
    },
  })
}

export function handleRewrites(jobs: JobRunner, queryDeps: () => QueryDeps): void {
  jobs.handle('rechunk', {
    run: async (work, signal) => {
      return (await LATER.rechunkJob()).runRechunkJob(work, queryDeps(), signal)
    },
  })
  jobs.handle('move', {
    run: async (work, signal) => {
      return (await LATER.moveJob()).runMoveJob(work, queryDeps(), signal)
    },
  })
}

export function handleEvaluations(
  jobs: JobRunner,
  queryDeps: (rights: Rights | null) => QueryDeps,
): void {
  jobs.handle('evaluation', {
    run: async (work, signal) => {
      const deps = queryDeps(rightsOfWork(work.request))
      return (await LATER.evaluationJob()).runEvaluationJob(work, deps, signal)
    },
  })
}

export function shownActivity(store: Store, inserts: InsertLog): ShownActivity {
  let jobVersion = -1
  let insertVersion = -1
  let activity: Activity = NO_ACTIVITY
  let shown: { readonly of: CatalogSnapshot; readonly snapshot: CatalogSnapshot } | null = null
  const now = () => {
    const { version: newest } = inserts
    if (store.jobs.version === jobVersion && newest === insertVersion) return activity
    jobVersion = store.jobs.version
    insertVersion = newest
    shown = null
    const jobs = store.jobs.list()
    const jobOf = new Map(jobs.map((job) => [job.id, job]))
    const states = inserts.states().map((state) => {
      const job = state.jobId === null ? undefined : jobOf.get(state.jobId)
      return job === undefined ? state : insertOfJob({ id: state.knowledgeBaseId }, job)
    })
    activity = { version: activity.version + 1, inserts: states, jobs }
    return activity
  }
  return {
    now,
    shownIn: (snapshot) => {
      const current = now()
      if (shown?.of !== snapshot) {
        shown = { of: snapshot, snapshot: { ...snapshot, activity: current } }
      }
      return shown.snapshot
    },
  }
}

interface InsertParts {
  readonly settings: Settings
  readonly store: Store
  readonly version: string
}

/** How long reading an insert's rows may take, while earlier rows are being embedded. */
const INSERT_READING_MS = DAY_MS

export function insertDepsOf(
  options: InsertParts,
  queryDepsOf: (rights: Rights | null) => QueryDeps,
  reader: DocumentReader,
): InsertFilesDeps & UploadDeps {
  const { settings, store } = options
  const downloads = downloadsOf(options)
  const queryDeps = queryDepsOf(null)
  return {
    snapshot: () => store.catalog.snapshot(),
    chunks: store.chunks,
    inserts: queryDeps.inserts,
    embedders: queryDeps.embedders,
    chatModels: queryDeps.chatModels,
    files: store.files,
    tables: store.files,
    select: async (sql, { projectName: database, rights }, signal) => {
      return (await LATER.select()).runSelect(
        { sql, database, params: {} },
        { ...queryDepsOf(rights), readingMs: INSERT_READING_MS },
        signal,
      )
    },
    pages: downloads,
    downloads,
    reader,
    chunker: reader,
    crawlPagesMax: settings.crawlPagesMax,
    keepCrawlWarnings: (kb, warnings) => store.catalog.keepCrawlWarnings(kb, warnings),
  }
}

function downloadsOf({ settings, version }: InsertParts) {
  return guardedFetch({
    policy: addressPolicy({ setting: 'EIDER_CRAWL_ALLOW', entries: settings.crawlAllow }),
    userAgent: `Eider/${version} (+crawler)`,
    network: internet,
    pageMs: INGEST_LIMITS.pageMs,
  })
}

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
      const { checkScheduled } = await LATER.scheduled()
      await checkScheduled(definition, queryDeps())
    },
    onFailure: (error) => log.failure({ requestId: 'schedule', error }),
    now: Date.now,
  })
  jobs.handle('schedule', scheduler)
  return scheduler
}

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
