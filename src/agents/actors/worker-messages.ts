import type { FinishReason, ModelTurn, TokenUsage } from '../../core/domain/agents/agent-run.ts'
import type { Action, Step } from '../../core/domain/agents/completion-event.ts'
import { isModelFeature, type ModelFeature } from '../../core/domain/model-features.ts'
import type { ChatDefaults, ModelRef } from '../../core/domain/model-ref.ts'
import { AppError, ERRORS, type ErrorCode, toAppError } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { AgentEvent, Assignment } from '../loop/assignment.ts'

/** All that a worker needs to know for one question. It can be cloned between threads. */
export interface AgentTask extends Assignment {
  readonly model: ModelRef
  readonly chatDefaults: ChatDefaults
  /** Features that the model's server refuses. */
  readonly refusedFeatures?: readonly ModelFeature[]
}

/** An `AppError` on its way between threads. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  /** The HTTP status from the model's provider, if any. */
  readonly providerStatus?: number
  /** Seconds until the provider wants another request. */
  readonly retryAfterSeconds?: number
  /** For a bug: the thrown error. For the log, never for a client. */
  readonly thrown?: string
}

const THROWN_CHARS_MAX = 4_000

/** Main thread → worker. */
export type ToWorker =
  | { readonly kind: 'ask'; readonly task: AgentTask }
  | { readonly kind: 'tool_result'; readonly id: number; readonly observation: string }
  | {
      readonly kind: 'embed_result'
      readonly id: number
      readonly vectors: readonly Float32Array[]
    }
  | { readonly kind: 'request_failed'; readonly id: number; readonly failure: Failure }
  /** This many events have left the queue: the worker may send as many more. */
  | { readonly kind: 'taken'; readonly count: number }

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
  | { readonly kind: 'event'; readonly event: AgentEvent }
  | WorkerRequest
  /** The server of the model will not do something: every thread should know. */
  | { readonly kind: 'feature_refused'; readonly feature: ModelFeature }
  | { readonly kind: 'failed'; readonly failure: Failure }

