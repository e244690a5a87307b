/** Where the runs of agents are written down. */
import type { Asker } from '../access/principal.ts'
import type { FinishedRun, ModelTurn, RunEnd, RunStart, ToolStep } from '../agents/agent-run.ts'

export interface RunTraces {
  /** Notes that a question has begun. Never throws and never waits: a trace that cannot be kept stops no answer. */
  begin(start: RunStart): RunTrace
}

/** The record of one question under way. Its methods never throw and never wait. */
export interface RunTrace {
  turn(turn: ModelTurn): void
  step(step: ToolStep): void
  /** Once; what comes after it is ignored. */
  end(end: RunEnd): void
}

/** Keeps nothing. */
export const NO_TRACES: RunTraces = {
  begin: () => ({ turn() {}, step() {}, end() {} }),
}

/** Takes runs that are over. */
export interface RunSink {
  /** Never throws and never waits. */
  keep(run: FinishedRun): void
}

/** Which traces are meant; what is missing does not matter. */
export interface TraceFilter {
  readonly projectName?: string
  /** In lower case; one of these. */
  readonly projectNames?: readonly string[]
  readonly agentName?: string
  /** Those alone that this one may see. */
  readonly asker?: Asker
  readonly conversationId?: string
  readonly purpose?: FinishedRun['purpose']
  readonly outcome?: FinishedRun['outcome']
  /** `YYYY-MM-DD HH:MM:SS.ffffff`: started then or later, and before then. */
  readonly from?: string
  readonly to?: string
  /** A part of the question, in whatever case. */
  readonly questionPart?: string
}

/** What a list shows of a run. */
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

/** What somebody thought of an answer. */
export interface Feedback {
  /** -1 to 1. */
  readonly rating: number
  readonly comment: string | null
  readonly createdAt: string
}

export interface TracePage {
  readonly items: readonly TraceSummary[]
  /** Where the next page begins; null: there is none. */
  readonly next: number | null
}

/** Traces as they are stored. What a reader asks for has every run that was over before. */
export interface TraceStore extends RunSink {
  /** The newest first. @param before `next` of the page before */
  list(
    filter: TraceFilter,
    page: { readonly limit: number; readonly before: number | null },
  ): Promise<TracePage>
  /** @throws AppError `trace_not_found`, as the next two */
  get(traceId: string): Promise<StoredTrace>
  remove(traceId: string): Promise<void>
  /** In the place of what was said before. */
  rate(traceId: string, feedback: Pick<Feedback, 'rating' | 'comment'>): Promise<Feedback>
  /** @returns how many there were */
  removeAll(filter: TraceFilter): Promise<number>
  /** Everything that is over can be read with SQL. */
  settled(): Promise<void>
}
