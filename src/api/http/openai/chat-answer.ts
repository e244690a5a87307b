/** Answers of `/v1/chat/completions`, complete and in chunks. */
import type { Answer } from '../../../agents/questions/completion-stream.ts'
import type {
  Action,
  Citation,
  CompletionEvent,
  FinishReason,
  Step,
  TokenUsage,
} from '../../../core/domain/agents/completion-event.ts'
import { type AppError, toAppError } from '../../../core/errors.ts'
import { definedFields } from '../../../core/json.ts'
import { openAiError } from '../request/error-response.ts'
import type { ChatAsked } from './chat-request.ts'

export interface ChatTerms
  extends Pick<ChatAsked, 'asCall' | 'withUsage' | 'withSteps'>,
    CitationTerms {
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
}

/** How citations name documents. */
export interface CitationTerms {
  /** The server's address as the client sees it. */
  readonly origin: string
  /** The file name for a document; null if it has no file or the asker may not see it. */
  readonly filenameOf: (documentId: string) => string | null
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

/** A later failure is sent as `error`, as OpenAI clients expect; `[DONE]` comes last. */
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

function annotationsOf({ content, citations }: Answer, terms: ChatTerms) {
  return citedPlaces(content, citations, terms).map(urlCitation)
}

/** Eider's additions to an answer. Clients that do not support them ignore them. */
function findingsOf(
  answer: Answer,
  steps: readonly Step[],
  { withSteps }: Pick<ChatTerms, 'withSteps'>,
) {
  const { traceId, citations, warnings, evidence, low_evidence } = answer
  const { statements, charts, result } = answer
  return {
    trace_id: traceId,
    citations,
    warnings,
    evidence,
    ...definedFields({ low_evidence, statements, charts, result }),
    ...(withSteps ? { steps } : {}),
  }
}

function callOf({ content, traceId }: Answer, name: string) {
  return { id: `call_${traceId}`, type: 'function', function: { name, arguments: content } }
}

function chatIdOf(traceId: string): string {
  return `chatcmpl-${traceId}`
}

const CHAT_FINISHES: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  tool_calls: 'stop',
  length: 'length',
  filter: 'content_filter',
  refusal: 'content_filter',
}

function finishOf({ finish = 'stop' }: Answer): string {
  return CHAT_FINISHES[finish]
}

/** Returns null if the provider did not count tokens. */
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

export type Piece =
  | { readonly kind: 'start'; readonly traceId: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly actions: readonly Action[] }
  | { readonly kind: 'thought'; readonly text: string }
  | { readonly kind: 'end'; readonly answer: Answer; readonly steps: readonly Step[] }

/** `start` first, `end` last. Together the texts form the answer, after any before tool calls. */
export async function* answerPieces(
  events: AsyncIterable<CompletionEvent, Answer>,
  given: {
    /** Whether text may be sent before the answer is complete. */
    readonly deltas: boolean
    readonly withSteps: boolean
  },
): AsyncGenerator<Piece, void> {
  const { deltas, withSteps } = given
  const iterator = events[Symbol.asyncIterator]()
  const steps: Step[] = []
  /** The text of the current turn; `hasEarlier` tells whether an earlier turn had text. */
  let turn = ''
  let hasEarlier = false
  try {
    // Ends in any case, because every question has a deadline.
    for (;;) {
      const next = await iterator.next()
      if (next.done === true) {
        const rest = restOf(next.value.content, turn)
        if (rest !== '')
          yield { kind: 'text', text: turn === '' && hasEarlier ? `\n\n${rest}` : rest }
        yield { kind: 'end', answer: next.value, steps }
        return
      }
      const event = next.value
      if ('actions' in event) {
        hasEarlier ||= turn !== ''
        turn = ''
        yield { kind: 'action', actions: event.actions }
        if (withSteps) yield { kind: 'thought', text: event.actions.map(actionText).join('') }
      } else if ('steps' in event) {
        steps.push(...event.steps)
        if (withSteps) yield { kind: 'thought', text: event.steps.map(stepText).join('') }
      } else if ('type' in event && event.type === 'start') {
        yield { kind: 'start', traceId: event.trace_id }
      } else if ('type' in event && event.type === 'delta' && deltas) {
        const isNext = turn === '' && hasEarlier
        turn += event.content
        yield { kind: 'text', text: isNext ? `\n\n${event.content}` : event.content }
      }
    }
  } finally {
    // The client may disconnect early.
    await iterator.return?.()
  }
}

/** If only the end shows that a text was reasoning, that text is sent first. */
function restOf(answer: string, told: string): string {
  if (told.endsWith(answer) || told.trim() === answer.trim()) return ''
  return answer.startsWith(told) ? answer.slice(told.length) : `\n\n${answer}`
}

const RESULT_CHARS_MAX = 600

function actionText({ tool, tool_input }: Action): string {
  return `**${tool}** ${inline(tool_input)}\n\n`
}

function stepText({ observation }: Step): string {
  const text = observation.trim()
  const shown = text.slice(0, RESULT_CHARS_MAX).toWellFormed()
  return `${shown}${shown.length < text.length ? ' …' : ''}\n\n`
}

/** Formats text as inline code, even if it contains backticks. */
function inline(text: string): string {
  const shown = text.slice(0, RESULT_CHARS_MAX).toWellFormed()
  return shown === '' ? '' : `\`\` ${shown.replaceAll(/`{2,}/g, '`')} \`\``
}

export interface CitedPlace {
  readonly citation: Citation
  /** Where the answer cites the chunk, in UTF-16 code units; both 0 if it does not. */
  readonly start: number
  readonly end: number
  /** A fragment for each citation, because clients show only one per URL. */
  readonly url: string
  /** Or the document's id if it has no file. */
  readonly filename: string
  /** The file or document, and the position of the quote. */
  readonly title: string
}

export function citedPlaces(
  content: string,
  citations: readonly Citation[],
  { origin, filenameOf }: CitationTerms,
): readonly CitedPlace[] {
  return citations.map((citation) => {
    const mark = `[${citation.chunk_id}]`
    const index = content.indexOf(mark)
    const place = index === -1 ? { start: 0, end: 0 } : { start: index, end: index + mark.length }
    const filename = filenameOf(citation.document_id) ?? citation.document_id
    const title = sourceTitle(filename, citation)
    return { citation, ...place, url: urlOf(citation, origin), filename, title }
  })
}

/** The form used by chat completions. */
export function urlCitation({ citation, start, end, url, title }: CitedPlace) {
  const quote = citation.text
  return {
    type: 'url_citation',
    url_citation: { start_index: start, end_index: end, url, title, quote },
  }
}

function urlOf({ knowledge_base, document_id, chunk_id }: Citation, origin: string): string {
  const [project = '', name = ''] = knowledge_base.split('.')
  const parts = [project, 'knowledge_bases', name, 'documents', document_id]
  const path = parts.map((part) => encodeURIComponent(part.toWellFormed())).join('/')
  return `${origin}/api/projects/${path}#${encodeURIComponent(chunk_id.toWellFormed())}`
}

function sourceTitle(filename: string, { page, heading }: Citation): string {
  const places = [page === null ? null : `page ${page}`, heading]
  return [filename, ...places.filter((place) => place !== null && place !== '')].join(', ')
}
