/** A tool: its description for models, who may call it, and what it does. */

import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Asker, Principal, Scope } from '../../core/domain/access/principal.ts'
import type { Agent, ConversationTurn } from '../../core/domain/agents/agent.ts'
import type { CompletionEvent } from '../../core/domain/agents/completion-event.ts'
import type { Row } from '../../core/domain/document.ts'
import type { Job } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { StoredDocument } from '../../core/domain/ports/document-ports.ts'
import type { QueryResult } from '../../core/domain/query-result.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { DocumentTexts } from '../../query/documents/document-changes.ts'
import type { ListOrder, ListPage } from '../../query/documents/list-documents.ts'
import type { SearchAnswer, SearchOrder } from '../../query/search/run-search.ts'

export interface Tool {
  readonly name: string
  readonly title: string
  /** For models: when to call it, with what, and what it returns. */
  readonly description: string
  /** Who lacks it does not see the tool. */
  readonly needs: Scope
  readonly inputSchema: ObjectSchema
  readonly outputSchema: ObjectSchema
  readonly annotations: ToolAnnotations
  /** @throws AppError: the model sees its code and message */
  run(
    sent: Arguments,
    call: ToolCall,
  ): Promise<{
    /** According to `outputSchema`. */
    readonly structured: JsonObject
    /** The text for models; unset: the structure as JSON. */
    readonly text?: string
  }>
}

export interface ObjectSchema {
  readonly [key: string]: unknown
  readonly type: 'object'
  readonly properties: Readonly<Record<string, object>>
  readonly required?: string[]
  readonly additionalProperties?: boolean
}

/** Exactly these arguments. */
export function takes(required: string[], properties: ObjectSchema['properties']): ObjectSchema {
  const needed = required.length === 0 ? {} : { required }
  return { type: 'object', properties, ...needed, additionalProperties: false }
}

/** The schema of a tool's answer. */
export function answers(required: string[], properties: ObjectSchema['properties']): ObjectSchema {
  return { type: 'object', properties, required }
}

export interface ToolAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/** It changes nothing, and reads nothing but this server. */
export const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** One call of a tool. */
export interface ToolCall {
  readonly uses: McpUses
  readonly principal: Principal
  /** Aborted if the client cancels or disconnects, or the server stops. */
  readonly signal: AbortSignal
  /** The prefix of links. */
  readonly origin: string
  /** Sends progress to a client that requested it. */
  progress(message: string): void
}

/** The arguments of a call, which fit the tool's schema. */
export class Arguments {
  readonly #sent: JsonObject

  constructor(sent: JsonObject) {
    this.#sent = sent
  }

  text(name: string): string {
    return this.optionalText(name) ?? ''
  }

  optionalText(name: string): string | undefined {
    const value = this.#sent[name]
    return typeof value === 'string' ? value : undefined
  }

  number(name: string): number | undefined {
    const value = this.#sent[name]
    return typeof value === 'number' ? value : undefined
  }

  object(name: string): JsonObject | undefined {
    const value = this.#sent[name]
    return isObject(value) ? value : undefined
  }

  objects(name: string): readonly JsonObject[] {
    const value = this.#sent[name]
    return Array.isArray(value) ? value.filter(isObject) : []
  }
}

/** The use cases behind tools, resources and prompts, which the routes also call. */
export interface McpUses {
  readonly version: string
  /** The part of the catalog that the principal may see. */
  snapshot(principal: Principal): CatalogSnapshot
  search(kb: KnowledgeBase, order: SearchOrder, signal: AbortSignal): Promise<SearchAnswer>
  readDocument(kb: KnowledgeBase, id: string, signal: AbortSignal): Promise<DocumentTexts>
  listDocuments(
    kb: KnowledgeBase,
    order: ListOrder,
    signal: AbortSignal,
  ): Promise<ListPage<StoredDocument>>
  /** The size of a knowledge base. */
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
  /** null: everything is stored. If that takes too long, it becomes a job. */
  insert(kb: KnowledgeBase, rows: readonly Row[], signal: AbortSignal): Promise<Job | null>
  /** A failure caused by the server, not by the caller. */
  logError(error: unknown, signal: AbortSignal): void
}

export interface Question {
  readonly agent: Agent
  readonly question: string
  readonly history: readonly ConversationTurn[]
  readonly deltas: false
  readonly asker: Asker
  readonly conversationId?: string
}
