/** Answers as `/v1/chat/completions` gives them, whole and in chunks. */
import type { Answer } from '../../../agents/questions/completion-stream.ts'
import type { FinishReason, TokenUsage } from '../../../core/domain/agents/agent-run.ts'
import type { Step } from '../../../core/domain/agents/completion-event.ts'
import { type AppError, toAppError } from '../../../core/errors.ts'
import { openAiError } from '../request/error-response.ts'
import { citedPlaces, type Piece, urlCitation } from './answer-pieces.ts'
import type { ChatAsked } from './chat-request.ts'

export interface ChatTerms extends Pick<ChatAsked, 'asCall' | 'withUsage' | 'withSteps'> {
  /** As the client named it. */
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
  /** The server's address as the client knows it. */
  readonly origin: string
}

export async function wholeCompletion(pieces: AsyncIterable<Piece>, terms: ChatTerms) {
  const thoughts: string[] = []
  for await (const piece of pieces) {
    if (piece.kind === 'thought') thoughts.push(piece.text)
    if (piece.kind === 'end') return completionOf(piece, thoughts.join(''), terms)
  }
  throw new Error('an agent gave no answer')
}

type End = Extract<Piece, { kind: 'end' }>

function completionOf(end: End, thought: string, terms: ChatTerms) {
  const { answer } = end
  const message = {
    role: 'assistant',
    content: terms.asCall === undefined ? answer.content : null,
    refusal: null,
    annotations: annotationsOf(answer, terms),
    ...(thought === '' ? {} : { reasoning_content: thought }),
    ...(terms.asCall === undefined ? {} : { tool_calls: [callOf(answer, terms.asCall)] }),
  }
  const finish_reason = finishOf(answer)
  return {
    id: chatIdOf(answer.traceId),
    object: 'chat.completion',
    created: terms.created,
    model: terms.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage: usageOf(answer.usage),
    system_fingerprint: null,
    eider: findingsOf(answer, end.steps, terms),
  }
}

/**
 * The chunks of a stream as server-sent events. What fails after the first one is told as those clients expect it, as an
 * `error` in the place of a chunk; `[DONE]` comes last whatever happened.
 */
export async function* completionChunks(
  pieces: AsyncIterable<Piece>,
  terms: ChatTerms,
  onFailure: (failure: AppError, traceId: string) => void,
): AsyncGenerator<string, void> {
  let traceId: string | null = null
  try {
    for await (const piece of pieces) {
      if (piece.kind === 'start') traceId = piece.traceId
      for (const chunk of chunksOf(piece, traceId ?? '', terms)) yield eventOf(chunk)
    }
  } catch (error) {
    if (traceId === null) throw error
    const failure = toAppError(error)
    onFailure(failure, traceId)
    yield eventOf({ error: openAiError(failure) })
  }
  yield 'data: [DONE]\n\n'
}

function chunksOf(piece: Piece, traceId: string, terms: ChatTerms): readonly object[] {
  const { model, created, asCall, withUsage } = terms
  const head = { id: chatIdOf(traceId), object: 'chat.completion.chunk', created, model }
  const frame = { ...head, system_fingerprint: null, ...(withUsage ? { usage: null } : {}) }
  const chunk = (delta: object, finish_reason: string | null = null) => {
    return { ...frame, choices: [{ index: 0, delta, logprobs: null, finish_reason }] }
  }
  switch (piece.kind) {
    case 'start':
      return [chunk({ role: 'assistant', content: asCall === undefined ? '' : null })]
    case 'text':
      return asCall === undefined ? [chunk({ content: piece.text })] : []
    case 'action':
      return []
    case 'thought':
      return [chunk({ reasoning_content: piece.text })]
    case 'end': {
      const { answer, steps } = piece
      const annotations = annotationsOf(answer, terms)
      const calls = asCall === undefined ? [] : [{ index: 0, ...callOf(answer, asCall) }]
      return [
        ...(calls.length === 0 ? [] : [chunk({ tool_calls: calls })]),
        ...(annotations.length === 0 ? [] : [chunk({ annotations })]),
        { ...chunk({}, finishOf(answer)), eider: findingsOf(answer, steps, terms) },
        ...(withUsage ? [{ ...frame, choices: [], usage: usageOf(answer.usage) }] : []),
      ]
    }
  }
}

function eventOf(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}

function annotationsOf({ content, citations }: Answer, { origin }: ChatTerms) {
  return citedPlaces(content, citations, origin).map(urlCitation)
}

/** What else an answer brings. Clients that do not know it leave it aside. */
export function findingsOf(
  answer: Answer,
  steps: readonly Step[],
  { withSteps }: Pick<ChatTerms, 'withSteps'>,
) {
  const { traceId, citations, warnings, evidence, charts, result } = answer
  return {
    trace_id: traceId,
    citations,
    warnings,
    ...(evidence === undefined ? {} : { evidence }),
    ...(charts === undefined ? {} : { charts }),
    ...(result === undefined ? {} : { result }),
    ...(withSteps ? { steps } : {}),
  }
}

function callOf({ content, traceId }: Answer, name: string) {
  return { id: `call_${traceId}`, type: 'function', function: { name, arguments: content } }
}

function chatIdOf(traceId: string): string {
  return `chatcmpl-${traceId}`
}

const FINISHES: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  tool_calls: 'stop',
  length: 'length',
  filter: 'content_filter',
  refusal: 'content_filter',
}

function finishOf({ finish = 'stop' }: Answer): string {
  return FINISHES[finish]
}

/** null: nobody counted. The built-in model has no tokens. */
function usageOf(usage: TokenUsage | null) {
  if (usage === null) return null
  const { inputTokens, outputTokens, cachedTokens } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  }
}
