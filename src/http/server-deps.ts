import type { AgentQuestion } from '../agents/agent-pool.ts'
import type { Answer } from '../agents/completion-stream.ts'
import type { CatalogDeps } from '../catalog/catalog-deps.ts'
import type { CompletionEvent } from '../domain/completion-event.ts'
import type { Row } from '../domain/document.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { ExportedRows, VectorIndexStates } from '../domain/ports.ts'
import type { View } from '../domain/project.ts'
import type { QueryResult } from '../domain/query-result.ts'
import type { UploadedFile } from '../domain/uploaded-file.ts'
import type { QueryRequest } from '../query/run-query.ts'
import type { SearchAnswer, SearchOrder } from '../query/search/run-search.ts'
import type { NewView } from '../query/views.ts'
import type { LogEntry, LoggedError } from './request-scope.ts'

/**
 * Everything the HTTP edge calls. `app.ts` binds the use cases to their own dependencies; tests
 * pass fakes.
 */
export interface ServerDeps {
  readonly settings: ServerSettings
  readonly catalog: CatalogDeps
  readonly indexes: Pick<VectorIndexStates, 'possible'>
  readonly query: (request: QueryRequest, signal: AbortSignal) => Promise<QueryResult>
  /** The rows of one SELECT as a Parquet file. */
  readonly exportRows: (request: QueryRequest, signal: AbortSignal) => Promise<ExportedRows>
  readonly search: (
    kb: KnowledgeBase,
    order: SearchOrder,
    signal: AbortSignal,
  ) => Promise<SearchAnswer>
  readonly views: ViewDesk
  readonly insert: (
    kb: KnowledgeBase,
    request: InsertFields,
    signal: AbortSignal,
  ) => Promise<unknown>
  readonly uploadFile: (file: SentFile, signal: AbortSignal) => Promise<UploadedFile>
  readonly dropFile: (file: UploadedFile) => Promise<void>
  readonly agents: AgentDesk
  readonly revokedTokens: RevokedTokens
  /**
   * At least 32 random bytes that outlive the process: tokens are signed with a key derived from
   * them.
   */
  readonly signingKey: Uint8Array
  readonly log: (entry: LogEntry) => void
  readonly logError: (error: LoggedError) => void
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** A new UUID. */
  readonly newId: () => string
  /** Resolves after that time, or at once when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface ServerSettings {
  readonly version: string
  /** The login is on when both are set. */
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly tokenTtlSeconds: number
  readonly bodyBytesMax: number
  /**
   * True where only this machine can reach the server: a web page elsewhere must then not get in
   * by a name of its own.
   */
  readonly isLoopback: boolean
}

/** The sources of one insert, checked for their form; at least one is there. */
export interface InsertFields {
  readonly rows?: readonly Row[]
  /** One SELECT. */
  readonly query?: string
  /** Names of uploaded files. */
  readonly files?: readonly string[]
  readonly urls?: readonly string[]
  /** Most pages to crawl. */
  readonly limit?: number
  readonly crawlDepth?: number
  /** Regular expressions over addresses, or the domains to stay in. */
  readonly filters?: readonly string[] | { readonly allowedDomains: readonly string[] }
}

export interface SentFile {
  readonly name: string
  readonly originalName: string
  readonly bytes: Uint8Array
}

export interface ViewDesk {
  readonly create: (view: NewView, signal: AbortSignal) => Promise<View>
  readonly alter: (view: View, sql: string, signal: AbortSignal) => Promise<View>
}

export interface AgentDesk {
  /** The first event is `start`, the last one the output; a failure is thrown. */
  readonly ask: (question: AgentQuestion, signal: AbortSignal) => AsyncIterable<CompletionEvent>
  readonly complete: (question: AgentQuestion, signal: AbortSignal) => Promise<Answer>
}

/** Tokens that were logged out before their time. They outlive the process. */
export interface RevokedTokens {
  /** @param expiresMs when the token would have expired; after that it need not be remembered */
  revoke(tokenId: string, expiresMs: number): Promise<void>
  isRevoked(tokenId: string): boolean
}
