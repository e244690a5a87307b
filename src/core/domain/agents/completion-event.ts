/** What happens during one question to an agent: its record, as `GET /api/traces/{trace_id}` returns it, and its events. */
import { AppError, type ErrorCode } from '../../errors.ts'
import type { ModelRef } from '../model-ref.ts'
import type { ResultValue } from '../query-result.ts'

/** Tokens as the provider counted them. */
export interface TokenUsage {
  /** All input, including `cachedTokens`. */
  readonly inputTokens: number
  /** All output, including reasoning. */
  readonly outputTokens: number
  /** The part of the input that the provider had cached. */
  readonly cachedTokens: number
}

/** The sum of two turns; null: one is unknown. */
export function addedUsage(first: TokenUsage | null, second: TokenUsage | null): TokenUsage | null {
  if (first === null || second === null) return null
  return {
    inputTokens: first.inputTokens + second.inputTokens,
    outputTokens: first.outputTokens + second.outputTokens,
    cachedTokens: first.cachedTokens + second.cachedTokens,
  }
}

/** Why a turn ended. `length`: token limit. `filter`: content withheld. `refusal`: the model refused. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'filter' | 'refusal'

/** One turn of the model. Times are milliseconds; `startMs` counts from the start of the question. */
export interface ModelTurn {
  readonly startMs: number
  /** Until the first piece of the answer; null: there was none. */
  readonly firstPieceMs: number | null
  readonly tookMs: number
  readonly finish: FinishReason
  /** null: the provider did not say. */
  readonly usage: TokenUsage | null
  /** The model's thoughts, apart from its text; cut. */
  readonly reasoning: string
  /** Tool calls it requested. */
  readonly callCount: number
}

/** One tool call. */
export interface ToolStep {
  readonly startMs: number
  readonly tookMs: number
  readonly tool: string
  readonly input: string
  readonly observation: string
}

/** `evaluation`: of a set of questions that measures the agent (`EVALUATE AGENT`). */
export const RUN_PURPOSES = ['question', 'evaluation'] as const

export type RunPurpose = (typeof RUN_PURPOSES)[number]

export const RUN_OUTCOMES = ['answered', 'failed', 'cancelled'] as const

export type RunOutcome = (typeof RUN_OUTCOMES)[number]

/** The facts known at the start of a question. */
export interface RunStart {
  /** A UUID. */
  readonly traceId: string
  readonly agentId: number
  readonly agentName: string
  readonly projectId: number
  readonly projectName: string
  readonly question: string
  readonly purpose: RunPurpose
  readonly conversationId: string | null
  /** `Asker.by`. */
  readonly askedBy: string | null
  /** With its key, which is never stored: code that records the run removes it from every text. */
  readonly model: ModelRef
  /** The `traceparent` of the request (W3C Trace Context); null: there was none. */
  readonly traceParent: string | null
}

/** How it ended. */
export interface RunEnd {
  readonly outcome: RunOutcome
  readonly answer: string | null
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
  /** null: there is no answer. */
  readonly evidence: EvidenceLevel | null
  readonly errorCode: ErrorCode | null
  readonly errorMessage: string | null
}

/** One question from its start to its end, without secrets, its texts bounded: what is stored and exported. */
export interface FinishedRun extends Omit<RunStart, 'model'>, RunEnd {
  readonly provider: string
  readonly modelName: string
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly turns: readonly ModelTurn[]
  readonly steps: readonly ToolStep[]
  /** For all turns; null: none was counted. */
  readonly usage: TokenUsage | null
  /** By the price table; null: the model has no price there, or a turn was not counted. */
  readonly cost: number | null
}

/** Also if it is one that the asker may not see. */
export function traceNotFound(traceId: string): AppError {
  const why = 'it never was, its question is still being answered, or it was kept long enough'
  return new AppError('trace_not_found', `There is no trace ${traceId.slice(0, 100)}: ${why}`)
}

/** Also if it is one that the asker may not see. */
export function runNotFound(traceId: string): AppError {
  const message = `No question with the trace_id ${traceId.slice(0, 80)} is running or waiting`
  return new AppError('run_not_found', message)
}

/** The wire format of `/completions/stream` (docs/contract.md 3): each event is one `data: {json}` chunk. */

export interface Action {
  readonly tool: string
  readonly tool_input: string
  /** The agent's reasoning before the call. */
  readonly log: string
}

export interface Step {
  readonly action: Action
  readonly observation: string
}

interface Message {
  readonly content: string
}

/** The evidence for a statement of the answer: a passage of a document. */
export interface Citation {
  readonly knowledge_base: string
  readonly document_id: string
  readonly chunk_id: string
  /** Quoted verbatim from the chunk. */
  readonly text: string
  /** Offsets of the quote in the document's column, in UTF-16 code units; null if unknown. */
  readonly start: number | null
  readonly end: number | null
  readonly page: number | null
  readonly heading: string | null
  readonly relevance: number | null
}

/** `closest`: the best passage is near the question but may not answer it. */
export const EVIDENCE_LEVELS = ['answer', 'closest', 'none'] as const

export type EvidenceLevel = (typeof EVIDENCE_LEVELS)[number]

