import { AppError } from '../../core/errors.ts'
import { AGENT_LIMITS } from '../agent-limits.ts'
import { type AgentSeat, AgentThread } from './agent-thread.ts'

/**
 * All threads of agents. A thread belongs to one agent from its first question to its end, so that agents never share one;
 * it waits for the agent's next questions until it has been idle for a while. An agent's first few questions have separate
 * threads; more questions share them.
 */
export class AgentThreads {
  readonly #url: string
  readonly #sparesMax: number
  readonly #bound = new Set<AgentThread>()
  #spares: readonly AgentThread[] = []
  #isClosed = false
  #provider: string | null = null
  #timer: ReturnType<typeof setInterval> | null = null

  constructor(url: string, sparesMax: number) {
    this.#url = url
    this.#sparesMax = sparesMax
  }

  /** A place for one question. @throws AppError `shutting_down` */
  seat(given: {
    readonly agentId: number
    /** The provider of its model. */
    readonly provider: string
    /** Whether it has a separate thread. */
    readonly isAlone: boolean
  }): AgentSeat {
    const { agentId, provider, isAlone } = given
    if (this.#isClosed) throw new AppError('shutting_down', 'The server is shutting down')
    this.#provider = provider
    const own = [...this.#bound].filter((thread) => thread.agentId === agentId && thread.isOpen)
    const thread =
      (isAlone ? lastUsed(own.filter((one) => one.running === 0)) : quietest(own)) ?? this.#fresh()
    this.#bound.add(thread)
    this.#watch()
    return thread.seat(agentId, isAlone)
  }

  /** The next questions are probably for this provider's models: spare threads load what these need. */
  expect(provider: string): void {
    if (provider === this.#provider) return
    this.#provider = provider
    for (const spare of this.#spares) spare.prepare(provider)
  }

  /** After a question rather than during it: starting a thread would take processor time from its answer. */
  refill(): void {
    if (this.#isClosed) return
    const alive = this.#spares.filter((spare) => !spare.hasStopped)
    const fresh = Array.from({ length: this.#sparesMax - alive.length }, () => this.#started())
    // Loading an SDK takes longer than starting the thread, and the next question is probably of the same kind.
    const provider = this.#provider
    if (provider !== null) for (const thread of fresh) thread.prepare(provider)
    this.#spares = [...alive, ...fresh]
  }

  close(): void {
    this.#isClosed = true
    for (const thread of [...this.#spares, ...this.#bound]) thread.terminate()
    this.#spares = []
    this.#tidy()
  }

  /** Skips a spare that died meanwhile. */
  #fresh(): AgentThread {
    const [spare, ...rest] = this.#spares.filter((one) => !one.hasStopped)
    this.#spares = rest
    return spare ?? this.#started()
  }

  #started(): AgentThread {
    return new AgentThread({ url: this.#url, onFree: () => this.#tidy() })
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#tick(), AGENT_LIMITS.pingMs)
    this.#timer.unref()
  }

  #tick(): void {
    const rss = process.memoryUsage.rss()
    for (const thread of this.#bound) if (thread.running > 0) thread.watch(rss)
    this.#tidy()
  }

  /** Drops ended threads, and ends those idle for long or beyond the limit. */
  #tidy(): void {
    const now = performance.now()
    for (const thread of this.#bound) if (thread.hasStopped) this.#bound.delete(thread)
    const idle = [...this.#bound]
      .filter((thread) => thread.running === 0)
      .sort((a, b) => b.idleSinceMs - a.idleSinceMs)
    for (const [rank, thread] of idle.entries()) {
      const isOld = now - thread.idleSinceMs > AGENT_LIMITS.threadIdleMs
      if (!isOld && rank < AGENT_LIMITS.threadsIdleMax) continue
      thread.terminate()
      this.#bound.delete(thread)
    }
    if (this.#bound.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }
}

/** The most recently used thread, so that others can end. */
function lastUsed(idle: readonly AgentThread[]): AgentThread | undefined {
  return idle.toSorted((a, b) => b.idleSinceMs - a.idleSinceMs)[0]
}

/** The thread with the fewest questions; undefined: better start another one. */
function quietest(own: readonly AgentThread[]): AgentThread | undefined {
  const { threadsPerAgent, threadQuestionsMax } = AGENT_LIMITS
  // An answered question ends in a moment.
  const free = lastUsed(own.filter((thread) => thread.unanswered === 0))
  if (free !== undefined || own.length < threadsPerAgent) return free
  const [first] = own.toSorted((a, b) => a.unanswered - b.unanswered)
  return first !== undefined && first.running < threadQuestionsMax ? first : undefined
}
