import { randomUUID } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Subprocess } from 'bun'
import type {
  FileReading,
  ReadFile,
  SentFile,
  SourceFile,
} from '../../core/domain/ports/reading-ports.ts'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { FairPool } from '../../core/runtime/fair-pool.ts'
import { couldNotRead } from '../document-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { writtenDocuments } from './document-files.ts'
import {
  answerOf,
  type ReadingJob,
  type ReadingSummary,
  STOP_REASONS,
  STOPPED_FILE,
  type StopReason,
} from './reading-messages.ts'

export interface ReaderProcessesOptions {
  /** Entry of the processes. */
  readonly entryUrl: string
  /** Where each file gets a private folder; null: in the system's temporary folder. */
  readonly folder: string | null
  /** All that the processes get of one: nothing secret. */
  readonly environment: Readonly<Record<string, string>>
  /** For one process, resident. */
  readonly memoryBytes: number
  /** Processor time for a small file. */
  readonly readMs: number
  readonly outputBytes: number
  readonly queueMax: number
  readonly processesMax: number
  readonly idleMs: number
}

export function readerProcessesOptions(
  options: Pick<ReaderProcessesOptions, 'folder' | 'memoryBytes' | 'environment'>,
): ReaderProcessesOptions {
  return {
    entryUrl: new URL('../../wiring/threads/reading-entry.ts', import.meta.url).href,
    readMs: READING_LIMITS.readMs,
    outputBytes: READING_LIMITS.outputBytes,
    queueMax: READING_LIMITS.readsQueuedMax,
    processesMax: READING_LIMITS.processesMax,
    idleMs: READING_LIMITS.idleMs,
    ...options,
  }
}

/**
 * Reads files in separate processes: a few, started on demand and ended when idle. Requests take turns.
 */
export class ReaderProcesses {
  readonly #options: ReaderProcessesOptions
  readonly #processes: FairPool<ReaderProcess>
  #lastJob = 0

