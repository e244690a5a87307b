import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import {
  type ActionsEvent,
  type AnswerEvidence,
  type AnswerFindings,
  type CompletionEvent,
  type DeltaEvent,
  type ErrorEvent,
  FAILURE_TYPES,
  type FailureType,
  type FinishReason,
  type OutputEvent,
  type StartEvent,
  type StepsEvent,
} from '../../core/domain/agents/completion-event.ts'
import type {
  AgentAnswer,
  JsonSchema,
  ResponseFormat,
} from '../../core/domain/ports/model-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { definedFields, isObject } from '../../core/json.ts'
import { uriDecoded } from '../../core/short-text.ts'
import { failureToSend } from '../actors/worker-messages.ts'
import type { AgentEvent } from '../loop/assignment.ts'

export interface CompletionStreamOptions {
  /** Whether to pass on `delta` events, because the client requested them. */
  readonly deltas: boolean
  /** Called for a failure after `start`, which the client receives as an event. */
  readonly onFailure: (failure: AppError, traceId: string) => void
}

/** `start`, then exactly one `end`. Before `start` a failure is thrown, later it is an event. */
export async function* completionStream(
  events: AsyncIterable<CompletionEvent>,
  { deltas, onFailure }: CompletionStreamOptions,
): AsyncGenerator<CompletionEvent, void> {
  let traceId: string | null = null
  try {
    for await (const event of events) {
      const type = 'type' in event ? event.type : null
      if (type === 'end') break
      if ('trace_id' in event) traceId = event.trace_id
      if (deltas || type !== 'delta') yield event
    }
    if (traceId === null) throw new Error('an agent gave no event at all')
  } catch (error) {
    if (traceId === null) throw error
    const failure = toAppError(error)
    onFailure(failure, traceId)
    yield failureEvent(failure, traceId)
  }
  yield { type: 'end' }
}

export function startEvent(question: string, traceId: string, conversationId?: string): StartEvent {
  const start = { type: 'start', prompt: question, trace_id: traceId } as const
  return conversationId === undefined ? start : { ...start, conversation_id: conversationId }
}

type Progress = Extract<AgentEvent, { readonly type: 'action' | 'step' | 'delta' }>

export function progressEvent(
  event: Progress,
  traceId: string,
): ActionsEvent | StepsEvent | DeltaEvent {
  switch (event.type) {
    case 'action': {
      const { action } = event
      return { actions: [action], messages: [{ content: action.log }], trace_id: traceId }
    }
    case 'step': {
      const { step } = event
      return { steps: [step], messages: [{ content: step.observation }], trace_id: traceId }
    }
    case 'delta':
      return { type: 'delta', content: event.content, trace_id: traceId }
  }
}

export interface Answer extends AnswerFindings, AnswerEvidence, Omit<AgentAnswer, 'cost'> {
  /** Set in a stored conversation. */
  readonly conversationId?: string | undefined
  /** How the model's last turn ended; missing if it ended as usual. */
  readonly finish?: FinishReason
  readonly context?: readonly string[]
}

export function outputEvent(answer: ToldAnswer): OutputEvent {
  const { content, traceId, conversationId, citations, warnings } = answer
  const { evidence, low_evidence, statements, charts, result } = answer
  return {
    output: content,
    messages: [{ content }],
    trace_id: traceId,
    ...(conversationId === undefined ? {} : { conversation_id: conversationId }),
    citations,
    evidence,
    ...definedFields({ low_evidence, statements, charts, result }),
    warnings,
  }
}

type ToldAnswer = Omit<Answer, 'usage' | 'finish' | 'seconds' | 'context'>

export function failureEvent(failure: AppError, traceId: string): ErrorEvent {
  const { message: content, code } = failure
  const kind = { error_type: failureType(failure), error_code: code }
  return { type: 'error', content, ...kind, trace_id: traceId }
}

const STATUS_TYPES: Readonly<Record<number, FailureType>> = {
  401: 'authentication',
  403: 'authentication',
  // Payment required: the credit is used up.
  402: 'rate_limit',
  404: 'not_found',
  408: 'timeout',
  429: 'rate_limit',
  504: 'timeout',
}

/** Prefers the provider's status, if known, because it is more specific than the code. */
export function failureType(failure: AppError): FailureType {
  const { code, providerStatus: status } = failureToSend(failure)
  const isRefusal = code === 'provider_refused'
  if (status !== undefined && (isRefusal || code === 'provider_failed')) {
    return STATUS_TYPES[status] ?? (isRefusal ? 'general' : 'connection')
  }
  return FAILURE_TYPES[code] ?? 'general'
}

const FIELD_NAME = 'response_format'

/**
 * Reads a `response_format` as in OpenAI's API: `json_schema`, `json_object`, or `text`, which has
 * no effect. The schema is limited so that checking an answer is fast: in expanded size and
 * patterns, without recursion or external references.
 * @throws AppError `invalid_request`
 */
