import type { ConversationTurn } from '../domain/agent.ts'
import type { Action, CompletionEvent, Step } from '../domain/completion-event.ts'
import type { ModelRef } from '../domain/model-ref.ts'
import type { ToolSpec } from '../domain/ports.ts'
import { AppError, ERRORS, type ErrorCode, toAppError } from '../errors.ts'

/** Keys and addresses for models that name none of their own. */
export interface ChatDefaults {
  readonly openaiApiKey?: string
  readonly openaiBaseUrl?: string
  readonly anthropicApiKey?: string
  readonly anthropicBaseUrl?: string
}

/** All that a worker needs to know for one question. It can be cloned between threads. */
export interface AgentTask {
  readonly question: string
  readonly history: readonly ConversationTurn[]
  readonly traceId: string
  readonly systemPrompt: string
  readonly tools: readonly ToolSpec[]
  readonly model: ModelRef
  readonly chatDefaults: ChatDefaults
  readonly maxSteps: number
  readonly deltas: boolean
}

/** An `AppError` on its way between threads. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  /** The HTTP status of the model's provider, where it sent one. */
  readonly providerStatus?: number
}

/** Main thread → worker. */
export type ToWorker =
  /** For a spare thread: what the next question will probably need. */
  | { readonly kind: 'prepare'; readonly provider: string }
  | { readonly kind: 'ask'; readonly task: AgentTask }
  | { readonly kind: 'tool_result'; readonly id: number; readonly observation: string }
  | {
      readonly kind: 'embed_result'
      readonly id: number
      readonly vectors: readonly Float32Array[]
    }
  | { readonly kind: 'request_failed'; readonly id: number; readonly failure: Failure }
  /** One more event has left the queue: the worker may send another. */
  | { readonly kind: 'taken' }

/**
 * What counts of an event that a worker sent; `messages` and `trace_id` are made anew on the main
 * thread.
 */
export type ReceivedEvent =
  | { readonly kind: 'start' }
  | { readonly kind: 'actions'; readonly actions: readonly Action[] }
  | { readonly kind: 'steps'; readonly steps: readonly Step[] }
  | { readonly kind: 'delta'; readonly content: string }
  | { readonly kind: 'output'; readonly output: string }
  | { readonly kind: 'end' }

/** A request of a worker, answered with the same `id`. */
export type WorkerRequest =
  | {
      readonly kind: 'tool_call'
      readonly id: number
      readonly name: string
      readonly input: string
    }
  | { readonly kind: 'embed'; readonly id: number; readonly texts: readonly string[] }

/** Worker → main thread. */
export type FromWorker =
  | { readonly kind: 'event'; readonly event: CompletionEvent }
  | WorkerRequest
  | { readonly kind: 'failed'; readonly failure: Failure }

/** The same after a look at it. */
export type ReceivedMessage =
  | { readonly kind: 'event'; readonly event: ReceivedEvent }
  | WorkerRequest
  | { readonly kind: 'failed'; readonly failure: Failure }

/** Shows nothing of an error that was not expected. */
export function failureOf(error: unknown): Failure {
  const { code, message, cause } = toAppError(error)
  const status = providerStatusOf(cause)
  return { code, message, ...(status === undefined ? {} : { providerStatus: status }) }
}

/** The error again, with the provider's status where `failureOf` looks for it. */
export function errorOf({ code, message, providerStatus: status }: Failure): AppError {
  if (status === undefined) return new AppError(code, message)
  return new AppError(code, message, { cause: Object.assign(new Error(message), { status }) })
}

function providerStatusOf(cause: unknown): number | undefined {
  const found = isRecord(cause) ? cause.status : undefined
  return typeof found === 'number' && Number.isInteger(found) ? found : undefined
}

/** A worker may send anything: what is no message of this protocol is undefined. */
export function parseFromWorker(data: unknown): ReceivedMessage | undefined {
  if (!isRecord(data)) return undefined
  const { kind, id } = data
  if (kind === 'event') {
    const event = parseEvent(data.event)
    return event && { kind, event }
  }
  if (kind === 'failed') {
    const failure = parseFailure(data.failure)
    return failure && { kind, failure }
  }
  if (typeof id !== 'number') return undefined
  if (kind === 'tool_call') {
    const { name, input } = data
    const isWellMade = typeof name === 'string' && typeof input === 'string'
    return isWellMade ? { kind, id, name, input } : undefined
  }
  if (kind !== 'embed' || !isTextList(data.texts)) return undefined
  return { kind, id, texts: data.texts }
}

function parseEvent(event: unknown): ReceivedEvent | undefined {
  if (!isRecord(event)) return undefined
  const { type, content, output } = event
  if (type === 'start' || type === 'end') return { kind: type }
  if (type === 'delta' && typeof content === 'string') return { kind: type, content }
  if (type !== undefined) return undefined
  if (typeof output === 'string') return { kind: 'output', output }
  const actions = listOf(event.actions, parseAction)
  if (actions !== undefined) return { kind: 'actions', actions }
  const steps = listOf(event.steps, parseStep)
  return steps && { kind: 'steps', steps }
}

function parseAction(value: unknown): Action | undefined {
  if (!isRecord(value)) return undefined
  const { tool, tool_input, log } = value
  const isWellMade =
    typeof tool === 'string' && typeof tool_input === 'string' && typeof log === 'string'
  return isWellMade ? { tool, tool_input, log } : undefined
}

function parseStep(value: unknown): Step | undefined {
  if (!isRecord(value) || typeof value.observation !== 'string') return undefined
  const action = parseAction(value.action)
  return action && { action, observation: value.observation }
}

function parseFailure(value: unknown): Failure | undefined {
  if (!isRecord(value)) return undefined
  const { code, message } = value
  if (!isErrorCode(code) || typeof message !== 'string') return undefined
  const status = providerStatusOf({ status: value.providerStatus })
  return { code, message, ...(status === undefined ? {} : { providerStatus: status }) }
}

function listOf<T>(
  value: unknown,
  parse: (item: unknown) => T | undefined,
): readonly T[] | undefined {
  if (!Array.isArray(value)) return undefined
  const items = value.map(parse).filter((item) => item !== undefined)
  return items.length === value.length ? items : undefined
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERRORS, value)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** The text that a message carries, in code units: what its limits are counted in. */
export function messageChars(message: ReceivedMessage): number {
  switch (message.kind) {
    case 'event':
      return eventChars(message.event)
    case 'tool_call':
      return message.name.length + message.input.length
    case 'embed':
      return charsOf(message.texts)
    case 'failed':
      return message.failure.message.length
  }
}

function eventChars(event: ReceivedEvent): number {
  switch (event.kind) {
    case 'start':
    case 'end':
      return 0
    case 'delta':
      return event.content.length
    case 'output':
      return event.output.length
    case 'actions':
      return charsOf(event.actions.flatMap(actionTexts))
    case 'steps':
      return charsOf(event.steps.flatMap((step) => [...actionTexts(step.action), step.observation]))
  }
}

function actionTexts({ tool, tool_input, log }: Action): readonly string[] {
  return [tool, tool_input, log]
}

function charsOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0)
}