  constructor(options: ReaderProcessesOptions) {
    this.#options = options
    const { entryUrl, environment, idleMs, queueMax, processesMax } = options
    this.#processes = new FairPool({
      workersMax: processesMax,
      queueMax,
      tooBusyMessage: `More than ${queueMax} files are waiting to be read; try again later`,
      make: () => new ReaderProcess({ entryUrl, idleMs, environment }),
      isReady: (process) => process.isRunning,
    })
  }

  /** Its files take turns with those of others, in any number. */
  inTurns(turns: symbol): FileReading {
    return { readFile: (source, use, signal) => this.#readFile(source, use, signal, turns) }
  }

  async #readFile<T>(
    source: SourceFile | SentFile,
    use: (file: ReadFile) => Promise<T>,
    signal: AbortSignal,
    turns: symbol,
  ): Promise<T> {
    signal.throwIfAborted()
    const folder = await privateFolder(this.#options.folder)
    try {
      const file = await inFolder(source, folder)
      const summary = await this.#run(file, folder, signal, turns)
      const { format, recognized, warnings, tables, archive, scans } = summary
      const documents = writtenDocuments(folder, signal)
      return await use({ format, recognized, warnings, tables, archive, documents, scans })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** Ends the processes; waiting callers fail with `shutting_down`. */
  async close(): Promise<void> {
    const reason = new AppError('shutting_down', 'The reader of files is closed')
    await Promise.all(this.#processes.close(reason).map((process) => process.stop()))
  }

  async #run(
    source: SourceFile,
    folder: string,
    signal: AbortSignal,
    turns: symbol,
  ): Promise<ReadingSummary> {
    const { memoryBytes, readMs } = this.#options
    const { size } = await stat(source.path)
    const outputBytes = this.#options.outputBytes + READING_LIMITS.outputPerByte * size
    // Drawing a page takes longer than reading its text.
    const share = source.takesScans === true ? 3 : 1
    const cpuMs = Math.round(share * (readMs + (READING_LIMITS.readMsPerMegabyte * size) / 1e6))
    const deadlineMs = READING_LIMITS.waitMsPerCpuMs * cpuMs
    this.#lastJob += 1
    const job = { id: this.#lastJob, source, folder, limits: { memoryBytes, outputBytes, cpuMs } }
    return this.#processes.run({
      key: turns,
      signal,
      work: (process, ended) => {
        const read = process.run(job, deadlineMs, ended)
        // The next file should not have to wait for the start of a process.
        this.#processes.next()?.warm()
        return read
      },
    })
  }
}

async function inFolder(source: SourceFile | SentFile, folder: string): Promise<SourceFile> {
  if ('path' in source) return source
  const { bytes, ...rest } = source
  const path = join(folder, 'source')
  try {
    await writeFile(path, bytes, { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    const code = systemCodeOf(cause)
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw cause
    throw new AppError('storage_full', 'The file could not be written: the disk is full', { cause })
  }
  return { ...rest, path }
}

async function privateFolder(parent: string | null): Promise<string> {
  if (parent === null) return mkdtemp(join(tmpdir(), 'eider-reading-'))
  const folder = join(parent, randomUUID())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  return folder
}

interface ReaderProcessOptions {
  /** Entry of the process: a file of `workers/`. */
  readonly entryUrl: string
  /** None of the server's environment, which has its keys. */
  readonly environment: Readonly<Record<string, string>>
  /** Without work it ends after this time. */
  readonly idleMs: number
}

/** A process that ended before it answered. */
interface Ended {
  /** A number, if it has no name. */
  readonly signal: string | number | null
  readonly exitCode: number | null
}

/**
 * A process that starts with its first job and does one at a time. A job that takes too long, swells or crashes costs that
 * process only: the next job gets another one.
 */
class ReaderProcess {
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

  /** Starts the process if it is not running, for a job that may come. */
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
      if (answer === null) throw couldNotRead('its reader answered nonsense')
      this.#startIdling()
      if (answer.kind === 'read') return answer.summary
      throw new AppError(answer.code, answer.message)
    } catch (error) {
      // One that answered is idle; any other may be busy forever.
      if (this.#idle !== null) throw error
      await this.stop()
      if (signal.aborted) throw signal.reason
      if (timeout.aborted) throw tookTooLong(deadlineMs)
      throw error instanceof AppError ? error : await causeOfEnd(error, job)
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
      // It has ended, as its exit shows.
    }
    return answer.promise
  }

  #running(): Subprocess {
    if (this.#process !== null) return this.#process
    const path = fileURLToPath(this.#options.entryUrl)
    const started: Subprocess = Bun.spawn([process.execPath, '--no-env-file', path], {
      // A folder without files that Bun reads on its own, such as .env.
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
    // The process alone does not keep the server running.
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

/** The caller's error for a process that ended on its own. */
async function causeOfEnd(ended: unknown, job: ReadingJob): Promise<AppError> {
  const { signal, exitCode } = ended as Ended
  const reason = await stopReason(job.folder)
  if (reason === 'output') {
    const limit = megabytes(job.limits.outputBytes)
    return couldNotRead(`it becomes more than ${limit}, the limit for a file of its size; split it`)
  }
  if (reason === 'cpu') {
    const limit = `${Math.round((job.limits.cpuMs ?? 0) / 1000)} s of processor time`
    return couldNotRead(`it took more than ${limit}, the limit for a file of its size; split it`)
  }
  // The operating system also kills processes that take too much memory.
  if (reason === 'memory' || signal === 'SIGKILL') {
    const limit = megabytes(job.limits.memoryBytes)
    const setting = 'EIDER_READING_MEMORY'
    return couldNotRead(
      `it took more than ${limit} of memory, the limit (${setting}); split the file, or raise the limit`,
    )
  }
  const how = signal ?? `exit code ${exitCode}`
  return couldNotRead(
    `its reader crashed (${how}); the file is damaged or made to do harm: save it again with the program that made it`,
  )
}

async function stopReason(folder: string): Promise<StopReason | null> {
  const text = await readFile(join(folder, STOPPED_FILE), 'utf8').catch(() => '')
  return STOP_REASONS.find((reason) => reason === text) ?? null
}

function tookTooLong(deadlineMs: number): AppError {
  const seconds = Math.round(deadlineMs / 1000)
  return couldNotRead(
    `it took longer than ${seconds} s, the limit for a file of its size; split it`,
  )
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MiB`
}
