import type { FinishReason, TokenUsage } from '../../core/domain/agents/agent-run.ts'
import {
  type ActionsEvent,
  type AnswerEvidence,
  type AnswerFindings,
  type Citation,
  type CompletionEvent,
  type DeltaEvent,
  type ErrorEvent,
  FAILURE_TYPES,
  type FailureType,
  type OutputEvent,
  type StartEvent,
  type StepsEvent,
} from '../../core/domain/agents/completion-event.ts'
import { type AppError, toAppError } from '../../core/errors.ts'
import { failureToSend } from '../actors/worker-messages.ts'
import type { AgentEvent } from '../loop/assignment.ts'

export interface CompletionStreamOptions {
  /** `delta` events are passed on only to a client that asked for them. */
  readonly deltas: boolean
  /** Called with a failure after `start`, which the client receives as an event. */
  readonly onFailure: (failure: AppError, traceId: string) => void
}

/**
 * The events of one question as its client receives them: `start` first, `end` last, exactly once in every case. A failure
 * after `start` becomes one `error` event; a failure before it is thrown, because nothing was sent yet.
 */
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

/** The events between the start and the answer. `messages` repeats the text of the event. */
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

/** The answer to one question. */
export interface Answer extends AnswerFindings, AnswerEvidence {
  readonly content: string
  readonly traceId: string
  /** For a stored conversation. */
  readonly conversationId?: string | undefined
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
  /** For all model turns; null: not reported by the provider. */
  readonly usage: TokenUsage | null
  /** How the model's last turn ended; missing: normally. */
  readonly finish?: FinishReason
  /** From its start in a place to the answer. */
  readonly seconds: number
  /** The texts that the model was shown, for an agent with `return_context`. */
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
    ...(low_evidence === undefined ? {} : { low_evidence }),
    ...(statements === undefined ? {} : { statements }),
    ...(charts === undefined ? {} : { charts }),
    ...(result === undefined ? {} : { result }),
    warnings,
  }
}

type ToldAnswer = Pick<
  Answer,
  | 'content'
  | 'traceId'
  | 'conversationId'
  | 'citations'
  | 'warnings'
  | keyof AnswerFindings
  | keyof AnswerEvidence
>

export function failureEvent(failure: AppError, traceId: string): ErrorEvent {
  const { message: content, code } = failure
  const kind = { error_type: failureType(failure), error_code: code }
  return { type: 'error', content, ...kind, trace_id: traceId }
}

const STATUS_TYPES: Readonly<Record<number, FailureType>> = {
  401: 'authentication',
  403: 'authentication',
  // The credit is used up.
  402: 'rate_limit',
  404: 'not_found',
  408: 'timeout',
  429: 'rate_limit',
  504: 'timeout',
}

/** The provider's status, if known, says more than the code. */
export function failureType(failure: AppError): FailureType {
  const { code, providerStatus: status } = failureToSend(failure)
  const isRefusal = code === 'provider_refused'
  if (status !== undefined && (isRefusal || code === 'provider_failed')) {
    return STATUS_TYPES[status] ?? (isRefusal ? 'general' : 'connection')
  }
  return FAILURE_TYPES[code] ?? 'general'
}
