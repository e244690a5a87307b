import type { AgentProbe } from '../../../agents/questions/agent-check.ts'
import type { Answer } from '../../../agents/questions/completion-stream.ts'
import type { AskedQuestion } from '../../../agents/questions/conversations.ts'
import type { LiveTurns } from '../../../agents/questions/live-turns.ts'
import type { RunningQuestion } from '../../../agents/questions/running-questions.ts'
import type { CatalogSnapshot } from '../../../core/domain/access/catalog-snapshot.ts'
import type { Asker, Principal } from '../../../core/domain/access/principal.ts'
import type { Agent } from '../../../core/domain/agents/agent.ts'
import type { CompletionEvent } from '../../../core/domain/agents/completion-event.ts'
import type { Activity, Job } from '../../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import type { View } from '../../../core/domain/names.ts'
import type { AuditLog, Users } from '../../../core/domain/ports/access-ports.ts'
import type { TraceStore } from '../../../core/domain/ports/conversation-ports.ts'
import type { StoredChunk } from '../../../core/domain/ports/document-ports.ts'
import type { ExportedRows } from '../../../core/domain/ports/engine-ports.ts'
import type { McpDoor } from '../../../core/domain/ports/foreign-tool-ports.ts'
import type { Jobs, Schedules, SourceKeeping } from '../../../core/domain/ports/job-ports.ts'
import type { EmbedderRegistry, TokenCounter } from '../../../core/domain/ports/model-ports.ts'
import type {
  ChunkMap,
  ChunkMaps,
  VectorIndexStates,
} from '../../../core/domain/ports/search-ports.ts'
import type { BackupStore, FileBytes } from '../../../core/domain/ports/store-ports.ts'
import type { QueryResult } from '../../../core/domain/query-result.ts'
import type {
  HealthChecks,
  KnowledgeBaseUsage,
  ServerState,
  ShownSetting,
} from '../../../core/domain/server-state.ts'
import type { UploadedFile } from '../../../core/domain/uploaded-file.ts'
import type { AppError } from '../../../core/errors.ts'
import type { Attachment, AttachRequest } from '../../../ingest/pipeline/attach-job.ts'
import type {
  InsertFilesOutcome,
  InsertFilesRequest,
} from '../../../ingest/pipeline/insert-files.ts'
import type { Preview, PreviewRequest } from '../../../ingest/pipeline/preview.ts'
import type { UploadOutcome, UploadRequest } from '../../../ingest/pipeline/upload-files.ts'
import type { InsertOutcome, InsertRequest } from '../../../ingest/sources/insert-request.ts'
import type { DatabaseDeps } from '../../../query/definitions/define-database.ts'
import type { Fields } from '../../../query/definitions/fields.ts'
import type { DocumentUses } from '../../../query/documents/document-changes.ts'
import type { MapValues, MapValuesOf } from '../../../query/documents/map-points.ts'
import type { TransferUses } from '../../../query/documents/move-knowledge-base.ts'
import type { QueryRequest } from '../../../query/run/run-query.ts'
import type { SqlFunction } from '../../../query/run/sql-functions.ts'
import type { SearchAnswer, SearchOrder } from '../../../query/search/run-search.ts'
import type { NewView } from '../../../query/select/views.ts'
import type { Authentication, AuthenticationDeps } from '../access/authentication.ts'
import type { RequestDeps, RequestScope, RunningRequests } from './running-requests.ts'

export interface RouteContext {
  readonly deps: ServerDeps
  readonly authentication: Authentication
  /** All named definitions, as of the last committed change. */
  readonly snapshot: () => CatalogSnapshot
  readonly snapshotFor: (request: Request) => CatalogSnapshot
  readonly scopeOf: (request: Request) => RequestScope
  /** The running requests, and the most recent finished ones. */
  readonly requests: Pick<RunningRequests, 'list' | 'seenBy' | 'recent' | 'bodyTurn'>
  /** False once the server is stopping. */
  readonly isReady: () => boolean
}

/** Logs a failure that is reported within a stream. */
export function failureLog({ deps }: RouteContext, scope: RequestScope) {
  return (failure: AppError, traceId: string) => {
    scope.failure = failure.code
    deps.logError({ requestId: scope.id, traceId, error: failure.cause ?? failure })
  }
}

/** The parts of the server. `app.ts` passes the real ones; tests pass fakes. */
export interface ServerDeps extends UseCases, AuthenticationDeps, RequestDeps {
  readonly settings: AuthenticationDeps['settings'] & {
    readonly version: string
    readonly bodyBytesMax: number
    readonly fileBytesMax: number
    /** Whether a read-only key may be part of the URL of a query. */
    readonly urlKeys: boolean
    /** Whether the server listens on loopback only. */
    readonly isLoopback: boolean
    /** Whether metrics are public even if login is on. */
    readonly metricsOpen: boolean
  }
  readonly serverState: () => ServerState
  readonly usage: (
    knowledgeBases: readonly KnowledgeBase[],
    options: { readonly signal: AbortSignal; readonly isDiskWanted: boolean },
  ) => Promise<readonly KnowledgeBaseUsage[]>
  readonly shownSettings: () => readonly ShownSetting[]
  readonly health: () => Promise<HealthChecks>
  readonly metrics: {
    readonly page: (
      accept: string | null,
    ) => Promise<{ readonly contentType: string; readonly text: string }>
  }
  /** The endpoint for MCP clients. */
  readonly mcp: Pick<McpDoor, 'handle'>
  readonly users: Users
  readonly audit: AuditLog
}

