import { probeAgent } from '../agents/questions/agent-check.ts'
import type { Attachments, MapUses, UseCases } from '../api/http/request/route-context.ts'
import { requireHere } from '../core/domain/access/catalog-snapshot.ts'
import { type Principal, type Rights, rightsOf } from '../core/domain/access/principal.ts'
import type { ImportFiles } from '../core/domain/ports/document-ports.ts'
import type { TokenCounter } from '../core/domain/ports/model-ports.ts'
import {
  type Attachment,
  attachJobOf,
  type FileToAttach,
  failedPlacesOf,
  isStoredAttach,
  mayBeAttachJob,
} from '../ingest/pipeline/attach-job.ts'
import type { InsertFilesDeps } from '../ingest/pipeline/insert-files.ts'
import type { UploadDeps } from '../ingest/pipeline/upload-files.ts'
import type { DocumentReader } from '../ingest/readers/document-reader.ts'
import type { JobRunner } from '../ops/jobs/job-runner.ts'
import type { DocumentUses } from '../query/documents/document-changes.ts'
import type { TransferUses } from '../query/documents/move-knowledge-base.ts'
import type { QueryRequest } from '../query/run/run-query.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import { Sessions, UNKNOWN_VARIABLES } from '../query/sessions.ts'
import type { ComputedMaps } from '../retrieval/map/computed-maps.ts'
import type { Store } from '../store/store.ts'
import { handleEvaluations, handleInserts, handleRewrites } from './job-parts.ts'
import { LATER } from './later.ts'
import type { Settings } from './settings/settings.ts'

export function useCases(
  depsFor: (author: Principal | null, rights: Rights | null) => QueryDeps,
  insertDeps: InsertFilesDeps & UploadDeps,
  given: {
    readonly settings: Settings
    readonly reader: DocumentReader
    readonly jobs: JobRunner
    readonly importFiles: ImportFiles
    readonly wordPieces: () => TokenCounter
    readonly jobStore: Store['jobs']
  },
): Omit<UseCases, 'maps' | 'backups' | 'fileBytes' | 'traces' | 'agents' | 'conversations'> {
  const { settings, reader, jobs, importFiles, wordPieces, jobStore } = given
  const sessions = new Sessions()
  const queryDeps = depsFor(null, null)
  const dropSessions = (login: string) => sessions.drop(login)
  const insertWaitMs = settings.insertWaitSeconds * 1000
  const inTurns = (): InsertFilesDeps & UploadDeps => {
    const own = reader.forRequest()
    return { ...insertDeps, reader: own, chunker: own }
  }
  const attachDeps = () => ({ ...inTurns(), removal: queryDeps.chunks })
  handleInserts(jobs, attachDeps, (rights) => {
    return { ...depsFor(null, rights), chunker: reader.forRequest() }
  })
  handleRewrites(jobs, () => ({ ...queryDeps, chunker: reader.forRequest() }))
  handleEvaluations(jobs, (rights) => depsFor(null, rights))
  const own = (principal: Principal) => depsFor(principal, rightsOf(principal))
  const viewDeps = (principal: Principal) => {
    return { ...own(principal), variables: UNKNOWN_VARIABLES }
  }
  const inSession = ({ session }: QueryRequest, principal: Principal): QueryDeps => {
    const variables = sessions.variablesOf(session ?? null)
    return { ...own(principal), variables, chunker: reader.forRequest(), insertWaitMs }
  }
  return {
    catalog: queryDeps,
    catalogFor: own,
    jobsFor: (principal) => own(principal).jobs,
    sourcesFor: (principal) => own(principal).keeping,
    schedulesFor: (principal) => own(principal).schedules,
    indexes: queryDeps.indexes,
    query: async (request, principal, signal) => {
      const { runQuery } = await LATER.query()
      return runQuery(request, inSession(request, principal), signal)
    },
    exportRows: async (request, principal, signal) => {
      const { exportRows } = await LATER.query()
      return exportRows(request, inSession(request, principal), signal)
    },
    sqlFunctions: async (signal) => {
      const { listSqlFunctions } = await LATER.sqlFunctions()
      return listSqlFunctions(queryDeps, signal)
    },
    dropSessions,
    search: async (kb, order, signal) => {
      return (await LATER.search()).runSearch(kb, order, queryDeps, signal)
    },
    documents: documentUsesOf(queryDeps, reader),
    embeddings: { embedder: (ref) => queryDeps.embedders.embedder(ref), counter: wordPieces },
    transfers: transferUsesOf(queryDeps, { reader, jobs, importFiles }),
    views: {
      create: async (view, principal, signal) => {
        return (await LATER.views()).createView(view, viewDeps(principal), signal)
      },
      alter: async (view, sql, principal, signal) => {
        const { alterView } = await LATER.views()
        const definition = { sql, database: view.projectName }
        return alterView(view, definition, viewDeps(principal), signal)
      },
    },
    insert: async (request, signal) => {
      const deps = { ...inTurns(), jobs, waitMs: insertWaitMs, now: Date.now }
      return (await LATER.insertJob()).insertWaitedFor(request, deps, signal)
    },
    insertInBackground: async (request) => {
      return jobs.start((await LATER.insertJob()).insertJobOf(request, insertDeps))
    },
    rechunk: async (kb) => (await LATER.rechunkJob()).startRechunk(kb, { jobs }),
    move: async (kb, sent, principal) => {
      return (await LATER.moveJob()).startMove(kb, sent, own(principal))
    },
    attachments: attachmentsOf(jobs, jobStore),
    jobs,
    activityFor: (principal) => own(principal).activity.now(),
    insertFiles: async (request, signal) => {
      return (await LATER.insertFiles()).insertFiles(request, inTurns(), signal)
    },
    preview: async (request, signal) => (await LATER.preview()).preview(request, inTurns(), signal),
    chunkWarnings: async (kb) => (await LATER.preview()).chunkWarnings(kb, queryDeps),
    uploadFiles: async (request, signal) => {
      return (await LATER.uploads()).uploadFiles(request, inTurns(), signal)
    },
    dropFile: (file) => queryDeps.files.dropFile(file),
    probeAgent: (agent, signal) => probeAgent(agent, queryDeps.chatModels, signal),
    agentWarnings: (agent) => queryDeps.agents.warningsOf(agent),
  }
}

