import { AGENT_LIMITS, firstChars } from '../../core/domain/agents/agent-limits.ts'
import { type RunStart, runNotFound } from '../../core/domain/agents/completion-event.ts'
import { AppError } from '../../core/errors.ts'
import { onAbort, startDeadline } from '../../core/runtime/cancellation.ts'
import { Semaphore } from '../../core/runtime/semaphore.ts'

/** A question that is waiting for a slot or being answered. */
export interface RunningQuestion
  extends Pick<RunStart, 'traceId' | 'agentName' | 'projectName' | 'askedBy'> {
  /** The start of the question. */
  readonly question: string
  readonly state: 'waiting' | 'running'
  readonly steps: number
  /** Seconds since the question arrived. */
  readonly seconds: number
  readonly model: { readonly provider: string; readonly modelName: string }
}

export interface RunningEntry {
  /** Aborts when the question is cancelled by its trace id. */
  readonly signal: AbortSignal
  /** Called when the question gets its slot. */
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

class RunningQuestions {
  readonly #entries = new Set<Entry>()
  /** A moving average in which recent questions count most. */
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

  /** In how many seconds a refused question could probably run, from recent durations. */
  secondsUntilFree(waiting: number, places: number): number {
    const seconds = (this.#meanMs / 1000) * (waiting / places)
    return Math.min(60, Math.max(1, Math.ceil(seconds)))
  }
}

export interface PlaceLimits {
  readonly agentsMax: number
  readonly agentQuestionsMax: number
  readonly agentQueueMax: number
}

export interface Admitted {
  readonly entry: RunningEntry
  /** In the time of `performance.now()`. */
  readonly endMs: number
  /** Aborts when the client disconnects, the run is cancelled, time is up or the server stops. */
  readonly signal: AbortSignal
}

/** How long a low-priority question waits for its slot: the longest possible timer. */
const PATIENCE_MS = 2 ** 31 - 1

/** Decides when questions start, wait and end. Each has one slot and one deadline. */
export class QuestionPlaces {
  readonly #places: Semaphore
  readonly #running = new RunningQuestions()
  readonly #closing = new AbortController()

  constructor({ agentsMax, agentQuestionsMax, agentQueueMax }: PlaceLimits) {
    const limits =
      `at most ${agentsMax} questions are answered at once (EIDER_AGENTS_MAX), ${agentQuestionsMax} of one agent ` +
      `(EIDER_AGENT_QUESTIONS_MAX), and ${agentQueueMax} wait (EIDER_AGENT_QUEUE_MAX)`
    this.#places = new Semaphore({
      placesMax: agentsMax,
      placesPerKeyMax: agentQuestionsMax,
      waitingMax: agentQueueMax,
      tooBusy: (waiting) => {
        const retryAfterSeconds = this.#running.secondsUntilFree(waiting, agentQuestionsMax)
        const message = `Too many questions: ${limits}. Try again in ${retryAfterSeconds} s`
        return new AppError('too_many_questions', message, { retryAfterSeconds })
      },
    })
  }

  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#places.taken, waiting: this.#places.waiting }
  }

  runs(): readonly RunningQuestion[] {
    return this.#running.list()
  }

  /** Ends a question; its client gets the error `cancelled`. @throws AppError `run_not_found` */
  cancelRun(traceId: string): void {
    this.#running.cancel(traceId)
  }

  /** @throws AppError `too_many_questions`, `timeout`, `cancelled`, `shutting_down` */
  async *within<Event, Result>(
    given: {
      readonly start: RunStart
      readonly seconds: number
      readonly signal: AbortSignal
    },
    answer: (admitted: Admitted) => AsyncGenerator<Event, Result>,
  ): AsyncGenerator<Event, Result> {
    const { start, seconds, signal } = given
    const entry = this.#running.begin(start)
    const isPatient = start.purpose === 'evaluation'
    let endMs = performance.now() + seconds * 1000
    const deadline = startDeadline({
      timeoutMs: isPatient ? PATIENCE_MS : seconds * 1000,
      signals: [signal, this.#closing.signal, entry.signal],
      timeoutError: () => {
        return new AppError(
          'timeout',
          `The agent gave no answer within ${seconds} seconds (timeout of the agent, or EIDER_AGENT_TIMEOUT_SECONDS)`,
        )
      },
      cancelledMessage: 'The question was cancelled',
    })
    try {
      const leave = await this.#places.enter(deadline.signal, start.agentId, { isPatient })
      entry.admitted()
      if (isPatient) {
        // The time for the answer starts with the slot.
        deadline.restart(seconds * 1000)
        endMs = performance.now() + seconds * 1000
      }
      // A client that stops reading without disconnecting must not keep the slot.
      onAbort(deadline.signal, () => {
        entry.end()
        leave()
      })
      try {
        deadline.signal.throwIfAborted()
        return yield* answer({ entry, endMs, signal: deadline.signal })
      } finally {
        leave()
      }
    } finally {
      deadline.end()
      entry.end()
    }
  }

  close(): void {
    this.#closing.abort(new AppError('shutting_down', 'The server is shutting down'))
  }
}
