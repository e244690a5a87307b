/** A tool: its description for models, who may call it, and its implementation. */

import type { Principal, Scope } from '../../core/domain/access/principal.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ServerDeps } from '../http/request/route-context.ts'

export interface Tool {
  readonly name: string
  readonly title: string
  /** Tells models when to call the tool, with which arguments, and what it returns. */
  readonly description: string
  /** The required scope; the tool is hidden from principals without it. */
  readonly needs: Scope
  readonly inputSchema: ObjectSchema
  readonly outputSchema: ObjectSchema
  readonly annotations: ToolAnnotations
  /** @throws AppError whose code and message are shown to the model */
  run(
    sent: Arguments,
    call: ToolCall,
  ): Promise<{
    /** Matches `outputSchema`. */
    readonly structured: JsonObject
    /** The text for models; if unset, the structured result as JSON. */
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

export function takes(required: string[], properties: ObjectSchema['properties']): ObjectSchema {
  const needed = required.length === 0 ? {} : { required }
  return { type: 'object', properties, ...needed, additionalProperties: false }
}

export function answers(required: string[], properties: ObjectSchema['properties']): ObjectSchema {
  return { type: 'object', properties, required }
}

type Hint = 'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint'
type ToolAnnotations = Readonly<Record<Hint, boolean>>

/** The tool changes nothing and uses only this server. */
export const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

export interface ToolCall {
  readonly uses: McpUses
  readonly principal: Principal
  /** Aborted when the client cancels or disconnects, or when the server stops. */
  readonly signal: AbortSignal
  /** The start of links to this server. */
  readonly origin: string
  /** Sends progress to a client that requested it. */
  progress(message: string): void
}

/** The arguments of a call, already checked against the tool's schema. */
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

/** The use cases for tools, resources and prompts: those of the HTTP routes, and a few more. */
export interface McpUses
  extends Pick<ServerDeps, 'catalogFor' | 'search' | 'documents' | 'query' | 'agents' | 'insert'> {
  readonly version: string
  /** How many documents and chunks a knowledge base has. */
  sizeOf(kb: KnowledgeBase): Promise<{ readonly documents: number; readonly chunks: number }>
  /** Logs a failure of the server; failures caused by the caller are not logged. */
  logError(error: unknown, signal: AbortSignal): void
}
