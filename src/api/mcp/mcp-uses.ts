import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Asker, Principal } from '../../core/domain/access/principal.ts'
import type { Agent, ConversationTurn } from '../../core/domain/agents/agent.ts'
import type { CompletionEvent } from '../../core/domain/agents/completion-event.ts'
import type { Row } from '../../core/domain/document.ts'
import type { Job } from '../../core/domain/flow/job.ts'
import type { SearchMode } from '../../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { StoredDocument } from '../../core/domain/ports/document-ports.ts'
import type { QueryResult } from '../../core/domain/query-result.ts'

/** What tools, resources and prompts are made of: the use cases that the routes call too. */
export interface McpUses {
  readonly version: string
  snapshot(): CatalogSnapshot
  search(kb: KnowledgeBase, order: SearchOrder, signal: AbortSignal): Promise<SearchAnswer>
  readDocument(kb: KnowledgeBase, id: string, signal: AbortSignal): Promise<DocumentTexts>
  listDocuments(
    kb: KnowledgeBase,
    order: ListOrder,
    signal: AbortSignal,
  ): Promise<{
    readonly items: readonly StoredDocument[]
    readonly next: bigint | null
  }>
  /** How much a knowledge base holds. */
  sizeOf(kb: KnowledgeBase): Promise<{ readonly documents: number; readonly chunks: number }>
  query(
    request: {
      readonly sql: string
      readonly db: string
      readonly params: Readonly<Record<string, unknown>>
    },
    principal: Principal,
    signal: AbortSignal,
  ): Promise<QueryResult>
  ask(question: Question, signal: AbortSignal): AsyncIterable<CompletionEvent>
  /** null: everything is stored. Where that takes too long, it is a job. */
  insert(kb: KnowledgeBase, rows: readonly Row[], signal: AbortSignal): Promise<Job | null>
  /** A failure that is nobody's mistake but ours. */
  logError(error: unknown, signal: AbortSignal): void
}

export interface SearchOrder {
  readonly query: string
  readonly k: number
  readonly explain: false
  readonly neighbours: 0
  readonly isPerDocument: boolean
  readonly mode?: SearchMode
  readonly minRelevance?: number
  readonly filters?: unknown
}

export interface SearchAnswer {
  readonly results: readonly FoundPassage[]
  readonly warnings: readonly string[]
}

export interface FoundPassage {
  readonly id: string
  readonly chunkId: string
  readonly content: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly relevance: number | null
}

export interface DocumentTexts {
  readonly id: string
  readonly metadata: Row
  readonly texts: readonly { readonly column: string; readonly text: string }[]
}

export interface ListOrder {
  readonly limit: number
  readonly afterKey: bigint
  readonly offset: number
  readonly searched?: string
}

export interface Question {
  readonly agent: Agent
  readonly question: string
  readonly history: readonly ConversationTurn[]
  readonly deltas: false
  readonly asker: Asker
  readonly conversationId?: string
}
