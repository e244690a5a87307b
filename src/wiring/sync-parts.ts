import type { LoggedError } from '../api/http/request/running-requests.ts'
import type { UploadDeps } from '../ingest/pipeline/upload-files.ts'
import type { DocumentReader } from '../ingest/readers/document-reader.ts'
import type { InsertDeps } from '../ingest/sources/insert-request.ts'
import { SourceKeeper, WATCHING } from '../ingest/sync/source-keeper.ts'
import type { JobRunner } from '../ops/jobs/job-runner.ts'
import type { Store } from '../store/store.ts'
import { LATER } from './later.ts'
import type { Settings } from './settings/settings.ts'

interface SyncParts {
  readonly settings: Settings
  readonly store: Store
  readonly log: { readonly failure: (error: LoggedError) => void }
  readonly jobs: JobRunner
  readonly reader: DocumentReader
  readonly insertDeps: () => InsertDeps & UploadDeps
}

/** Keeps knowledge bases in step from `start` on. */
export function sourceKeeperOf(parts: SyncParts): SourceKeeper {
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
