import { randomUUID } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
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
import { READING_LIMITS } from '../reading-limits.ts'
import { writtenDocuments } from './document-files.ts'
import { ReaderProcess } from './reader-process.ts'
import type { ReadingSummary } from './reading-messages.ts'

export interface ReaderProcessesOptions {
  /** Entry of the processes. */
  readonly entryUrl: string
  /** Where each file gets a folder of its own; null: in the operating system's temporary folder. */
  readonly folder: string | null
  /** All that the processes have of one: nothing secret. */
  readonly environment: Readonly<Record<string, string>>
  /** Of one process, resident. */
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
 * Reads files in processes of their own, apart from the server: a few, which are started when they are needed and end when
 * they are not. Requests take turns.
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

  /** What is read by it takes turns with that of others, however much of it there is. */
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
      const { format, recognized, warnings, tables, archive } = summary
      const documents = writtenDocuments(folder, signal)
      return await use({ format, recognized, warnings, tables, archive, documents })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** Ends the processes; whoever waits fails with `shutting_down`. */
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
    const cpuMs = Math.round(readMs + (READING_LIMITS.readMsPerMegabyte * size) / 1e6)
    const deadlineMs = READING_LIMITS.waitMsPerCpuMs * cpuMs
    this.#lastJob += 1
    const job = { id: this.#lastJob, source, folder, limits: { memoryBytes, outputBytes, cpuMs } }
    return this.#processes.run({
      key: turns,
      signal,
      work: (process, ended) => {
        const read = process.run(job, deadlineMs, ended)
        // The next file, of whoever, shall not wait for the start of a process.
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
