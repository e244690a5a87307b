import type { FinishReason } from '../../core/domain/agents/completion-event.ts'
import { type Action, EVIDENCE_LEVELS } from '../../core/domain/agents/completion-event.ts'
import type { ChatDefaults, ModelRef } from '../../core/domain/model-ref.ts'
import { isModelFeature, type ModelFeature } from '../../core/domain/model-ref.ts'
import { AppError, ERRORS, type ErrorCode, toAppError } from '../../core/errors.ts'
import { definedFields, isObject } from '../../core/json.ts'
import type { AgentEvent, Assignment } from '../loop/assignment.ts'

/** Everything a worker needs for one question. Can be cloned between threads. */
export interface AgentTask extends Assignment {
  readonly model: ModelRef
  readonly chatDefaults: ChatDefaults
  /** Features that the model's server refuses. */
  readonly refusedFeatures?: readonly ModelFeature[]
}

interface Failure {
  readonly code: ErrorCode
  readonly message: string
  /** The HTTP status from the model provider, if any. */
  readonly providerStatus?: number
  /** In how many seconds the provider accepts another request. */
  readonly retryAfterSeconds?: number
  readonly thrown?: string
}

const THROWN_CHARS_MAX = 4_000

export type ToWorker =
  | { readonly kind: 'ask'; readonly task: AgentTask }
  | { readonly kind: 'tool_result'; readonly id: number; readonly observation: string }
  | {
      readonly kind: 'embed_result'
      readonly id: number
      readonly vectors: readonly Float32Array[]
    }
  | { readonly kind: 'request_failed'; readonly id: number; readonly failure: Failure }
  /** How many events were read, so that the worker may send as many more. */
  | { readonly kind: 'taken'; readonly count: number }

/** A worker's request; the answer has the same `id`. */
export type WorkerRequest =
  | {
      readonly kind: 'tool_call'
      readonly id: number
      readonly name: string
      readonly input: string
    }
  | { readonly kind: 'embed'; readonly id: number; readonly texts: readonly string[] }

export type FromWorker =
  | { readonly kind: 'event'; readonly event: AgentEvent }
  | WorkerRequest
  /** The model's server refused a feature, which other threads should not try again. */
  | { readonly kind: 'feature_refused'; readonly feature: ModelFeature }
  | { readonly kind: 'failed'; readonly failure: Failure }

/** Serializes an unexpected error, which is only logged. */
export function failureToSend(error: unknown): Failure {
  const { code, message, cause, retryAfterSeconds } = toAppError(error)
  const status = providerStatusOf(cause)
  const thrown = code === 'internal' && cause !== undefined ? thrownText(cause) : undefined
  return {
    ...{ code, message },
    ...(status === undefined ? {} : { providerStatus: status }),
    ...definedFields({ retryAfterSeconds, thrown }),
  }
}

function thrownText(cause: unknown): string {
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  return text.slice(0, THROWN_CHARS_MAX)
}

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

/** Validates a worker's message, which may be anything; undefined if it is invalid. */
export function parseFromWorker(data: unknown): FromWorker | undefined {
  const kind = isObject(data) ? data.kind : undefined
  const isKnown = isKeyOf(MESSAGES, kind) && fits(data, MESSAGES[kind])
  // The value has been checked against the form of its kind.
  return isKnown ? (data as FromWorker) : undefined
}

/** Describes valid values: a check, one form for all items, or a form for each property. */
type Form = ((value: unknown) => boolean) | readonly [Form] | { readonly [member: string]: Form }

function fits(value: unknown, form: Form): boolean {
  if (typeof form === 'function') return form(value)
  if (isList(form)) return Array.isArray(value) && value.every((item) => fits(item, form[0]))
  return isObject(value) && Object.entries(form).every(([key, part]) => fits(value[key], part))
}

const isList = (form: Form): form is readonly [Form] => Array.isArray(form)
const text = (value: unknown) => typeof value === 'string'
const amount = (value: unknown) => {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
const maybe = (form: Form) => (value: unknown) => value === undefined || fits(value, form)
const orNull = (form: Form) => (value: unknown) => value === null || fits(value, form)
const oneOf = (names: readonly string[]) => (value: unknown) => names.some((one) => one === value)

const ACTION = { tool: text, tool_input: text, log: text }
const FINISHES: readonly FinishReason[] = ['stop', 'tool_calls', 'length', 'filter', 'refusal']
const TURN = {
  ...{ startMs: amount, firstPieceMs: orNull(amount), tookMs: amount, callCount: amount },
  ...{ finish: oneOf(FINISHES), reasoning: text },
  usage: orNull({ inputTokens: amount, outputTokens: amount, cachedTokens: amount }),
}

/** A missing event type would be a compile error. */
const EVENTS: Readonly<Record<AgentEvent['type'], Form>> = {
  start: {},
  action: { action: ACTION },
  step: { step: { action: ACTION, observation: text } },
  delta: { content: text },
  turn: { turn: TURN, warnings: [text] },
  summary: { text, turnCount: amount },
  output: {
    output: text,
    judged: maybe({ evidence: oneOf(EVIDENCE_LEVELS), further: maybe(text) }),
  },
  end: {},
}

const FAILURE = {
  ...{ code: (value: unknown) => isKeyOf(ERRORS, value), message: text, thrown: maybe(text) },
  ...{ providerStatus: maybe(Number.isInteger), retryAfterSeconds: maybe(amount) },
}

const MESSAGES: Readonly<Record<FromWorker['kind'], Form>> = {
  event: {
    event: (value: unknown) => {
      return isObject(value) && isKeyOf(EVENTS, value.type) && fits(value, EVENTS[value.type])
    },
  },
  failed: { failure: FAILURE },
  feature_refused: { feature: isModelFeature },
  tool_call: { id: (value: unknown) => typeof value === 'number', name: text, input: text },
  embed: { id: (value: unknown) => typeof value === 'number', texts: [text] },
}

function isKeyOf<T extends object>(table: T, value: unknown): value is keyof T {
  return typeof value === 'string' && Object.hasOwn(table, value)
}

/** The length of all text in a message, in code units, for the limits. */
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
      return event.output.length + (event.judged?.further?.length ?? 0)
  }
}

function actionChars({ tool, tool_input, log }: Action): number {
  return tool.length + tool_input.length + log.length
}

export type ToThread =
  /** Prepares a spare thread for its first question. */
  | { readonly kind: 'prepare'; readonly provider: string }
  /** Checks whether the thread responds. */
  | { readonly kind: 'ping' }
  | { readonly kind: 'run'; readonly run: number; readonly message: ToWorker }
  /** The client has disconnected, so the question is aborted. */
  | { readonly kind: 'drop'; readonly run: number }

export type FromThread =
  | { readonly kind: 'pong'; readonly heapBytes: number }
  /** The question's listener validates the message as `FromWorker`. */
  | { readonly kind: 'run'; readonly run: number; readonly message: unknown }
  /** All work for this question has ended. */
  | { readonly kind: 'done'; readonly run: number }

/** Validates a thread's message, which may be anything; undefined if it is invalid. */
export function parseFromThread(data: unknown): FromThread | undefined {
  if (!isObject(data)) return undefined
  const { kind, run, heapBytes, message } = data
  if (kind === 'pong') return typeof heapBytes === 'number' ? { kind, heapBytes } : undefined
  if (typeof run !== 'number') return undefined
  if (kind === 'done') return { kind, run }
  return kind === 'run' && 'message' in data ? { kind, run, message } : undefined
}
