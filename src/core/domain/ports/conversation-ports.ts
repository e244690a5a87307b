import type { Asker } from '../access/principal.ts'
import type { Agent } from '../agents/agent.ts'
import type {
  AnswerFindings,
  Citation,
  EvidenceLevel,
  FinishedRun,
  ModelTurn,
  RunEnd,
  RunOutcome,
  RunStart,
  ToolStep,
} from '../agents/completion-event.ts'

/** Where conversations with agents are kept. */

/** The agent that owns a conversation. A later agent of the same name does not inherit it. */
export type Owner = Pick<Agent, 'id' | 'projectId'>

/** The stored parts of an answer besides its text and citations. */
export interface KeptFindings extends AnswerFindings {
  /** Missing from turns of older versions. */
  readonly evidence?: EvidenceLevel
  readonly warnings: readonly string[]
}

/** One question and its outcome. */
export interface KeptTurn {
  /** Grows with each turn of any conversation. */
  readonly number: number
  readonly traceId: string
  readonly question: string
  /** null: there was none. */
  readonly answer: string | null
  readonly outcome: RunOutcome
  readonly errorCode: string | null
  readonly citations: readonly Citation[]
  /** null: none, or asked before findings were stored. */
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
  /** The summary of the oldest turns made for this question. */
  readonly summary: TurnSummary | null
}

/** The summary of the oldest turns, up to number `lastTurn`. */
interface TurnSummary {
  readonly text: string
  readonly lastTurn: number
}

/** The base of a further question. */
export interface KeptHistory {
  readonly askedBy: string | null
  readonly turnCount: number
  readonly summary: TurnSummary | null
  /** Answered turns after the summary, oldest first; if they are very long, only the newest. */
  readonly turns: readonly {
    readonly number: number
    readonly question: string
    readonly answer: string
  }[]
}

export interface ConversationSummary {
  readonly conversationId: string
  /** The start of its first question. */
  readonly title: string
  readonly turnCount: number
  readonly startedAt: string
  /** The end of its last turn. */
  readonly endedAt: string
}

export interface KeptConversation extends ConversationSummary {
  readonly summary: string | null
  /** The newest before the cursor, oldest first. */
  readonly turns: readonly KeptTurn[]
  /** Cursor of the turns before them; null: none. */
  readonly next: number | null
}

export interface Page {
  readonly limit: number
  /** `next` of the page before. */
  readonly before: number | null
}

/** A conversation is visible to the asker of its first question, and to principals that see all. */
export interface ConversationStore {
  /** @throws AppError `conversation_not_found` for an unknown id of this agent */
  history(owner: Owner, conversationId: string, asker: Asker): Promise<KeptHistory>
  /** Resolves once it is on disk. Stores nothing if the agent was dropped meanwhile. */
  add(turn: NewTurn): Promise<void>
  /** Most recent question first. */
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
   * Removes a turn and those after it; a conversation without turns disappears.
   * @throws AppError `conversation_not_found`, `trace_not_found` for an unknown turn
   */
  removeFrom(owner: Owner, conversationId: string, traceId: string): Promise<void>
  /** @throws AppError `conversation_not_found` */
  remove(owner: Owner, conversationId: string): Promise<void>
}

/** Records runs of agents. */

export interface RunTraces {
  /** Records the start of a question. Never throws or waits: a trace that cannot be stored delays no answer. */
  begin(start: RunStart): RunTrace
}

/** The record of one running question. Its methods never throw and never wait. */
export interface RunTrace {
  turn(turn: ModelTurn): void
  step(step: ToolStep): void
  /** Once; later calls are ignored. */
  end(end: RunEnd): void
}

/** Keeps nothing. */
export const NO_TRACES: RunTraces = {
  begin: () => ({ turn() {}, step() {}, end() {} }),
}

/** Receives finished runs. */
export interface RunSink {
  /** Never throws and never waits. */
  keep(run: FinishedRun): void
}

/** Which traces are meant; what is missing does not matter. */
export interface TraceFilter {
  readonly projectName?: string
  /** In lower case; any of these. */
  readonly projectNames?: readonly string[]
  readonly agentName?: string
  /** Only those that this asker may see. */
  readonly asker?: Asker
  readonly conversationId?: string
  readonly purpose?: FinishedRun['purpose']
  readonly outcome?: FinishedRun['outcome']
  /** `YYYY-MM-DD HH:MM:SS.ffffff`: started then or later, and before then. */
  readonly from?: string
  readonly to?: string
  /** Part of the question; case is ignored. */
  readonly questionPart?: string
}

/** A run in a list. */
export interface TraceSummary {
  readonly traceId: string
  readonly projectName: string
  readonly agentName: string
  readonly conversationId: string | null
  /** `Asker.by`. */
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

/** A whole run. */
export interface StoredTrace
  extends TraceSummary,
    Pick<FinishedRun, 'answer' | 'evidence' | 'errorMessage'> {
  readonly citations: FinishedRun['citations']
  readonly warnings: readonly string[]
  readonly turns: readonly ModelTurn[]
  readonly steps: readonly ToolStep[]
}

/** A user's rating of an answer. */
export interface Feedback {
  /** -1 to 1. */
  readonly rating: number
  readonly comment: string | null
  readonly createdAt: string
}

export interface TracePage {
  readonly items: readonly TraceSummary[]
  /** Cursor of the next page; null: none. */
  readonly next: number | null
}

/** Stored traces. A read includes every run finished before it. */
export interface TraceStore extends RunSink {
  /** The newest first. @param before `next` of the page before */
  list(
    filter: TraceFilter,
    page: { readonly limit: number; readonly before: number | null },
  ): Promise<TracePage>
  /** @throws AppError `trace_not_found`, as the next two */
  get(traceId: string): Promise<StoredTrace>
  remove(traceId: string): Promise<void>
  /** Replaces the earlier rating. */
  rate(traceId: string, feedback: Pick<Feedback, 'rating' | 'comment'>): Promise<Feedback>
  /** @returns how many were removed */
  removeAll(filter: TraceFilter): Promise<number>
  /** Resolves once all finished runs can be read with SQL. */
  settled(): Promise<void>
}
