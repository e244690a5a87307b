/** Where conversations with agents are kept. */
import type { Asker } from '../access/principal.ts'
import type { Agent } from '../agents/agent.ts'
import type { RunOutcome } from '../agents/agent-run.ts'
import type { AnswerFindings, Citation, EvidenceLevel } from '../agents/completion-event.ts'

/** Whose conversation it is: an agent of the same name that was made later has none of them. */
export type Owner = Pick<Agent, 'id' | 'projectId'>

/** What came with an answer besides its text and citations, as far as it is kept. */
export interface KeptFindings extends AnswerFindings {
  /** Missing from turns of older versions. */
  readonly evidence?: EvidenceLevel
  readonly warnings: readonly string[]
}

/** One question and what became of it. */
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
  /** null: nothing came, or it was asked before this was kept. */
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
  /** Of the oldest turns, where one was made for this question. */
  readonly summary: TurnSummary | null
}

/** What the oldest turns said, up to the one with the number `lastTurn`. */
export interface TurnSummary {
  readonly text: string
  readonly lastTurn: number
}

/** What a further question builds on. */
export interface KeptHistory {
  readonly askedBy: string | null
  readonly turnCount: number
  readonly summary: TurnSummary | null
  /** Those with an answer that are not in the summary, the oldest first; of very long ones the newest. */
  readonly turns: readonly {
    readonly number: number
    readonly question: string
    readonly answer: string
  }[]
}

export interface ConversationSummary {
  readonly conversationId: string
  /** The beginning of its first question. */
  readonly title: string
  readonly turnCount: number
  readonly startedAt: string
  /** Of its last turn. */
  readonly endedAt: string
}

export interface KeptConversation extends ConversationSummary {
  readonly summary: string | null
  /** The newest of those before the page's cursor, the oldest first. */
  readonly turns: readonly KeptTurn[]
  /** Where the turns before them are; null: there are none. */
  readonly next: number | null
}

export interface Page {
  readonly limit: number
  /** `next` of the page before. */
  readonly before: number | null
}

/** A conversation is there for whoever asked its first question, and for who sees all. */
export interface ConversationStore {
  /** @throws AppError `conversation_not_found` where this agent has none with this id */
  history(owner: Owner, conversationId: string, asker: Asker): Promise<KeptHistory>
  /** Resolves when it is on disk. Nothing is kept for an agent that was dropped meanwhile. */
  add(turn: NewTurn): Promise<void>
  /** The one that was asked last first. */
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
   * Removes a turn and those after it; a conversation that has none left is gone.
   * @throws AppError `conversation_not_found`, `trace_not_found` where it has no such turn
   */
  removeFrom(owner: Owner, conversationId: string, traceId: string): Promise<void>
  /** @throws AppError `conversation_not_found` */
  remove(owner: Owner, conversationId: string): Promise<void>
}