interface Known {
  readonly knowledgeBaseId: number
  readonly files: readonly FileToAttach[]
  readonly isBatch: boolean
}

/** Files attached by jobs. A job's request never changes, so each is read only once. */
function attachmentsOf(jobs: JobRunner, store: Store['jobs']): Attachments {
  const known = new Map<number, Known | null>()
  const knownOf = async (id: number): Promise<Known | null> => {
    const found = known.get(id)
    if (found !== undefined) return found
    // A removed job has no request.
    const request = await store.workOf(id).then(
      (work) => work.request,
      () => null,
    )
    const own = isStoredAttach(request) ? request : null
    known.set(id, own)
    return own
  }
  /** Reads all failed rows, because the job itself lists only the first ones. */
  const failedOf = async (id: number): Promise<ReadonlySet<number>> => {
    const { errors, errorCount } = jobs.get(id)
    if (errorCount <= errors.length) return new Set()
    const { checkpoint } = await store.workOf(id)
    return new Set(failedPlacesOf(checkpoint))
  }
  return {
    attach: async (request) => {
      const job = await jobs.start(attachJobOf(request))
      const { files, isBatch } = request
      known.set(job.id, { knowledgeBaseId: request.kb.id, files, isBatch })
      return { job, files, isBatch, failed: new Set() }
    },
    of: async (kb) => {
      const all = jobs.list()
      const ids = new Set(all.map(({ id }) => id))
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
      const found: Attachment[] = []
      for (const job of all) {
        if (!mayBeAttachJob(job)) continue
        const own = await knownOf(job.id)
        if (own?.knowledgeBaseId === kb.id) {
          const { files, isBatch } = own
          const failed = await failedOf(job.id)
          found.push({ job: jobs.get(job.id), files, isBatch, failed })
        }
      }
      return found
    },
  }
}

/** Loaded with the first request about documents. */
function documentUsesOf(queryDeps: QueryDeps, reader: DocumentReader): DocumentUses {
  let loaded: Promise<DocumentUses> | undefined
  const uses = (): Promise<DocumentUses> => {
    loaded ??= LATER.documents().then(({ documentUses }) => {
      return documentUses(() => ({ ...queryDeps, chunker: reader.forRequest() }))
    })
    return loaded
  }
  return {
    list: async (...request) => (await uses()).list(...request),
    chunks: async (...request) => (await uses()).chunks(...request),
    vectors: async (...request) => (await uses()).vectors(...request),
    read: async (...request) => (await uses()).read(...request),
    put: async (...request) => (await uses()).put(...request),
    patch: async (...request) => (await uses()).patch(...request),
    remove: async (...request) => (await uses()).remove(...request),
    removeAll: async (...request) => (await uses()).removeAll(...request),
  }
}

/** Imports and exports knowledge bases as files. Loaded with the first request. */
function transferUsesOf(
  queryDeps: QueryDeps,
  given: {
    readonly reader: DocumentReader
    readonly jobs: JobRunner
    readonly importFiles: ImportFiles
  },
): TransferUses {
  const { reader, jobs, importFiles } = given
  const transferDeps = () => ({ ...queryDeps, reader: reader.forRequest(), importFiles })
  jobs.handle('import', {
    run: async (work, signal) => {
      return (await LATER.transfers()).runImportJob(work, transferDeps(), signal)
    },
  })
  return {
    export: async (kb, signal) => {
      return (await LATER.transfers()).exportKnowledgeBase(kb, queryDeps, signal)
    },
    import: async (request, signal) => {
      return (await LATER.transfers()).importKnowledgeBase(request, transferDeps(), signal)
    },
    importInBackground: async (request) => {
      const draft = await (await LATER.transfers()).importJobOf(request, importFiles)
      return jobs.start(draft).catch(async (error) => {
        await importFiles.remove(draft.request.file)
        throw error
      })
    },
  }
}

/** Maps of knowledge bases. The code is loaded with the first request for one. */

export function mapUsesOf(
  store: Pick<Store, 'vectors' | 'engine' | 'mapFiles' | 'catalog'>,
  queryDeps: QueryDeps,
  onFailure: (error: unknown) => void,
): MapUses & { close(): Promise<void> } {
  let maps: Promise<ComputedMaps> | undefined
  const computed = () => {
    maps ??= LATER.maps().then((module) => {
      return new module.ComputedMaps({
        vectors: store.vectors,
        reader: store.engine,
        files: store.mapFiles,
        snapshot: () => store.catalog.snapshot(),
        workerUrl: new URL('./threads/map-entry.ts', import.meta.url).href,
        nowMs: queryDeps.nowMs,
        onFailure,
      })
    })
    return maps
  }
  return {
    stateOf: async (kb, ...asked) => {
      requireHere(kb)
      return (await computed()).stateOf(kb, ...asked)
    },
    values: async (at, of, signal) => {
      return (await LATER.mapPoints()).mapValues(at, of, queryDeps, signal)
    },
    chunks: async (at, points) => {
      return (await LATER.mapPoints()).chunksOfPoints(at, points, queryDeps)
    },
    close: async () => (await maps)?.close(),
  }
}
