/** What a tool is: how models are told of it, who may call it, and what it does. */

import type { Principal, Scope } from '../../core/domain/access/principal.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { McpUses } from './mcp-uses.ts'

export interface Tool {
  readonly name: string
  readonly title: string
  /** For models: when to call it, with what, and what comes back. */
  readonly description: string
  /** Who lacks it does not see the tool. */
  readonly needs: Scope
  readonly inputSchema: ObjectSchema
  readonly outputSchema: ObjectSchema
  readonly annotations: ToolAnnotations
  /** @throws AppError: the model reads its code and message */
  run(sent: Arguments, call: ToolCall): Promise<ToolOutput>
}

export interface ObjectSchema {
  readonly [key: string]: unknown
  readonly type: 'object'
  readonly properties: Readonly<Record<string, object>>
  readonly required?: string[]
  readonly additionalProperties?: boolean
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
  /** Aborted by the client's cancellation, when it goes away and when the server stops. */
  readonly signal: AbortSignal
  /** Links begin with it. */
  readonly origin: string
  /** Tells a client that asked for it how far the call is. */
  progress(message: string): void
}

export interface ToolOutput {
  /** As `outputSchema` says. */
  readonly structured: JsonObject
  /** The same for models; unset: the structure as JSON. */
  readonly text?: string
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

  flag(name: string): boolean | undefined {
    const value = this.#sent[name]
    return typeof value === 'boolean' ? value : undefined
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
