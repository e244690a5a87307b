/** Where the runs of agents are written down. `store/` implements it. */
import type { ModelTurn, RunEnd, RunStart, ToolStep } from '../agents/agent-run.ts'

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
