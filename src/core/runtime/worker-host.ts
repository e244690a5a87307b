import { type Transferable, Worker } from 'node:worker_threads'
import { AppError } from '../errors.ts'

export interface WorkerHostOptions {
  /** Entry of the thread: a file of `workers/`. */
  readonly url: string
  readonly onMessage: (data: unknown) => void
  /**
   * Called once when the thread has ended or failed; nothing follows. The cause may contain anything: it is for
   * the log. The exit code is set if the thread ended without an error.
   */
  readonly onEnd: (cause: unknown, exitCode?: number) => void
}

/** The main thread's side of one thread, from its start to its end. The thread alone does not keep the process up. */
export class WorkerHost {
  readonly #worker: Worker
  readonly #options: WorkerHostOptions
  #hasEnded = false

  /** @throws AppError `out_of_memory` if there is no room for its stack */
  constructor(options: WorkerHostOptions) {
    this.#options = options
    this.#worker = started(options.url)
    this.#worker.unref()
    this.#worker.on('message', (data: unknown) => {
      if (!this.#hasEnded) options.onMessage(data)
    })
    this.#worker.on('messageerror', (error) => this.#end(error))
    this.#worker.on('error', (error) => this.#end(error))
    this.#worker.on('exit', (code) => this.#end(`the thread ended with exit code ${code}`, code))
  }

  /** A thread that has ended receives nothing more: start another one. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Does nothing once the thread has ended. */
  post(message: unknown, transfer: readonly Transferable[] = []): void {
    if (!this.#hasEnded) this.#worker.postMessage(message, [...transfer])
  }

  /** While it is busy the thread keeps the process up. */
  setBusy(isBusy: boolean): void {
    if (isBusy) this.#worker.ref()
    else this.#worker.unref()
  }

  /** Ends it at once, even during its work, without calling `onEnd`. */
  async terminate(): Promise<void> {
    this.#hasEnded = true
    await this.#worker.terminate()
  }

  #end(cause: unknown, exitCode?: number): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#options.onEnd(cause, exitCode)
  }
}

function started(url: string): Worker {
  try {
    return new Worker(new URL(url))
  } catch (cause) {
    const message = 'There is no memory for another thread: try again, or raise EIDER_MEMORY_LIMIT'
    throw new AppError('out_of_memory', message, { cause })
  }
}
