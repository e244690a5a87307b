import { type Transferable, Worker } from 'node:worker_threads'
import { AppError } from '../errors.ts'

interface WorkerHostOptions {
  readonly url: string
  readonly onMessage: (data: unknown) => void
  /** Once, with no message after. The cause is for the log; the code is set without an error. */
  readonly onEnd: (cause: unknown, exitCode?: number) => void
}

/** The main thread's handle on a worker thread. An idle one does not keep the process alive. */
export class WorkerHost {
  readonly #worker: Worker
  readonly #options: WorkerHostOptions
  #hasEnded = false

  /** @throws AppError `out_of_memory` if there is no memory for the thread's stack */
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

  /** Whether the thread has ended, so that messages no longer reach it. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Does nothing if the thread has ended. */
  post(message: unknown, transfer: readonly Transferable[] = []): void {
    if (!this.#hasEnded) this.#worker.postMessage(message, [...transfer])
  }

  /** A busy thread keeps the process alive. */
  setBusy(isBusy: boolean): void {
    if (isBusy) this.#worker.ref()
    else this.#worker.unref()
  }

  /** Ends the thread immediately, even while it works, without calling `onEnd`. */
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
    const message =
      'There is not enough memory for another thread: try again, or raise EIDER_MEMORY_LIMIT'
    throw new AppError('out_of_memory', message, { cause })
  }
}
