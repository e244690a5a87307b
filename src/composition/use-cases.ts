import { probeAgent } from '../agents/questions/agent-check.ts'
import type { Principal } from '../domain/access/principal.ts'
import { type Rights, rightsOf } from '../domain/access/rights.ts'
import type { ImportFiles } from '../domain/ports/document-ports.ts'
import type { TokenCounter } from '../domain/ports/model-ports.ts'
import type { UseCases } from '../http/route-context.ts'
import type { InsertFilesDeps } from '../ingest/insert-files.ts'
import type { DocumentReader } from '../ingest/readers/document-reader.ts'
import type { UploadDeps } from '../ingest/upload-file.ts'
import type { JobRunner } from '../jobs/job-runner.ts'
import type { QueryDeps } from '../query/query-deps.ts'
import type { QueryRequest } from '../query/run-query.ts'
import { Sessions } from '../query/sessions.ts'
import { UNKNOWN_VARIABLES } from '../query/variables.ts'
import type { Settings } from '../settings.ts'
import type { Store } from '../store/store.ts'
import { attachmentsOf } from './attachment-parts.ts'
import { documentUsesOf, transferUsesOf } from './document-parts.ts'
import { handleEvaluations, handleInserts, handleRechunks } from './job-parts.ts'
import { LATER } from './later.ts'

/** What each route calls, with what that needs. */
export function useCases(
  depsFor: (author: Principal | null, rights: Rights | null) => QueryDeps,
  insertDeps: InsertFilesDeps & UploadDeps,
  {
    settings,
    reader,
    jobs,
    importFiles,
    jobsFor,
    wordPieces,
    jobStore,
  }: {
    readonly settings: Settings
    readonly reader: DocumentReader
    readonly jobs: JobRunner
    readonly importFiles: ImportFiles
    readonly jobsFor: UseCases['jobsFor']
    readonly wordPieces: () => TokenCounter
    readonly jobStore: Store['jobs']
  },
): Omit<
  UseCases,
  'maps' | 'backups' | 'fileBytes' | 'sources' | 'schedules' | 'traces' | 'agents' | 'conversations'
> {
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
  handleRechunks(jobs, () => ({ ...queryDeps, chunker: reader.forRequest() }))
  handleEvaluations(jobs, (rights) => depsFor(null, rights))
  const own = (principal: Principal) => depsFor(principal, rightsOf(principal))
  const viewDeps = (principal: Principal) => {
    return { ...own(principal), variables: UNKNOWN_VARIABLES }
  }
  const inSession = ({ session }: QueryRequest, principal: Principal): QueryDeps => {
    const variables = sessions.variablesOf(session ?? null)
    const access = { ...queryDeps.access, dropSessions }
    return { ...own(principal), access, variables, chunker: reader.forRequest(), insertWaitMs }
  }
  return {
    catalog: queryDeps,
    catalogFor: own,
    jobsFor,
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
    attachments: attachmentsOf(jobs, jobStore),
    jobs,
    activity: () => queryDeps.activity.now(),
    insertFiles: async (request, signal) => {
      return (await LATER.insertFiles()).insertFiles(request, inTurns(), signal)
    },
    preview: async (request, signal) => (await LATER.preview()).preview(request, inTurns(), signal),
    chunkWarnings: async (kb) => (await LATER.chunkWarnings()).chunkWarnings(kb, queryDeps),
    uploadFiles: async (request, signal) => {
      return (await LATER.uploads()).uploadFiles(request, inTurns(), signal)
    },
    dropFile: (file) => queryDeps.files.dropFile(file),
    probeAgent: (agent, signal) => probeAgent(agent, queryDeps.chatModels, signal),
    agentWarnings: (agent) => queryDeps.agents.warningsOf(agent),
  }
}
