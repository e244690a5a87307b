/** Answers of `/v1/responses`: the response object and its items. */
import type { Answer } from '../../../agents/questions/completion-stream.ts'
import type { Action, Citation, TokenUsage } from '../../../core/domain/agents/completion-event.ts'
import type { StoredTrace } from '../../../core/domain/ports/conversation-ports.ts'
import { type CitationTerms, type CitedPlace, citedPlaces } from './chat-answer.ts'
import { secondsOf } from './list-page.ts'
import type { ResponseAsked, ResponseBody } from './response-request.ts'

export interface ResponseTerms
  extends Pick<ResponseAsked, 'withResults' | 'withSteps' | 'vectorStores'>,
    CitationTerms {
  readonly body: Partial<ResponseBody>
  /** Seconds since 1970. */
  readonly created: number
  /** Whether the conversation is stored, so that another question can continue it. */
  readonly isKept: boolean
}

export type Item = Readonly<Record<string, unknown>> & { readonly id: string }

/** The trace id in a response's or item's id; null if this server did not create that id. */
export function traceIdIn(id: string): string | null {
  return /^(?:resp|msg)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(id)?.[1] ?? null
}

/** A response at any stage. `changes` are the differences from one that has just started. */
export function responseOf(traceId: string, terms: ResponseTerms, changes: object = {}) {
  const { body, created, isKept } = terms
  return {
    id: `resp_${traceId}`,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: body.model ?? '',
    output: [],
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: null, summary: null },
    store: isKept,
    temperature: null,
    text: { format: body.text?.format ?? { type: 'text' } },
    tool_choice: 'auto',
    tools: Array.isArray(body.tools) ? body.tools : [],
    top_p: null,
    truncation: 'disabled',
    usage: null,
    metadata: body.metadata ?? {},
    ...changes,
  }
}

export function endOf(answer: Answer, output: readonly Item[]): object {
  const { finish = 'stop', conversationId, usage } = answer
  const reason = finish === 'length' ? 'max_output_tokens' : 'content_filter'
  const isWhole = finish === 'stop' || finish === 'tool_calls'
  return {
    status: isWhole ? 'completed' : 'incomplete',
    incomplete_details: isWhole ? null : { reason },
    output,
    usage: responseUsage(usage),
    ...(conversationId === undefined ? {} : { conversation: { id: `conv_${conversationId}` } }),
  }
}

/** Clients of this API require numbers, so unknown token counts become 0. */
function responseUsage(usage: TokenUsage | null) {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0 } = usage ?? {}
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  }
}

export function messageItem(
  traceId: string,
  status: 'in_progress' | 'completed',
  content: readonly object[],
): Item {
  return { id: `msg_${traceId}`, type: 'message', status, role: 'assistant', content }
}

export function textPart(text: string, annotations: readonly object[]) {
  return { type: 'output_text', text, annotations, logprobs: [] }
}

/** Annotations with files if files were searched, otherwise with URLs, shown as links. */
export function annotationsOf(
  { content, citations }: Pick<Answer, 'content' | 'citations'>,
  { vectorStores, ...terms }: Pick<ResponseTerms, 'vectorStores'> & CitationTerms,
): readonly object[] {
  const places = citedPlaces(content, citations, terms)
  return places.map<object>(vectorStores === undefined ? urlCitation : fileCitation)
}

function urlCitation({ start, end, url, title, citation }: CitedPlace) {
  const quote = citation.text
  return { type: 'url_citation', start_index: start, end_index: end, url, title, quote }
}

function fileCitation({ end, filename, citation }: CitedPlace) {
  const { document_id, text } = citation
  return { type: 'file_citation', index: end, file_id: document_id, filename, quote: text }
}

/** The query of each search, or the call itself for other tools. */
export function queriesOf(actions: readonly Action[]): readonly string[] {
  return actions.map(({ tool, tool_input }) => {
    const found = /\bcontent\s*=\s*'((?:[^']|'')*)'/i.exec(tool_input)?.[1]
    return found?.replaceAll("''", "'") ?? (tool_input === '' ? tool : tool_input)
  })
}

export function searchItem(
  id: string,
  status: 'in_progress' | 'completed',
  queries: readonly string[],
  results: readonly object[] | null,
): Item {
  return { id, type: 'file_search_call', status, queries, results }
}

export function resultsOf(
  citations: readonly Citation[],
  filenameOf: ResponseTerms['filenameOf'],
): readonly object[] {
  return citations.map((citation) => ({
    file_id: citation.document_id,
    filename: filenameOf(citation.document_id) ?? citation.document_id,
    score: citation.relevance ?? 0,
    text: citation.text,
    attributes: { knowledge_base: citation.knowledge_base, chunk_id: citation.chunk_id },
  }))
}

export function reasoningItem(id: string, text: string | null): Item {
  const summary = text === null ? [] : [{ type: 'summary_text', text }]
  return { id, type: 'reasoning', summary }
}

/** A finished response, rebuilt from its trace. */
export function responseOfTrace(trace: StoredTrace, cited: CitationTerms) {
  const { traceId, outcome, answer, citations, usage, conversationId } = trace
  const terms: ResponseTerms = {
    body: { model: `${trace.projectName}.${trace.agentName}` },
    created: secondsOf(trace.startedAt),
    ...{ ...cited, withResults: false, withSteps: false },
    isKept: conversationId !== null,
  }
  if (outcome === 'answered') {
    const content = answer ?? ''
    const part = textPart(content, annotationsOf({ content, citations }, terms))
    const finish = trace.turns.at(-1)?.finish ?? 'stop'
    const { warnings, evidence } = trace
    const told = { content, traceId, citations, warnings, evidence: evidence ?? 'answer' }
    const ended = { ...told, usage, finish }
    const kept = conversationId === null ? {} : { conversationId }
    const output = [messageItem(traceId, 'completed', [part])]
    return responseOf(traceId, terms, endOf({ ...ended, ...kept, seconds: 0 }, output))
  }
  const message = trace.errorMessage ?? 'The question failed'
  const error = outcome === 'cancelled' ? null : { code: 'server_error', message }
  return responseOf(traceId, terms, { status: outcome, error })
}
