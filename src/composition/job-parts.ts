import type { LoggedError } from '../http/running-requests.ts'
import type { InsertDeps } from '../ingest/insert-request.ts'
import type { JobLogEntry } from '../jobs/job-runner.ts'
import { JobRunner } from '../jobs/job-runner.ts'
import type { Settings } from '../settings.ts'
import type { Store } from '../store/store.ts'
import { LATER } from './later.ts'

interface JobParts {
  readonly settings: Settings
  readonly store: Store
  readonly log: {
    readonly job?: (entry: JobLogEntry) => void
    readonly failure: (error: LoggedError) => void
  }
}

/** Runs jobs from `open` on; until then each part says what it does with those of its kind. */
export function jobRunnerOf({ settings, store, log }: JobParts): JobRunner {
  return new JobRunner({
    store: store.jobs,
    runningMax: settings.jobsMax,
    waitingMax: settings.jobsQueueMax,
    keptMax: settings.jobsKeep,
    log: (entry) => log.job?.(entry),
    onFailure: (error) => log.failure({ requestId: 'job', error }),
    now: Date.now,
  })
}

/** @param deps those of one insert */
export function handleInserts(jobs: JobRunner, deps: () => InsertDeps): void {
  jobs.handle('insert', {
    run: async (work, signal) => {
      return (await LATER.insertJob()).runInsertJob(work, deps(), signal)
    },
  })
}
