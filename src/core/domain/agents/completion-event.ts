import type { ErrorCode } from '../../errors.ts'
import type { ResultValue } from '../query-result.ts'

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

export type FailureType =
  | 'timeout'
  | 'connection'
  | 'authentication'
  | 'not_found'
  | 'rate_limit'
  | 'content'
  | 'general'

/** The client's view of a failure after `start`. A provider's own status says more, if known. */
export const FAILURE_TYPES: Readonly<Record<ErrorCode, FailureType>> = {
  invalid_json: 'general',
  invalid_request: 'general',
  missing_parameter: 'general',
  missing_field: 'general',
  unknown_field: 'general',
  invalid_name: 'general',
  unauthorized: 'general',
  wrong_credentials: 'general',
  invalid_credentials: 'general',
  too_many_logins: 'general',
  forbidden_origin: 'general',
  forbidden: 'general',
  rate_limited: 'rate_limit',
  key_not_found: 'general',
  key_exists: 'general',
  too_many_keys: 'general',
  user_not_found: 'general',
  user_exists: 'general',
  user_of_settings: 'general',
  login_off: 'general',
  not_found: 'general',
  method_not_allowed: 'general',
  body_too_large: 'general',
  unsupported_media_type: 'general',
  project_not_found: 'general',
  project_exists: 'general',
  project_not_deletable: 'general',
  knowledge_base_not_found: 'general',
  knowledge_base_exists: 'general',
  storage_in_use: 'general',
  index_not_found: 'general',
  map_not_ready: 'general',
  agent_not_found: 'general',
  model_not_found: 'general',
  too_many_questions: 'rate_limit',
  provider_busy: 'rate_limit',
  context_exceeded: 'general',
  run_not_found: 'general',
  conversation_not_found: 'general',
  conversation_busy: 'general',
  conversation_full: 'general',
  agent_exists: 'general',
  agent_changed: 'general',
  agent_creation_not_allowed: 'general',
  answer_malformed: 'general',
  file_not_found: 'general',
  file_exists: 'general',
  file_ambiguous: 'general',
  file_changed: 'general',
  range_not_satisfiable: 'general',
  file_unreadable: 'general',
  ocr_unconfirmed: 'general',
  view_not_found: 'general',
  table_not_found: 'general',
  document_not_found: 'general',
  import_mismatch: 'general',
  relation_exists: 'general',
  trace_not_found: 'general',
  backup_running: 'general',
  backup_failed: 'general',
  data_damaged: 'general',
  database_not_found: 'general',
  database_exists: 'general',
  database_in_use: 'general',
  invalid_database: 'general',
  unknown_engine: 'general',
  source_failed: 'connection',
  job_not_found: 'general',
  job_state: 'general',
  job_items_missing: 'general',
  source_not_found: 'general',
  source_exists: 'general',
  invalid_source: 'general',
  folder_refused: 'general',
  source_empty: 'general',
  folder_unreadable: 'general',
  schedule_not_found: 'general',
  schedule_exists: 'general',
  invalid_schedule: 'general',
  too_many_schedules: 'general',
  invalid_knowledge_base: 'general',
  invalid_agent: 'general',
  insert_failed: 'general',
  invalid_select: 'general',
  crawl_failed: 'general',
  address_refused: 'general',
  unknown_provider: 'general',
  provider_refused: 'authentication',
  provider_failed: 'connection',
  content_refused: 'content',
  dimension_mismatch: 'general',
  sql_syntax: 'general',
  sql_not_supported: 'general',
  sql_unknown_name: 'general',
  sql_forbidden: 'general',
  sql_invalid_search: 'general',
  sql_missing_parameter: 'general',
  sql_failed: 'general',
  sql_constraint: 'general',
  sql_too_costly: 'general',
  sql_not_a_query: 'general',
  url_key_refused: 'general',
  request_not_found: 'general',
  statement_too_large: 'general',
  timeout: 'timeout',
  cancelled: 'general',
  too_busy: 'general',
  shutting_down: 'general',
  out_of_memory: 'general',
  storage_full: 'general',
  step_limit: 'timeout',
  agent_crashed: 'general',
  unhealthy: 'general',
  internal: 'general',
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