export interface Attachments {
  /** Attaches files in a job, which is stored when this resolves. @throws AppError `too_busy` */
  readonly attach: (request: AttachRequest) => Promise<Attachment>
  /** The files attached to this knowledge base by jobs that still exist, newest first. */
  readonly of: (kb: KnowledgeBase) => Promise<readonly Attachment[]>
}

/** Maps of knowledge bases, and queries about their points. */
export interface MapUses extends ChunkMaps {
  readonly values: (
    at: { readonly kb: KnowledgeBase; readonly map: ChunkMap },
    of: MapValuesOf,
    signal: AbortSignal,
  ) => Promise<MapValues>
  readonly chunks: (
    at: { readonly kb: KnowledgeBase; readonly map: ChunkMap },
    points: readonly number[],
  ) => Promise<readonly (StoredChunk | null)[]>
}

export interface UseCases {
  readonly catalog: DatabaseDeps
  /** The same for one principal, who counts as the author of new definitions. */
  readonly catalogFor: (principal: Principal) => DatabaseDeps
  readonly indexes: Pick<VectorIndexStates, 'possible'>
  readonly query: (
    request: QueryRequest,
    principal: Principal,
    signal: AbortSignal,
  ) => Promise<QueryResult>
  /** Returns the rows of one SELECT as a Parquet file. */
  readonly exportRows: (
    request: QueryRequest,
    principal: Principal,
    signal: AbortSignal,
  ) => Promise<ExportedRows>
  /** All functions that a statement may call. */
  readonly sqlFunctions: (signal: AbortSignal) => Promise<readonly SqlFunction[]>
  /** Ends the SQL sessions of a login when its user signs out. */
  readonly dropSessions: (login: string) => void
  readonly search: (
    kb: KnowledgeBase,
    order: SearchOrder,
    signal: AbortSignal,
  ) => Promise<SearchAnswer>
  readonly documents: DocumentUses
  readonly embeddings: Pick<EmbedderRegistry, 'embedder'> & {
    /** Counts exactly for the built-in model. */
    readonly counter: () => TokenCounter
  }
  readonly maps: MapUses
  readonly transfers: TransferUses
  readonly views: {
    readonly create: (view: NewView, principal: Principal, signal: AbortSignal) => Promise<View>
    readonly alter: (
      view: View,
      sql: string,
      principal: Principal,
      signal: AbortSignal,
    ) => Promise<View>
  }
  readonly insert: (request: InsertRequest, signal: AbortSignal) => Promise<InsertOutcome>
  /** Inserts in a job, which is stored when this resolves. */
  readonly insertInBackground: (request: InsertRequest) => Promise<Job>
  /** Starts re-chunking the stored documents. */
  readonly rechunk: (kb: KnowledgeBase) => Promise<Job>
  /** @returns null if it is already stored there */
  readonly move: (kb: KnowledgeBase, sent: Fields, by: Principal) => Promise<Job | null>
  readonly attachments: Attachments
  readonly jobs: Jobs
  /** The jobs a principal may see and change. */
  readonly jobsFor: (principal: Principal) => Jobs
  /** The schedules in a principal's projects, with only the statements it may see. */
  readonly schedulesFor: (principal: Principal) => Schedules
  /** The running work a principal may see. */
  readonly activityFor: (principal: Principal) => Activity
  readonly sourcesFor: (principal: Principal) => SourceKeeping
  readonly traces: TraceStore
  readonly probeAgent: (agent: Pick<Agent, 'model'>, signal: AbortSignal) => Promise<AgentProbe>
  readonly agentWarnings: (agent: Agent) => readonly string[]
  readonly insertFiles: (
    request: InsertFilesRequest,
    signal: AbortSignal,
  ) => Promise<InsertFilesOutcome>
  readonly preview: (request: PreviewRequest, signal: AbortSignal) => Promise<Preview>
  /** Warnings about the stored chunks. */
  readonly chunkWarnings: (kb: KnowledgeBase) => Promise<readonly string[]>
  readonly uploadFiles: (request: UploadRequest, signal: AbortSignal) => Promise<UploadOutcome>
  readonly fileBytes: FileBytes
  readonly backups: BackupStore
  readonly conversations: Pick<LiveTurns, 'list' | 'get' | 'watch'> & {
    readonly remove: (agent: Agent, conversationId: string, asker: Asker) => Promise<void>
    readonly removeFrom: (
      agent: Agent,
      conversationId: string,
      traceId: string,
      asker: Asker,
    ) => Promise<void>
  }
  readonly dropFile: (file: UploadedFile) => Promise<void>
  readonly agents: {
    /** The first event is `start`, the last one the output. A failure is thrown. */
    readonly ask: (
      question: AskedQuestion,
      signal: AbortSignal,
    ) => AsyncIterable<CompletionEvent, Answer>
    readonly complete: (question: AskedQuestion, signal: AbortSignal) => Promise<Answer>
    readonly runs: () => readonly RunningQuestion[]
    /** @throws AppError `run_not_found` */
    readonly cancelRun: (traceId: string) => void
  }
}