export function responseFormatOf(value: unknown): ResponseFormat | undefined {
  if (value === undefined || value === null) return undefined
  if (!isObject(value)) throw refused(`${FIELD_NAME} must be an object`)
  switch (value.type) {
    case 'text':
      return undefined
    case 'json_object':
      return { name: 'answer', schema: { type: 'object' } }
    case 'json_schema':
      return schemaFormat(value.json_schema)
    default:
      throw refused(`${FIELD_NAME}.type must be "json_schema", "json_object" or "text"`)
  }
}

function schemaFormat(value: unknown): ResponseFormat {
  const path = `${FIELD_NAME}.json_schema`
  if (!isObject(value) || !isObject(value.schema)) {
    throw refused(`${path} must be an object with "name" and "schema", which is an object`)
  }
  const { name = 'answer', schema } = value
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw refused(`${path}.name must be 1 to 64 letters, digits, _ or -`)
  }
  new SchemaCheck(schema).run()
  return { name, schema }
}

/** Keywords whose value is a schema, a list of schemas, or an object of schemas by name. */
const IN_ONE = new Set([
  'items',
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])
const IN_LIST = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
const IN_NAMED = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
])
/** Keywords that change the meaning of a reference. */
const NOT_ALLOWED = new Set([
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$recursiveAnchor',
  '$recursiveRef',
  '$vocabulary',
])

/** Walks through a schema in the same way as a check of an answer, following references. */
class SchemaCheck {
  readonly #root: JsonSchema
  /** How many schemas each schema expands to; null while being counted. */
  readonly #counts = new Map<object, number | null>()
  #patterns = 0

  constructor(root: JsonSchema) {
    this.#root = root
  }

  run(): void {
    const { schemaBytesMax } = AGENT_LIMITS
    if (Buffer.byteLength(JSON.stringify(this.#root)) > schemaBytesMax) {
      throw refused(`The schema has more than ${schemaBytesMax} bytes`)
    }
    this.#count(this.#root, 0)
  }

  #count(schema: unknown, depth: number): number {
    const { schemaDepthMax, schemaUnfoldedMax } = AGENT_LIMITS
    if (!isObject(schema)) return 1
    if (depth > schemaDepthMax) throw refused(`The schema is deeper than ${schemaDepthMax} levels`)
    const known = this.#counts.get(schema)
    if (known === null) throw refused('The schema is recursive, which is not supported')
    if (known !== undefined) return known
    this.#counts.set(schema, null)
    let count = 1
    for (const [keyword, value] of Object.entries(schema)) {
      if (NOT_ALLOWED.has(keyword)) throw refused(`"${keyword}" is not supported in a schema`)
      if (keyword === 'pattern') this.#pattern(value)
      if (keyword === 'patternProperties' && isObject(value)) {
        for (const pattern of Object.keys(value)) this.#pattern(pattern)
      }
      for (const part of this.#partsOf(keyword, value)) count += this.#count(part, depth + 1)
      if (count > schemaUnfoldedMax) {
        throw refused(`The schema expands to more than ${schemaUnfoldedMax} schemas`)
      }
    }
    this.#counts.set(schema, count)
    return count
  }

  #partsOf(keyword: string, value: unknown): readonly unknown[] {
    if (keyword === '$ref') return [this.#target(value)]
    if (IN_LIST.has(keyword) && Array.isArray(value)) return value
    if (IN_ONE.has(keyword)) return [value]
    return IN_NAMED.has(keyword) && isObject(value) ? Object.values(value) : []
  }

  #target(reference: unknown): unknown {
    if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) {
      const shown = String(reference).slice(0, 100)
      throw refused(
        `"$ref" must refer to a part of the schema itself, such as #/$defs/…; it is "${shown}"`,
      )
    }
    let place: unknown = this.#root
    for (const part of reference.split('/').slice(1)) {
      const key = partName(part)
      if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) {
        throw refused(`"$ref" refers to nothing: ${reference.slice(0, 100)}`)
      }
      place = Reflect.get(place, key)
    }
    return place
  }

  /** Patterns run in an engine without backtracking, so only their size matters. */
  #pattern(pattern: unknown): void {
    const { schemaPatternsMax, patternCharsMax, patternRepeatsMax } = AGENT_LIMITS
    this.#patterns += 1
    if (this.#patterns > schemaPatternsMax) {
      throw refused(`The schema has more than ${schemaPatternsMax} patterns`)
    }
    const text = String(pattern)
    const repeats = [...text.matchAll(/\d+(?=[,}])/g)].reduce((sum, [n]) => sum + Number(n), 0)
    if (text.length > patternCharsMax || repeats > patternRepeatsMax) {
      throw refused(
        `A pattern has at most ${patternCharsMax} characters and repeats ${patternRepeatsMax} times`,
      )
    }
  }
}

/** A part of a JSON Pointer, with URL escapes. */
function partName(part: string): string {
  return uriDecoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
}

function refused(message: string): AppError {
  return new AppError('invalid_request', message)
}
