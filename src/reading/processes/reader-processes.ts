import { randomUUID } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  FileReading,
  ReadFile,
  SentFile,
  SourceFile,
} from '../../core/domain/ports/reading-ports.ts'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { FairPool } from '../../core/runtime/fair-pool.ts'
import { JobProcess, ProcessEnd } from '../../core/runtime/job-process.ts'
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
  readonly entryUrl: string
  /**
   * The folder in which each file gets its own subfolder; null for the system's temporary folder.
   */
  readonly folder: string | null
  /** The complete environment of the processes, without secrets. */
  readonly environment: Readonly<Record<string, string>>
  readonly memoryBytes: number
  /** The CPU time for a small file. */
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

/** Processes are started on demand and ended when idle. Requests take turns. */
export class ReaderProcesses {
  readonly #options: ReaderProcessesOptions
  readonly #processes: FairPool<JobProcess>
  #lastJob = 0

  constructor(options: ReaderProcessesOptions) {
    this.#options = options
    const { entryUrl, environment, idleMs, queueMax, processesMax } = options
    this.#processes = new FairPool({
      workersMax: processesMax,
      queueMax,
      tooBusyMessage: `More than ${queueMax} files are waiting to be read; try again later`,
      make: () => new JobProcess({ entryUrl, idleMs, environment }),
      isReady: (process) => process.isRunning,
    })
  }

  /** Returns a reader whose files take turns with those of others, however many they are. */
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

  /** Ends the processes. Waiting callers fail with `shutting_down`. */
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
    // Rendering a page takes longer than reading its text.
    const share = source.takesScans === true ? 3 : 1
    const cpuMs = Math.round(share * (readMs + (READING_LIMITS.readMsPerMegabyte * size) / 1e6))
    const deadlineMs = READING_LIMITS.waitMsPerCpuMs * cpuMs
    this.#lastJob += 1
    const job = { id: this.#lastJob, source, folder, limits: { memoryBytes, outputBytes, cpuMs } }
    return this.#processes.run({
      key: turns,
      signal,
      work: (process, ended) => {
        const read = readBy(process, { job, deadlineMs }, ended)
        // Spares the next file from waiting for a process to start.
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

/** @throws AppError `file_unreadable`, or another one that the process answers; the signal's reason */
async function readBy(
  process: JobProcess,
  { job, deadlineMs }: { readonly job: ReadingJob; readonly deadlineMs: number },
  signal: AbortSignal,
): Promise<ReadingSummary> {
  const timeout = AbortSignal.timeout(deadlineMs)
  const message = await process
    .run(job, AbortSignal.any([signal, timeout]))
    .catch(async (error: unknown) => {
      if (signal.aborted) throw signal.reason
      if (timeout.aborted) throw tookTooLong(deadlineMs)
      throw error instanceof ProcessEnd ? await causeOfEnd(error, job) : error
    })
  const answer = answerOf(message, job)
  if (answer?.kind === 'read') return answer.summary
  if (answer !== null) throw new AppError(answer.code, answer.message)
  await process.stop()
  throw couldNotRead('its reader gave an invalid answer')
}

/** The error for the caller if a process ended by itself. */
async function causeOfEnd({ signal, exitCode }: ProcessEnd, job: ReadingJob): Promise<AppError> {
  const reason = await stopReason(job.folder)
  if (reason === 'output') {
    const limit = megabytes(job.limits.outputBytes)
    return couldNotRead(`it becomes more than ${limit}, the limit for a file of its size; split it`)
  }
  if (reason === 'cpu') {
    const limit = `${Math.round((job.limits.cpuMs ?? 0) / 1000)} s of processor time`
    return couldNotRead(`it took more than ${limit}, the limit for a file of its size; split it`)
  }
  // The operating system also kills processes that use too much memory.
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
