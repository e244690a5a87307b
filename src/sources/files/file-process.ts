import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Subprocess } from 'bun'
import { AppError } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import type { PooledConnection } from '../connection-pool.ts'
import { type FileJob, type FileRequest, replyOf } from './file-messages.ts'

export interface FileProcessOptions {
  /** Entry of the process: a file of `workers/`. */
  readonly entryUrl: string
  /** Nothing of the server's own environment: that has its keys. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * A process that reads one database file at a time. What takes too long, swells or crashes costs that process only. It
 * holds no file while it has no job, so that those who write to it are not kept out.
 */
export class FileProcess implements PooledConnection {
  readonly #process: Subprocess
  #reply = Promise.withResolvers<unknown>()
  #hasEnded = false

  constructor({ entryUrl, environment }: FileProcessOptions) {
    const path = fileURLToPath(entryUrl)
    this.#process = Bun.spawn([process.execPath, '--no-env-file', path], {
      // Where no file lies that Bun reads on its own, such as a .env.
      cwd: dirname(path),
      env: environment,
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'advanced',
      ipc: (message: unknown) => this.#reply.resolve(message),
      onExit: () => {
        this.#hasEnded = true
        this.#reply.reject(ENDED)
      },
    })
    this.#reply.promise.catch(() => {})
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  setBusy(isBusy: boolean): void {
    if (isBusy) this.#process.ref()
    else this.#process.unref()
  }

  /** @throws AppError; the signal's reason. The process ends when the signal aborts. */
  async ask(request: FileRequest, job: FileJob, signal: AbortSignal): Promise<unknown> {
    if (this.#hasEnded) throw await causeOfEnd(job)
    this.#reply = Promise.withResolvers<unknown>()
    this.#reply.promise.catch(() => {})
    try {
      this.#process.send(request)
    } catch {
      // It has ended, which its exit says.
    }
    let message: unknown
    try {
      message = await abortable(this.#reply.promise, signal)
    } catch (error) {
      await this.close()
      throw error === ENDED ? await causeOfEnd(job) : error
    }
    const reply = replyOf(message, job.id)
    if (reply?.kind === 'failed') throw new FileFailure(reply.code, reply.message)
    const answer = reply === null ? undefined : parsedJson(reply.json)
    if (answer !== undefined) return answer
    await this.close()
    throw nonsense()
  }

  /** Ends the process at once, whatever it is doing. */
  async close(): Promise<void> {
    this.#hasEnded = true
    this.#process.kill('SIGKILL')
    await this.#process.exited
  }
}

const ENDED = Symbol('the process has ended')

/** A cause without the name of its data source. */
export class FileFailure extends Error {
  readonly code: 'source_failed' | 'storage_full'

  constructor(code: FileFailure['code'], message: string) {
    super(message)
    this.code = code
  }
}

export function nonsense(): FileFailure {
  return new FileFailure('source_failed', 'the process that reads it answered nonsense')
}

/** In the folder of a job: why the process ended itself. */
const STOPPED_FILE = 'stopped'

async function causeOfEnd({ folder, limits }: FileJob): Promise<Error> {
  const reason = await readFile(join(folder, STOPPED_FILE), 'utf8').catch(() => '')
  if (reason === 'memory') {
    const limit = `${Math.round(limits.memoryBytes / 1024 ** 2)} MB`
    const message = `reading it takes more than ${limit} of memory (EIDER_READING_MEMORY); ask for fewer rows or columns`
    return new FileFailure('source_failed', message)
  }
  if (reason === 'output') {
    return new AppError(
      'storage_full',
      'The rows of a data source do not fit on the disk of the data folder; narrow the statement, or make room',
    )
  }
  return new FileFailure(
    'source_failed',
    'the process that reads it crashed; the file may be damaged',
  )
}
