import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Subprocess } from 'bun'
import { AppError } from '../../core/errors.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import {
  answerOf,
  type ReadingJob,
  type ReadingSummary,
  STOP_REASONS,
  STOPPED_FILE,
  type StopReason,
} from './reading-messages.ts'

export interface ReaderProcessOptions {
  /** Entry of the process: a file of `workers/`. */
  readonly entryUrl: string
  /** Nothing of the server's own environment: that has its keys. */
  readonly environment: Readonly<Record<string, string>>
  /** Without work it ends after this time. */
  readonly idleMs: number
}

/** A process that ended before it answered. */
interface Ended {
  /** A number, where it has no name. */
  readonly signal: string | number | null
  readonly exitCode: number | null
}

/**
 * A process that starts with its first job and does one at a time. What takes too long, swells or crashes costs that
 * process only: the next job gets another one.
 */
export class ReaderProcess {
  readonly #options: ReaderProcessOptions
  #process: Subprocess | null = null
  #idle: ReturnType<typeof setTimeout> | null = null
  #onMessage: (message: unknown) => void = () => {}

  constructor(options: ReaderProcessOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#process !== null
  }

  /** Starts it where it does not run, for a job that may come. */
  warm(): void {
    this.#running()
    this.#startIdling()
  }

  /** @throws AppError `file_unreadable`, or another one that the process answers; the signal's reason */
  async run(job: ReadingJob, deadlineMs: number, signal: AbortSignal): Promise<ReadingSummary> {
    signal.throwIfAborted()
    this.#stopIdling()
    const timeout = AbortSignal.timeout(deadlineMs)
    try {
      const message = await abortable(this.#answered(job), AbortSignal.any([signal, timeout]))
      const answer = answerOf(message, job)
      if (answer === null) throw unreadable('its reader answered nonsense')
      this.#startIdling()
      if (answer.kind === 'read') return answer.summary
      throw new AppError(answer.code, answer.message)
    } catch (error) {
      // One that answered is idle; any other may be busy for ever.
      if (this.#idle !== null) throw error
      await this.stop()
      if (signal.aborted) throw signal.reason
      if (timeout.aborted) throw tookTooLong(deadlineMs)
      throw error instanceof AppError ? error : await endOf(error, job)
    }
  }

  /** Ends the process at once, whatever it is doing. */
  async stop(): Promise<void> {
    this.#stopIdling()
    const ended = this.#process
    this.#process = null
    ended?.kill('SIGKILL')
    await ended?.exited
  }

  #answered(job: ReadingJob): Promise<unknown> {
    const running = this.#running()
    running.ref()
    const answer = Promise.withResolvers<unknown>()
    this.#onMessage = answer.resolve
    void running.exited.then(() => {
      if (this.#process === running) this.#process = null
      const { signalCode, exitCode } = running
      answer.reject({ signal: signalCode, exitCode } satisfies Ended)
    })
    try {
      running.send(job)
    } catch {
      // It has ended, which its exit says.
    }
    return answer.promise
  }

  #running(): Subprocess {
    if (this.#process !== null) return this.#process
    const path = fileURLToPath(this.#options.entryUrl)
    const started: Subprocess = Bun.spawn([process.execPath, '--no-env-file', path], {
      // Where no file lies that Bun reads on its own, such as a .env.
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
    // The process alone does not keep the server up.
    started.unref()
    this.#process = started
    return started
  }

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

/** What a caller hears of a process that ended by itself. */
async function endOf(ended: unknown, job: ReadingJob): Promise<AppError> {
  const { signal, exitCode } = ended as Ended
  const reason = await stopReason(job.folder)
  if (reason === 'output') {
    const limit = megabytes(job.limits.outputBytes)
    return unreadable(`it becomes more than ${limit}, the limit for a file of its size; split it`)
  }
  if (reason === 'cpu') {
    const limit = `${Math.round((job.limits.cpuMs ?? 0) / 1000)} s of processor time`
    return unreadable(`it took more than ${limit}, the limit for a file of its size; split it`)
  }
  // The operating system ends what takes too much memory in the same way.
  if (reason === 'memory' || signal === 'SIGKILL') {
    const limit = megabytes(job.limits.memoryBytes)
    const setting = 'EIDER_READING_MEMORY'
    return unreadable(
      `it took more than ${limit} of memory, the limit (${setting}); split the file, or raise the limit`,
    )
  }
  const how = signal ?? `exit code ${exitCode}`
  return unreadable(
    `its reader crashed (${how}); the file is damaged or made to do harm: save it anew with the program that made it`,
  )
}

async function stopReason(folder: string): Promise<StopReason | null> {
  const text = await readFile(join(folder, STOPPED_FILE), 'utf8').catch(() => '')
  return STOP_REASONS.find((reason) => reason === text) ?? null
}

function tookTooLong(deadlineMs: number): AppError {
  const seconds = Math.round(deadlineMs / 1000)
  return unreadable(`it took longer than ${seconds} s, the limit for a file of its size; split it`)
}

function unreadable(why: string): AppError {
  return new AppError('file_unreadable', `The file could not be read: ${why}`)
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MiB`
}