/** An unexpected error goes only to the log. */
export function failureToSend(error: unknown): Failure {
  const { code, message, cause, retryAfterSeconds } = toAppError(error)
  const status = providerStatusOf(cause)
  const thrown = code === 'internal' && cause !== undefined ? thrownText(cause) : undefined
  return {
    ...{ code, message },
    ...(status === undefined ? {} : { providerStatus: status }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(thrown === undefined ? {} : { thrown }),
  }
}

function thrownText(cause: unknown): string {
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  return text.slice(0, THROWN_CHARS_MAX)
}

/** The error again, with the provider's status or the thrown error where `failureToSend` looks for it. */
export function errorOf(failure: Failure): AppError {
  const { code, message, providerStatus: status, retryAfterSeconds, thrown } = failure
  const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  if (code === 'internal' && thrown !== undefined) {
    const [said = thrown] = thrown.split('\n', 1)
    const cause = Object.assign(new Error(said), { stack: thrown })
    return new AppError(code, message, { cause, ...wait })
  }
  if (status === undefined) return new AppError(code, message, wait)
  const cause = Object.assign(new Error(message), { status })
  return new AppError(code, message, { cause, ...wait })
}

function providerStatusOf(cause: unknown): number | undefined {
  const status = isObject(cause) ? cause.status : undefined
  return typeof status === 'number' && Number.isInteger(status) ? status : undefined
}

/** A worker may send anything: undefined if it is not a message of `FromWorker`. */
export function parseFromWorker(data: unknown): FromWorker | undefined {
  if (!isObject(data)) return undefined
  const { kind } = data
  return isKeyOf(MESSAGE_PARSERS, kind) ? MESSAGE_PARSERS[kind](data) : undefined
}

/** One for each kind of message: a kind without a parser does not compile. */
const MESSAGE_PARSERS: {
  readonly [K in FromWorker['kind']]: (
    fields: JsonObject,
  ) => Extract<FromWorker, { kind: K }> | undefined
} = {
  event(fields) {
    const event = parseEvent(fields.event)
    return event && { kind: 'event', event }
  },
  failed(fields) {
    const failure = parseFailure(fields.failure)
    return failure && { kind: 'failed', failure }
  },
  feature_refused({ feature }) {
    return isModelFeature(feature) ? { kind: 'feature_refused', feature } : undefined
  },
  tool_call({ id, name, input }) {
    if (typeof id !== 'number' || typeof name !== 'string') return undefined
    return typeof input === 'string' ? { kind: 'tool_call', id, name, input } : undefined
  },
  embed({ id, texts }) {
    if (typeof id !== 'number' || !isTextList(texts)) return undefined
    return { kind: 'embed', id, texts }
  },
}

function parseEvent(value: unknown): AgentEvent | undefined {
  if (!isObject(value)) return undefined
  const { type } = value
  return isKeyOf(EVENT_PARSERS, type) ? EVENT_PARSERS[type](value) : undefined
}

/** One for each type of event: a type without a parser does not compile. */
const EVENT_PARSERS: {
  readonly [T in AgentEvent['type']]: (
    fields: JsonObject,
  ) => Extract<AgentEvent, { type: T }> | undefined
} = {
  start: () => ({ type: 'start' }),
  action(fields) {
    const action = parseAction(fields.action)
    return action && { type: 'action', action }
  },
  step(fields) {
    const step = parseStep(fields.step)
    return step && { type: 'step', step }
  },
  delta: ({ content }) => (typeof content === 'string' ? { type: 'delta', content } : undefined),
  turn({ turn, warnings }) {
    const parsed = parseTurn(turn)
    return parsed && isTextList(warnings) ? { type: 'turn', turn: parsed, warnings } : undefined
  },
  summary({ text, turnCount }) {
    if (typeof text !== 'string' || !isAmount(turnCount)) return undefined
    return { type: 'summary', text, turnCount }
  },
  output: ({ output }) => (typeof output === 'string' ? { type: 'output', output } : undefined),
  end: () => ({ type: 'end' }),
}

function parseAction(value: unknown): Action | undefined {
  if (!isObject(value)) return undefined
  const { tool, tool_input, log } = value
  const isWellMade =
    typeof tool === 'string' && typeof tool_input === 'string' && typeof log === 'string'
  return isWellMade ? { tool, tool_input, log } : undefined
}

function parseStep(value: unknown): Step | undefined {
  if (!isObject(value) || typeof value.observation !== 'string') return undefined
  const action = parseAction(value.action)
  return action && { action, observation: value.observation }
}

const KNOWN_FINISHES: Readonly<Record<FinishReason, true>> = {
  stop: true,
  tool_calls: true,
  length: true,
  filter: true,
  refusal: true,
}

function parseTurn(value: unknown): ModelTurn | undefined {
  if (!isObject(value)) return undefined
  const { startMs, firstPieceMs, tookMs, finish, usage, reasoning, callCount } = value
  const counted = usage === null ? null : parseUsage(usage)
  if (!isAmount(startMs) || !isAmount(tookMs) || !isAmount(callCount)) return undefined
  if (firstPieceMs !== null && !isAmount(firstPieceMs)) return undefined
  if (!isKeyOf(KNOWN_FINISHES, finish) || typeof reasoning !== 'string') return undefined
  if (counted === undefined) return undefined
  return { startMs, firstPieceMs, tookMs, finish, usage: counted, reasoning, callCount }
}

function parseUsage(value: unknown): TokenUsage | undefined {
  if (!isObject(value)) return undefined
  const { inputTokens, outputTokens, cachedTokens } = value
  if (!isAmount(inputTokens) || !isAmount(outputTokens) || !isAmount(cachedTokens)) return undefined
  return { inputTokens, outputTokens, cachedTokens }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function parseFailure(value: unknown): Failure | undefined {
  if (!isObject(value)) return undefined
  const { code, message, thrown } = value
  if (!isKeyOf(ERRORS, code) || typeof message !== 'string') return undefined
  const status = providerStatusOf({ status: value.providerStatus })
  const { retryAfterSeconds } = value
  const isWait = typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0
  return {
    ...{ code, message },
    ...(status === undefined ? {} : { providerStatus: status }),
    ...(isWait ? { retryAfterSeconds } : {}),
    ...(typeof thrown === 'string' ? { thrown: thrown.slice(0, THROWN_CHARS_MAX) } : {}),
  }
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isKeyOf<T extends object>(table: T, value: unknown): value is keyof T {
  return typeof value === 'string' && Object.hasOwn(table, value)
}

/** The text that a message carries, in code units: what its limits are counted in. */
export function messageChars(message: FromWorker): number {
  switch (message.kind) {
    case 'event':
      return eventChars(message.event)
    case 'tool_call':
      return message.name.length + message.input.length
    case 'embed':
      return textsChars(message.texts)
    case 'feature_refused':
      return message.feature.length
    case 'failed':
      return message.failure.message.length + (message.failure.thrown?.length ?? 0)
  }
}

function textsChars(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0)
}

function eventChars(event: AgentEvent): number {
  switch (event.type) {
    case 'start':
    case 'end':
      return 0
    case 'action':
      return actionChars(event.action)
    case 'step':
      return actionChars(event.step.action) + event.step.observation.length
    case 'delta':
      return event.content.length
    case 'turn':
      return event.turn.reasoning.length + textsChars(event.warnings)
    case 'summary':
      return event.text.length
    case 'output':
      return event.output.length
  }
}

function actionChars({ tool, tool_input, log }: Action): number {
  return tool.length + tool_input.length + log.length
}
