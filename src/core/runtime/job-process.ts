import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Subprocess } from 'bun'
import { abortable } from './cancellation.ts'

interface JobProcessOptions {
  readonly entryUrl: string
  /** The process gets none of the server's own environment, which contains its keys. */
  readonly environment: Readonly<Record<string, string>>
  /** After this time without a job, the process ends. */
  readonly idleMs: number
}

/** The process ended in the middle of a job. */
export class ProcessEnd extends Error {
  readonly signal: string | number | null
  readonly exitCode: number | null

  constructor({ signalCode, exitCode }: Pick<Subprocess, 'signalCode' | 'exitCode'>) {
    super(`the process ended: ${signalCode ?? exitCode}`)
    this.signal = signalCode
    this.exitCode = exitCode
  }
}

/** If a job takes too long or crashes, only this process ends; the next job starts one. */
export class JobProcess {
  readonly #options: JobProcessOptions
  #process: Subprocess | null = null
  #idle: ReturnType<typeof setTimeout> | null = null
  #onMessage: (message: unknown) => void = () => {}

  constructor(options: JobProcessOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#process !== null
  }

  /** Starts the process ahead of its job. */
  warm(): void {
    this.#running()
    this.#startIdling()
  }

  /** @returns an unchecked answer @throws ProcessEnd; the signal's reason: the process ends */
  async run(job: unknown, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    this.#stopIdling()
    try {
      const answer = await abortable(this.#answered(job), signal)
      this.#startIdling()
      return answer
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Ends the process at once, even in the middle of its work. */
  async stop(): Promise<void> {
    this.#stopIdling()
    const ended = this.#process
    this.#process = null
    ended?.kill('SIGKILL')
    await ended?.exited
  }

  #answered(job: unknown): Promise<unknown> {
    const running = this.#running()
    running.ref()
    const answer = Promise.withResolvers<unknown>()
    this.#onMessage = answer.resolve
    void running.exited.then(() => {
      if (this.#process === running) this.#process = null
      answer.reject(new ProcessEnd(running))
    })
    try {
      running.send(job)
    } catch {
      // The process has just ended, which its exit reports.
    }
    return answer.promise
  }

  #running(): Subprocess {
    if (this.#process !== null) return this.#process
    const path = fileURLToPath(this.#options.entryUrl)
    const started: Subprocess = Bun.spawn([process.execPath, '--no-env-file', path], {
      // A folder without files that Bun reads automatically, such as .env.
      cwd: dirname(path),
      env: this.#options.environment,
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'advanced',
      ipc: (message: unknown, from) => {
        if (from === this.#process) this.#onMessage(message)
      },
      onExit: (ended) => {
        if (this.#process === ended) this.#process = null
      },
    })
    started.unref()
    this.#process = started
    return started
  }

  /** An idle process keeps neither the server running nor its own memory forever. */
  #startIdling(): void {
    this.#stopIdling()
    this.#process?.unref()
    this.#idle = setTimeout(() => void this.stop(), this.#options.idleMs)
    this.#idle.unref()
  }

  #stopIdling(): void {
    if (this.#idle !== null) clearTimeout(this.#idle)
    this.#idle = null
  }
}