/** A statement over tables whose rows the answer uses. */
export interface StatementRows {
  readonly sql: string
  readonly column_names: readonly string[]
  /** The rows as far as the model was shown them. */
  readonly data: readonly (readonly ResultValue[])[]
  /** Whether the statement gives more rows than these. */
  readonly is_cut: boolean
}

/** A chart in the answer. */
export interface Chart {
  /** Vega-Lite 5 with inline rows: it loads nothing and has no expressions. */
  readonly spec: Readonly<Record<string, unknown>>
  readonly sql: string
  readonly column_names: readonly string[]
  readonly data: readonly (readonly ResultValue[])[]
}

/** The basis of an answer besides its citations. Empty lists are left out. */
export interface AnswerFindings {
  readonly statements?: readonly StatementRows[]
  readonly charts?: readonly Chart[]
  /** The last statement that the model ran and its rows, for an agent of the mode `sql`; null: it ran none. */
  readonly result?: StatementRows | null
}

/** For a question with watchers besides its client. */
interface Watched {
  /** Milliseconds since the question. */
  readonly at_ms?: number
}

export interface StartEvent extends Watched {
  readonly type: 'start'
  readonly prompt: string
  readonly trace_id: string
  /** Where the conversation is stored. */
  readonly conversation_id?: string
}

export interface ActionsEvent extends Watched {
  readonly actions: readonly Action[]
  readonly messages: readonly Message[]
  readonly trace_id: string
}

export interface StepsEvent extends Watched {
  readonly steps: readonly Step[]
  readonly messages: readonly Message[]
  readonly trace_id: string
}

/** How well what was read answers the question. */
export interface AnswerEvidence {
  readonly evidence: EvidenceLevel
  /** A model answered, though nothing it read seems to answer the question. */
  readonly low_evidence?: true
}

export interface OutputEvent extends AnswerFindings, AnswerEvidence, Watched {
  readonly output: string
  readonly messages: readonly Message[]
  readonly trace_id: string
  readonly conversation_id?: string
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
}

/** Sent only to a client that asked for it by `stream_options.deltas`. */
export interface DeltaEvent extends Watched {
  readonly type: 'delta'
  readonly content: string
  readonly trace_id: string
}

/** In the order of the API's document. */
export const FAILURE_NAMES = [
  'general',
  'rate_limit',
  'connection',
  'authentication',
  'content',
  'timeout',
  'not_found',
] as const

export type FailureType = (typeof FAILURE_NAMES)[number]

/**
 * The client's view of a failure after `start`; every other code is `general`. A provider's own status says more, if known.
 */
export const FAILURE_TYPES: Partial<Readonly<Record<ErrorCode, FailureType>>> = {
  rate_limited: 'rate_limit',
  too_many_questions: 'rate_limit',
  provider_busy: 'rate_limit',
  source_failed: 'connection',
  provider_refused: 'authentication',
  provider_failed: 'connection',
  content_refused: 'content',
  timeout: 'timeout',
  step_limit: 'timeout',
}

export interface ErrorEvent {
  readonly type: 'error'
  readonly content: string
  readonly error_type: FailureType
  /** The `error_code` of the stored turn; `cancelled` if it was stopped. */
  readonly error_code: ErrorCode
  readonly trace_id: string
}

interface EndEvent {
  readonly type: 'end'
}

export type CompletionEvent =
  | StartEvent
  | ActionsEvent
  | StepsEvent
  | OutputEvent
  | DeltaEvent
  | ErrorEvent
  | EndEvent

/** For a question, in UTF-16 code units. */
export const TITLE_CHARS_MAX = 120

/** The title of a conversation in a list: the start of its first question. */
export function conversationTitle(question: string): string {
  const title = question.slice(0, TITLE_CHARS_MAX).replace(/\s+/g, ' ').trim().toWellFormed()
  return question.length > TITLE_CHARS_MAX ? `${title}…` : title
}

/** The pages or slides of a chunk, from which a quote finds its own. */
export interface ChunkPages {
  /** Page of the chunk's first character. */
  readonly first: number
  /** The start of each further page, in code units of the chunk's content, ascending. */
  readonly starts: readonly number[]
}

/** What has a number that a citation shows as its page. */
const NUMBERED = ['page', 'slide'] as const

/** Reads them from the metadata of a chunk; null if it has none. Values may be text. */
export function pagesIn(cell: (name: string) => unknown): ChunkPages | null {
  for (const unit of NUMBERED) {
    const first = wholeNumberIn(cell(unit))
    if (first !== null) return { first, starts: startsIn(cell(startsName(unit))) }
  }
  return null
}

/** The name under which `ChunkPages.starts` is stored. */
export function startsName(unit: string): string {
  return `${unit}_starts`
}

/** The page of the character at this offset of the chunk. */
export function pageAt({ first, starts }: ChunkPages, at: number): number {
  return first + starts.filter((start) => start <= at).length
}

function wholeNumberIn(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) ? number : null
}

function startsIn(value: unknown): readonly number[] {
  const list = typeof value === 'string' ? (value.match(/\d+/g) ?? []).map(Number) : value
  return Array.isArray(list) ? list.filter((start) => typeof start === 'number') : []
}
