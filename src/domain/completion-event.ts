/** The wire format of `/completions/stream` (api.md, Events): each event is one `data: {json}` chunk. */

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

export interface Message {
  readonly content: string
}

/** Where a statement of the answer comes from. Offsets are code units into the document's column. */
export interface Citation {
  readonly knowledge_base: string
  readonly document_id: string
  readonly chunk_id: string
  readonly text: string
  readonly relevance: number | null
}

export interface StartEvent {
  readonly type: 'start'
  readonly prompt: string
  readonly trace_id: string
}

export interface ActionsEvent {
  readonly actions: readonly Action[]
  readonly messages: readonly Message[]
  readonly trace_id: string
}

export interface StepsEvent {
  readonly steps: readonly Step[]
  readonly messages: readonly Message[]
  readonly trace_id: string
}

export interface OutputEvent {
  readonly output: string
  readonly messages: readonly Message[]
  readonly trace_id: string
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
}

/** Sent only to a client that asked for it by `stream_options.deltas`. */
export interface DeltaEvent {
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
  | 'general'

export interface ErrorEvent {
  readonly type: 'error'
  readonly content: string
  readonly error_type: FailureType
  readonly trace_id: string
}

export interface EndEvent {
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
