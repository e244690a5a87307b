import type { RunStart } from '../../core/domain/agents/agent-run.ts'
import { runNotFound } from '../../core/domain/agents/agent-run.ts'
import { AppError } from '../../core/errors.ts'
import { AGENT_LIMITS, firstChars } from '../agent-limits.ts'

/** A question that waits for a place or is being answered. */
export interface RunningQuestion {
  readonly traceId: string
  readonly agentName: string
  readonly projectName: string
  /** `Asker.by`. */
  readonly askedBy: string | null
  /** Its beginning. */
  readonly question: string
  readonly state: 'waiting' | 'running'
  /** The number of tool calls. */
  readonly steps: number
  /** Since the question. */
  readonly seconds: number
  readonly model: { readonly provider: string; readonly modelName: string }
}

/** The entry of one question, for the code that answers it. */
export interface RunningEntry {
  /** Aborts when the question is cancelled by its trace id. */
  readonly signal: AbortSignal
  /** It has its place. */
  admitted(): void
  step(): void
  end(): void
}

interface Entry {
  readonly controller: AbortController
  readonly askedMs: number
  readonly about: Omit<RunningQuestion, 'state' | 'steps' | 'seconds'>
  state: RunningQuestion['state']
  steps: number
}

/** All running questions, the oldest first. */
export class RunningQuestions {
  readonly #entries = new Set<Entry>()
  /** A mean in which the last questions count most. */
  #meanMs = 1000

  begin({ traceId, agentName, projectName, askedBy, question, model }: RunStart): RunningEntry {
    const entry: Entry = {
      controller: new AbortController(),
      askedMs: performance.now(),
      about: {
        traceId,
        agentName,
        projectName,
        askedBy,
        question: firstChars(question, AGENT_LIMITS.questionCharsShown),
        model,
      },
      state: 'waiting',
      steps: 0,
    }
    this.#entries.add(entry)
    let admittedMs: number | null = null
    return {
      signal: entry.controller.signal,
      admitted: () => {
        entry.state = 'running'
        admittedMs = performance.now()
      },
      step: () => {
        entry.steps += 1
      },
      end: () => {
        if (!this.#entries.delete(entry) || admittedMs === null) return
        this.#meanMs += (performance.now() - admittedMs - this.#meanMs) / 8
      },
    }
  }

  list(): readonly RunningQuestion[] {
    const now = performance.now()
    return [...this.#entries].map(({ about, state, steps, askedMs }) => {
      return { ...about, state, steps, seconds: (now - askedMs) / 1000 }
    })
  }

  /** @throws AppError `run_not_found` */
  cancel(traceId: string): void {
    const entry = [...this.#entries].find(({ about }) => about.traceId === traceId)
    if (entry === undefined) throw runNotFound(traceId)
    const message = 'The question was cancelled by a DELETE of its run'
    entry.controller.abort(new AppError('cancelled', message))
  }

  /** When a question refused now could probably run, from how long the last ones took. */
  secondsUntilFree(waiting: number, places: number): number {
    const seconds = (this.#meanMs / 1000) * (waiting / places)
    return Math.min(60, Math.max(1, Math.ceil(seconds)))
  }
}
