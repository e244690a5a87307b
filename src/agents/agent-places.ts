import { AppError } from '../errors.ts'

export interface PlaceLimits {
  /** Questions that are answered at once. */
  readonly agentsMax: number
  /** Of these, questions to one agent. */
  readonly agentQuestionsMax: number
  /** Questions that may wait for a place. */
  readonly agentQueueMax: number
}

interface Waiting {
  readonly agentId: number
  enter(): void
}

/** Gives the place back; a second call does nothing. */
export type LeavePlace = () => void

/** Who may be answered now. First come, first served, past those whose agent is busy. */
export class AgentPlaces {
  readonly #limits: PlaceLimits
  readonly #busy = new Map<number, number>()
  #waiting: readonly Waiting[] = []
  #taken = 0

  constructor(limits: PlaceLimits) {
    this.#limits = limits
  }

  get taken(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * @throws AppError `too_busy` when the queue is full; the signal's reason when it aborts while
   * waiting
   */
  async enter(agentId: number, signal: AbortSignal): Promise<LeavePlace> {
    signal.throwIfAborted()
    if (this.#isFree(agentId)) return this.#take(agentId)
    const { agentQueueMax } = this.#limits
    if (this.#waiting.length >= agentQueueMax) throw this.#tooBusy()
    const turn = Promise.withResolvers<LeavePlace>()
    const waiting = { agentId, enter: () => turn.resolve(this.#take(agentId)) }
    const abort = () => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting)
      turn.reject(signal.reason)
    }
    this.#waiting = [...this.#waiting, waiting]
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await turn.promise
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  #isFree(agentId: number): boolean {
    const { agentsMax, agentQuestionsMax } = this.#limits
    return this.#taken < agentsMax && this.#busyWith(agentId) < agentQuestionsMax
  }

  #busyWith(agentId: number): number {
    return this.#busy.get(agentId) ?? 0
  }

  #take(agentId: number): LeavePlace {
    this.#count(agentId, 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#count(agentId, -1)
      this.#letIn()
    }
  }

  #count(agentId: number, change: 1 | -1): void {
    this.#taken += change
    const busy = this.#busyWith(agentId) + change
    if (busy === 0) this.#busy.delete(agentId)
    else this.#busy.set(agentId, busy)
  }

  /** One place became free, so at most one gets in. */
  #letIn(): void {
    const next = this.#waiting.find((one) => this.#isFree(one.agentId))
    if (next === undefined) return
    this.#waiting = this.#waiting.filter((one) => one !== next)
    next.enter()
  }

  #tooBusy(): AppError {
    const { agentsMax, agentQuestionsMax, agentQueueMax } = this.#limits
    const limits =
      `at most ${agentsMax} questions are answered at once, ${agentQuestionsMax} of one agent, ` +
      `and ${agentQueueMax} wait`
    return new AppError('too_busy', `Too many questions: ${limits}. Try again later`)
  }
}
