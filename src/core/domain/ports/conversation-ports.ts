import type { Asker } from '../access/principal.ts'
import type { Agent } from '../agents/agent.ts'
import type {
  AnswerEvidence,
  AnswerFindings,
  Citation,
  FinishedRun,
  ModelTurn,
  RunEnd,
  RunOutcome,
  RunStart,
  ToolStep,
} from '../agents/completion-event.ts'

/** The agent that owns a conversation. A new agent with the same name does not inherit it. */
export type Owner = Pick<Agent, 'id' | 'projectId'>

/**
 * The parts of an answer that are stored besides its text and citations. Turns stored by older
 * versions have no `evidence`.
 */
export interface KeptFindings extends AnswerFindings, Partial<AnswerEvidence> {
  readonly warnings: readonly string[]
}

/** One question and its outcome. */
export interface KeptTurn {
  /** Increases with each turn, across all conversations. */
  readonly number: number
  readonly traceId: string
  readonly question: string
  /** null if the question was not answered. */
  readonly answer: string | null
  readonly outcome: RunOutcome
  readonly errorCode: string | null
  readonly citations: readonly Citation[]
  /** null if there are none, or if the turn is older than stored findings. */
  readonly findings: KeptFindings | null
  /** `YYYY-MM-DD HH:MM:SS.ffffff`. */
  readonly startedAt: string
  readonly endedAt: string
}

export interface NewTurn extends Omit<KeptTurn, 'number'> {
  readonly conversationId: string
  readonly owner: Owner
  /** Who asked the conversation's first question. */
  readonly askedBy: string | null
  /** A summary of the oldest turns, written while answering this question. */
  readonly summary: TurnSummary | null
}

/** The summary of the oldest turns, up to number `lastTurn`. */
interface TurnSummary {
  readonly text: string
  readonly lastTurn: number
}

export interface KeptHistory {
  readonly askedBy: string | null
  readonly turnCount: number
  readonly summary: TurnSummary | null
  /** Answered turns after the summary, oldest first. If they are very long, only the newest. */
  readonly turns: readonly {
    readonly number: number
    readonly question: string
    readonly answer: string
  }[]
}

export interface ConversationSummary {
  readonly conversationId: string
  /** The start of the first question. */
  readonly title: string
  readonly turnCount: number
  readonly startedAt: string
  /** When the last turn ended. */
  readonly endedAt: string
}

export interface KeptConversation extends ConversationSummary {
  readonly summary: string | null
  readonly turns: readonly KeptTurn[]
  /** The cursor for older turns; null if there are none. */
  readonly next: number | null
}

export interface Page {
  readonly limit: number
  /** `next` from the previous page. */
  readonly before: number | null
}

/**
 * Conversations are visible to the asker of the first question, and to principals that see all.
 */
export interface ConversationStore {
  /** @throws AppError `conversation_not_found` for an unknown id of this agent */
  history(owner: Owner, conversationId: string, asker: Asker): Promise<KeptHistory>
  /** Resolves once the turn is on disk. Stores nothing if the agent was dropped in the meantime. */
  add(turn: NewTurn): Promise<void>
  /** Sorted by the latest question, newest first. */
  list(
    owner: Owner,
    page: Page,
    asker: Asker,
  ): Promise<{ readonly items: readonly ConversationSummary[]; readonly next: number | null }>
  /** @throws AppError `conversation_not_found` */
  get(owner: Owner, conversationId: string, page: Page, asker: Asker): Promise<KeptConversation>
  /** @throws AppError `conversation_not_found` */
  requireOwn(owner: Owner, conversationId: string, asker: Asker): Promise<void>
  /**
   * Removes a turn and all later ones. A conversation without turns is removed.
   * @throws AppError `conversation_not_found`, `trace_not_found` for an unknown turn
   */
  removeFrom(owner: Owner, conversationId: string, traceId: string): Promise<void>
  /** @throws AppError `conversation_not_found` */
  remove(owner: Owner, conversationId: string): Promise<void>
}

export interface RunTraces {
  /** Records the start of a question. Never throws or waits, so that answers are not delayed. */
  begin(start: RunStart): RunTrace
}

/** Records one running question. Its methods never throw or wait. */
export interface RunTrace {
  turn(turn: ModelTurn): void
  step(step: ToolStep): void
  /** Calls after the first are ignored. */
  end(end: RunEnd): void
}

/** Receives finished runs. */
export interface RunSink {
  /** Never throws or waits. */
  keep(run: FinishedRun): void
}

/** Selects traces; a missing field matches everything. */
export interface TraceFilter {
  readonly projectName?: string
  /** In lower case; matches any of them. */
  readonly projectNames?: readonly string[]
  readonly agentName?: string
  /** Only traces that this asker may see. */
  readonly asker?: Asker
  readonly conversationId?: string
  readonly purpose?: FinishedRun['purpose']
  readonly outcome?: FinishedRun['outcome']
  /** `YYYY-MM-DD HH:MM:SS.ffffff`: traces that started at `from` or later, and before `to`. */
  readonly from?: string
  readonly to?: string
  /** A part of the question, ignoring case. */
  readonly questionPart?: string
}

export interface TraceSummary {
  readonly traceId: string
  readonly projectName: string
  readonly agentName: string
  readonly conversationId: string | null
  /** See `Asker.by`. */
  readonly askedBy: string | null
  readonly provider: string
  readonly modelName: string
  readonly purpose: FinishedRun['purpose']
  readonly question: string
  readonly outcome: FinishedRun['outcome']
  readonly errorCode: string | null
  /** `YYYY-MM-DD HH:MM:SS.ffffff`. */
  readonly startedAt: string
  readonly endedAt: string
  readonly tookMs: number
  readonly turnCount: number
  readonly stepCount: number
  readonly usage: FinishedRun['usage']
  readonly cost: number | null
  readonly feedback: Feedback | null
}

export type StoredTrace = TraceSummary &
  Omit<RunEnd, 'errorCode'> &
  Pick<FinishedRun, 'turns' | 'steps'>

export interface Feedback {
  /** From -1 to 1. */
  readonly rating: number
  readonly comment: string | null
  readonly createdAt: string
}

export interface TracePage {
  readonly items: readonly TraceSummary[]
  /** The cursor of the next page; null if there is none. */
  readonly next: number | null
}

/** Stores traces. A read includes every run that finished before it. */
export interface TraceStore extends RunSink {
  /** Newest first. @param before `next` from the previous page */
  list(
    filter: TraceFilter,
    page: { readonly limit: number; readonly before: number | null },
  ): Promise<TracePage>
  /** @throws AppError `trace_not_found`, like the next two */
  get(traceId: string): Promise<StoredTrace>
  remove(traceId: string): Promise<void>
  /** Replaces an earlier rating. */
  rate(traceId: string, feedback: Pick<Feedback, 'rating' | 'comment'>): Promise<Feedback>
  /** @returns the number of removed traces */
  removeAll(filter: TraceFilter): Promise<number>
  /** Resolves once all finished runs can be read with SQL. */
  settled(): Promise<void>
}
