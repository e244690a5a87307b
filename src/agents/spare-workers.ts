import { AppError } from '../errors.ts'
import { AgentWorker } from './agent-worker.ts'

export interface SpareOptions {
  readonly url: string
  readonly sparesMax: number
}

/** Threads that are up before a question comes. Each answers one question and is not taken back. */
export class SpareWorkers {
  readonly #options: SpareOptions
  #spares: readonly AgentWorker[] = []
  #isClosed = false
  #provider: string | null = null

  constructor(options: SpareOptions) {
    this.#options = options
    this.refill()
  }

  /**
   * A thread of one's own for a model of this provider. A spare that has died meanwhile is passed over.
   */
  lease(provider: string): AgentWorker {
    this.#provider = provider
    if (this.#isClosed) throw new AppError('shutting_down', 'The server is shutting down')
    const [worker, ...rest] = this.#spares.filter((spare) => !spare.hasStopped)
    this.#spares = rest
    return worker ?? new AgentWorker(this.#options.url)
  }

  /**
   * Better after a question than during it: the start of a thread would take the processor from its
   * answer.
   */
  refill(): void {
    if (this.#isClosed) return
    const alive = this.#spares.filter((spare) => !spare.hasStopped)
    const missing = this.#options.sparesMax - alive.length
    const fresh = Array.from({ length: missing }, () => new AgentWorker(this.#options.url))
    // Loading an SDK takes longer than starting the thread, and the next question is probably of the same kind.
    const provider = this.#provider
    if (provider !== null) for (const worker of fresh) worker.post({ kind: 'prepare', provider })
    this.#spares = [...alive, ...fresh]
  }

  close(): void {
    this.#isClosed = true
    for (const spare of this.#spares) spare.terminate()
    this.#spares = []
  }
}
