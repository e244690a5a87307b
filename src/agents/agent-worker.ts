import { Worker } from 'node:worker_threads'
import { AppError } from '../errors.ts'
import type { ToWorker } from './protocol.ts'

export interface WorkerListener {
  message(data: unknown): void
  /** The thread is gone; nothing comes after this. */
  stopped(error: AppError): void
}

/** A thread that answers one question, from its start to its end. Warm until it is asked. */
export class AgentWorker {
  readonly #worker: Worker
  #listener: WorkerListener | null = null
  #stop: AppError | null = null

  constructor(url: string) {
    this.#worker = new Worker(new URL(url))
    // A server that is done may end although a spare thread is up.
    this.#worker.unref()
    this.#worker.on('message', (data: unknown) => this.#listener?.message(data))
    this.#worker.on('messageerror', (error) =>
      this.#stopped(crashed('it was not understood', error)),
    )
    this.#worker.on('error', (error) => this.#stopped(crashed('its thread failed', error)))
    this.#worker.on('exit', (code) => {
      this.#stopped(crashed(`its thread ended with exit code ${code}`, null))
    })
  }

  get hasStopped(): boolean {
    return this.#stop !== null
  }

  /** From now on the process stays up for this thread. */
  listen(listener: WorkerListener): void {
    this.#listener = listener
    this.#worker.ref()
    if (this.#stop !== null) listener.stopped(this.#stop)
  }

  post(message: ToWorker): void {
    if (this.#stop === null) this.#worker.postMessage(message)
  }

  /** At once, whatever the thread is doing. Its listener hears nothing any more. */
  terminate(): void {
    this.#listener = null
    this.#stop ??= new AppError('agent_crashed', 'The agent was stopped')
    void this.#worker.terminate()
  }

  #stopped(error: AppError): void {
    if (this.#stop !== null) return
    this.#stop = error
    this.#listener?.stopped(error)
  }
}

/** The thread's own words may hold anything: they are for the log. */
function crashed(what: string, cause: unknown): AppError {
  return new AppError('agent_crashed', `The agent stopped unexpectedly: ${what}`, { cause })
}
