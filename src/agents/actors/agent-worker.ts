import { AppError } from '../../errors.ts'
import { WorkerHost } from '../../runtime/worker-host.ts'
import type { ToWorker } from './worker-messages.ts'

export interface WorkerListener {
  message(data: unknown): void
  /** The thread is gone; nothing comes after this. */
  stopped(error: AppError): void
}

/** A thread that answers one question, from its start to its end. Warm until it is asked. */
export class AgentWorker {
  readonly #host: WorkerHost
  #listener: WorkerListener | null = null
  #failure: AppError | null = null

  constructor(url: string) {
    this.#host = new WorkerHost({
      url,
      onMessage: (data) => this.#listener?.message(data),
      onEnd: (cause, exitCode) => {
        this.#failure = crashed(cause, exitCode)
        this.#listener?.stopped(this.#failure)
      },
    })
  }

  get hasStopped(): boolean {
    return this.#host.hasEnded
  }

  /** From now on the process stays up for this thread. */
  listen(listener: WorkerListener): void {
    this.#listener = listener
    this.#host.setBusy(true)
    if (this.#failure !== null) listener.stopped(this.#failure)
  }

  post(message: ToWorker): void {
    this.#host.post(message)
  }

  /** At once, whatever the thread is doing. Its listener hears nothing more. */
  terminate(): void {
    this.#listener = null
    void this.#host.terminate()
  }
}

/** The thread's own words may hold anything: they are for the log. */
function crashed(cause: unknown, exitCode: number | undefined): AppError {
  const message = 'The agent stopped unexpectedly: its thread'
  if (exitCode === undefined) return new AppError('agent_crashed', `${message} failed`, { cause })
  return new AppError('agent_crashed', `${message} ended with exit code ${exitCode}`)
}

/** Threads that are up before a question comes. Each answers one question and is not taken back. */
export class SpareWorkers {
  readonly #url: string
  readonly #sparesMax: number
  #spares: readonly AgentWorker[] = []
  #isClosed = false
  #provider: string | null = null

  constructor(url: string, sparesMax: number) {
    this.#url = url
    this.#sparesMax = sparesMax
  }

  /** A thread of one's own for a model of this provider. A spare that has died meanwhile is passed over. */
  lease(provider: string): AgentWorker {
    this.#provider = provider
    if (this.#isClosed) throw new AppError('shutting_down', 'The server is shutting down')
    const [worker, ...rest] = this.#spares.filter((spare) => !spare.hasStopped)
    this.#spares = rest
    return worker ?? new AgentWorker(this.#url)
  }

  /** Better after a question than during it: the start of a thread would take the processor from its answer. */
  refill(): void {
    if (this.#isClosed) return
    const alive = this.#spares.filter((spare) => !spare.hasStopped)
    const missing = this.#sparesMax - alive.length
    const fresh = Array.from({ length: missing }, () => new AgentWorker(this.#url))
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
