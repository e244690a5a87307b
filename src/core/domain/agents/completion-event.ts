/**
 * The record of one question to an agent, as `GET /api/traces/{trace_id}` returns it, and the
 * events it sends.
 */
import { AppError, type ErrorCode } from '../../errors.ts'
import type { ModelRef } from '../model-ref.ts'
import type { ResultValue } from '../query-result.ts'

/** Tokens as the provider counted them. */
export interface TokenUsage {
  /** All input tokens, including `cachedTokens`. */
  readonly inputTokens: number
  /** All output tokens, including reasoning. */
  readonly outputTokens: number
  /** Input tokens that the provider read from its cache. */
  readonly cachedTokens: number
}

/** The sum of two turns; null if either is unknown. */
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

/** One turn of the model. Times are milliseconds; `startMs` counts from the question's start. */
export interface ModelTurn {
  readonly startMs: number
  /** Time until the first piece of the answer; null if there was none. */
  readonly firstPieceMs: number | null
  readonly tookMs: number
  readonly finish: FinishReason
  /** null if the provider did not report it. */
  readonly usage: TokenUsage | null
  /** The model's reasoning, truncated. It is not part of `text`. */
  readonly reasoning: string
  /** How many tool calls the model requested. */
  readonly callCount: number
}

export interface ToolStep {
  readonly startMs: number
  readonly tookMs: number
  readonly tool: string
  readonly input: string
  readonly observation: string
}

/** `evaluation`: asked by `EVALUATE AGENT` to measure the agent. */
export const RUN_PURPOSES = ['question', 'evaluation'] as const

export type RunPurpose = (typeof RUN_PURPOSES)[number]

export const RUN_OUTCOMES = ['answered', 'failed', 'cancelled'] as const

export type RunOutcome = (typeof RUN_OUTCOMES)[number]

export interface RunStart {
  readonly traceId: string
  readonly agentId: number
  readonly agentName: string
  readonly projectId: number
  readonly projectName: string
  readonly question: string
  readonly purpose: RunPurpose
  readonly conversationId: string | null
  /** See `Asker.by`. */
  readonly askedBy: string | null
  /** Contains the model's key, which is never stored: the recorder removes it from every text. */
  readonly model: ModelRef
  /** The request's `traceparent` header (W3C Trace Context); null if it had none. */
  readonly traceParent: string | null
}

export interface RunEnd {
  readonly outcome: RunOutcome
  readonly answer: string | null
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
  /** null if there was no answer. */
  readonly evidence: EvidenceLevel | null
  readonly errorCode: ErrorCode | null
  readonly errorMessage: string | null
}

/** A finished question as it is stored and exported: without secrets, with its texts truncated. */
export interface FinishedRun extends Omit<RunStart, 'model'>, RunEnd {
  readonly provider: string
  readonly modelName: string
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly turns: readonly ModelTurn[]
  readonly steps: readonly ToolStep[]
  /** For all turns; null if none was counted. */
  readonly usage: TokenUsage | null
  /** From the price table; null if the model has no price or a turn's tokens were not counted. */
  readonly cost: number | null
}

/** Also thrown for a trace the asker may not see. */
export function traceNotFound(traceId: string): AppError {
  const why = 'it never existed, its question is still being answered, or it has expired'
  return new AppError('trace_not_found', `There is no trace ${traceId.slice(0, 100)}: ${why}`)
}

/** Also thrown for a run the asker may not see. */
export function runNotFound(traceId: string): AppError {
  const message = `No question with the trace_id ${traceId.slice(0, 80)} is running or waiting`
  return new AppError('run_not_found', message)
}

/** (docs/contract.md 3): each event is one `data: {json}` chunk. */

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

/** A document passage that supports a statement in the answer. */
export interface Citation {
  readonly knowledge_base: string
  readonly document_id: string
  readonly chunk_id: string
  /** Quoted verbatim from the chunk. */
  readonly text: string
  /** Where the quote is in the document's column, in UTF-16 code units; null if unknown. */
  readonly start: number | null
  readonly end: number | null
  readonly page: number | null
  readonly heading: string | null
  readonly relevance: number | null
}

/** `closest`: the best passage is near the question but may not answer it. */
export const EVIDENCE_LEVELS = ['answer', 'closest', 'none'] as const

export type EvidenceLevel = (typeof EVIDENCE_LEVELS)[number]

/** A SQL statement and the rows that the answer uses. */
export interface StatementRows {
  readonly sql: string
  readonly column_names: readonly string[]
  /** The rows given to the model. */
  readonly data: readonly (readonly ResultValue[])[]
  /** Whether the statement returned more rows than `data` holds. */
  readonly is_cut: boolean
}

export interface Chart {
  /** Vega-Lite 5 with inline rows; it loads nothing and contains no expressions. */
  readonly spec: Readonly<Record<string, unknown>>
  readonly sql: string
  readonly column_names: readonly string[]
  readonly data: readonly (readonly ResultValue[])[]
}

/** What an answer is based on besides its citations. Empty lists are left out. */
export interface AnswerFindings {
  readonly statements?: readonly StatementRows[]
  readonly charts?: readonly Chart[]
  /** The last statement and its rows, for an agent in `sql` mode; null if it ran none. */
  readonly result?: StatementRows | null
}

/** Extra fields sent when the question is stored or watched by other clients. */
interface Watched {
  /** Milliseconds since the question arrived. */
  readonly at_ms?: number
}

export interface StartEvent extends Watched {
  readonly type: 'start'
  readonly prompt: string
  readonly trace_id: string
  /** The stored conversation that contains this question. */
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

/** How well the retrieved passages answer the question. */
export interface AnswerEvidence {
  readonly evidence: EvidenceLevel
  /** Set if a model answered although no retrieved passage seems to answer the question. */
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

/** Sent only if the client set `stream_options.deltas`. */
export interface DeltaEvent extends Watched {
  readonly type: 'delta'
  readonly content: string
  readonly trace_id: string
}

/** In the order of docs/contract.md. */
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

/** After `start`; other codes become `general`. A provider's own status is more specific. */
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
  /** The stored turn's error code; `cancelled` if the question was stopped. */
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

/** The maximum length of a title, in UTF-16 code units. */
export const TITLE_CHARS_MAX = 120

/** A conversation's title in lists: the start of its first question. */
export function conversationTitle(question: string): string {
  const title = question.slice(0, TITLE_CHARS_MAX).replace(/\s+/g, ' ').trim().toWellFormed()
  return question.length > TITLE_CHARS_MAX ? `${title}…` : title
}

/** The pages or slides that a chunk covers, used to find the page of a quote. */
export interface ChunkPages {
  /** The page of the chunk's first character. */
  readonly first: number
  /** Where each following page starts, in code units of the chunk's content, ascending. */
  readonly starts: readonly number[]
}

/** Units whose number a citation shows as the page. */
const NUMBERED = ['page', 'slide'] as const

/** Reads a chunk's pages from its metadata; null if it has none. Values may be strings. */
export function pagesIn(cell: (name: string) => unknown): ChunkPages | null {
  for (const unit of NUMBERED) {
    const first = wholeNumberIn(cell(unit))
    if (first !== null) return { first, starts: startsIn(cell(startsName(unit))) }
  }
  return null
}

/** The metadata name under which `ChunkPages.starts` is stored. */
export function startsName(unit: string): string {
  return `${unit}_starts`
}

/** The page of the character at this offset in the chunk. */
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
