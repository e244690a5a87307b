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
import type { Attachment, AttachRequest } from '../../../ingest/pipeline/attach-job.ts'
import type {
  InsertFilesOutcome,
  InsertFilesRequest,
} from '../../../ingest/pipeline/insert-files.ts'
import type { Preview, PreviewRequest } from '../../../ingest/pipeline/preview.ts'
import type { UploadOutcome, UploadRequest } from '../../../ingest/pipeline/upload-files.ts'
import type { InsertOutcome, InsertRequest } from '../../../ingest/sources/insert-request.ts'
import type { DatabaseDeps } from '../../../query/definitions/define-database.ts'
import type { DocumentUses } from '../../../query/documents/document-changes.ts'
import type { MapValues, MapValuesOf } from '../../../query/documents/map-points.ts'
import type { TransferUses } from '../../../query/documents/move-knowledge-base.ts'
import type { QueryRequest } from '../../../query/run/run-query.ts'
import type { SqlFunction } from '../../../query/run/sql-functions.ts'
import type { SearchAnswer, SearchOrder } from '../../../query/search/run-search.ts'
import type { NewView } from '../../../query/select/views.ts'
import type { Authentication, AuthenticationDeps } from '../access/authentication.ts'
import type { RequestDeps, RequestScope, RunningRequests } from './running-requests.ts'

/** What every route can use. */
export interface RouteContext {
  readonly deps: ServerDeps
  readonly authentication: Authentication
  /** Everything with a name, as of the last committed change. */
  readonly snapshot: () => CatalogSnapshot
  /** The same, as the requesting principal sees it. */
  readonly snapshotFor: (request: Request) => CatalogSnapshot
  readonly scopeOf: (request: Request) => RequestScope
  /** Running requests, and the last ones answered. */
  readonly requests: Pick<RunningRequests, 'list' | 'recent' | 'bodyTurn'>
  /** False as soon as the server is stopping. */
  readonly isReady: () => boolean
}

/** The parts of the server. `app.ts` passes the real ones; tests pass fakes. */
export interface ServerDeps extends UseCases, AuthenticationDeps, RequestDeps {
  readonly settings: AuthenticationDeps['settings'] & {
    readonly version: string
    readonly bodyBytesMax: number
    readonly fileBytesMax: number
    /** Whether a read-only key may be part of a statement's address. */
    readonly urlKeys: boolean
    /** Whether the server listens on this machine only. */
    readonly isLoopback: boolean
    /** Metrics are for everyone who reaches the server, though there is a login. */
    readonly metricsOpen: boolean
  }
  readonly serverState: () => ServerState
  readonly usage: (
    knowledgeBases: readonly KnowledgeBase[],
    options: { readonly signal: AbortSignal; readonly isDiskWanted: boolean },
  ) => Promise<readonly KnowledgeBaseUsage[]>
  /** The settings at the server's start. */
  readonly shownSettings: () => readonly ShownSetting[]
  readonly health: () => Promise<HealthChecks>
  /** The counters, as Prometheus reads them. */
  readonly metrics: {
    readonly page: (
      accept: string | null,
    ) => Promise<{ readonly contentType: string; readonly text: string }>
  }
  /** Clients of the Model Context Protocol. */
  readonly mcp: Pick<McpDoor, 'handle'>
  readonly users: Users
  readonly audit: AuditLog
}

/** Uploaded files that become documents of knowledge bases. */
export interface Attachments {
  /** As a job, stored when this resolves. @throws AppError `too_busy` */
  readonly attach: (request: AttachRequest) => Promise<Attachment>
  /** The files attached to this knowledge base whose jobs are known, newest first. */
  readonly of: (kb: KnowledgeBase) => Promise<readonly Attachment[]>
}

/** Maps, and requests about their points. */
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

/** The use cases behind the routes. */
export interface UseCases {
  readonly catalog: DatabaseDeps
  /** The same, limited to one principal, who defines things with it. */
  readonly catalogFor: (principal: Principal) => DatabaseDeps
  readonly indexes: Pick<VectorIndexStates, 'possible'>
  readonly query: (
    request: QueryRequest,
    principal: Principal,
    signal: AbortSignal,
  ) => Promise<QueryResult>
  /** The rows of one SELECT as a Parquet file. */
  readonly exportRows: (
    request: QueryRequest,
    principal: Principal,
    signal: AbortSignal,
  ) => Promise<ExportedRows>
  /** Every function that a statement may call. */
  readonly sqlFunctions: (signal: AbortSignal) => Promise<readonly SqlFunction[]>
  /** Ends the sessions of a logged-out login. */
  readonly dropSessions: (login: string) => void
  readonly search: (
    kb: KnowledgeBase,
    order: SearchOrder,
    signal: AbortSignal,
  ) => Promise<SearchAnswer>
  readonly documents: DocumentUses
  readonly embeddings: Pick<EmbedderRegistry, 'embedder'> & {
    /** Exact for the built-in model. */
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
  /** The same as a job: it is stored when this resolves. */
  readonly insertInBackground: (request: InsertRequest) => Promise<Job>
  /** Starts to re-chunk the stored documents. */
  readonly rechunk: (kb: KnowledgeBase) => Promise<Job>
  readonly attachments: Attachments
  readonly jobs: Jobs
  /** The jobs that a principal may see and change. */
  readonly jobsFor: (principal: Principal) => Jobs
  /** The schedules of projects that a principal may name, their statements as far as it may. */
  readonly schedulesFor: (principal: Principal) => Schedules
  /** The work that a principal may see. */
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
    /** The first event is `start`, the last one the output; a failure is thrown. */
    readonly ask: (
      question: AskedQuestion,
      signal: AbortSignal,
    ) => AsyncIterable<CompletionEvent, Answer>
    readonly complete: (question: AskedQuestion, signal: AbortSignal) => Promise<Answer>
    /** Running and waiting questions, oldest first. */
    readonly runs: () => readonly RunningQuestion[]
    /** @throws AppError `run_not_found` */
    readonly cancelRun: (traceId: string) => void
  }
}
