import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { TokenCounter } from '../../core/domain/ports/model-ports.ts'
import type {
  DocumentReading,
  FileReading,
  RawDocument,
  ReadDocument,
} from '../../core/domain/ports/reading-ports.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { FairPool } from '../../core/runtime/fair-pool.ts'
import { WorkerHost } from '../../core/runtime/worker-host.ts'
import { wholeDocument } from '../../reading/document-format.ts'
import {
  ReaderProcesses,
  type ReaderProcessesOptions,
  readerProcessesOptions,
} from '../../reading/processes/reader-processes.ts'
import { BYTE_COUNTER } from '../chunking/chunk-text.ts'
import {
  type ChunkableText,
  type ChunkedTexts,
  type ChunkingRules,
  chunkTexts,
} from '../chunking/chunk-texts.ts'
import type { Chunker } from '../chunking/chunker.ts'
import type { ReaderAnswer, ReaderJob } from './reader-job.ts'
import { type OcrModel, refuseScans, withScans } from './scans.ts'

interface DocumentReaderOptions {
  readonly workerUrl: string
  readonly processes: ReaderProcessesOptions
  readonly matchMs: number
  readonly chunkingMs: number
  readonly queueMax: number
  /** The token counter of the built-in model. If missing, work that needs it runs in a thread. */
  readonly wordPieces?: () => TokenCounter
  /** A vision model that reads scanned text. If missing, scans are not read. */
  readonly ocr?: OcrModel | undefined
}

export function documentReaderOptions(
  processes: Parameters<typeof readerProcessesOptions>[0] = IN_TEMPORARY_FOLDER,
): DocumentReaderOptions {
  return {
    processes: readerProcessesOptions(processes),
    workerUrl: new URL('../../wiring/threads/reader-entry.ts', import.meta.url).href,
    matchMs: INGEST_LIMITS.matchMs,
    chunkingMs: INGEST_LIMITS.chunkingMs,
    queueMax: INGEST_LIMITS.readsQueuedMax,
  }
}

const IN_TEMPORARY_FOLDER = { folder: null, memoryBytes: 1024 ** 3, environment: {} }

/** A request uses one thread at a time, so it cannot block the others. */
const PATTERN_THREADS = 3
const TEXT_THREADS = 2

/** Separate threads, so that long texts and slow patterns do not delay each other. */
type ReaderThreads = Readonly<Record<'patterns' | 'texts' | 'longTexts', FairPool<ReaderThread>>>

/** Files may be long, broken or hostile: processes read them, threads match and chunk texts. */
export class DocumentReader implements DocumentReading, Chunker {
  readonly #options: DocumentReaderOptions
  readonly #threads: ReaderThreads
  readonly #processes: ReaderProcesses
  /** Identifies the request whose work takes turns with others. */
  readonly #turns: symbol
  readonly #files: FileReading

  /** @param shared uses the threads and processes of another reader, which will close them */
  constructor(options: DocumentReaderOptions = documentReaderOptions(), shared?: DocumentReader) {
    this.#options = options
    this.#turns = Symbol('turns')
    this.#threads = shared === undefined ? readerThreads(options) : shared.#threads
    this.#processes =
      shared === undefined ? new ReaderProcesses(options.processes) : shared.#processes
    this.#files = this.#processes.inTurns(this.#turns)
  }

  /** Its work takes turns with that of other requests, however much it is. */
  forRequest(): DocumentReading & Chunker {
    return new DocumentReader(this.#options, this)
  }

  readFile: FileReading['readFile'] = (source, use, signal) => {
    const { ocr: model } = this.#options
    const { ocr: wish = 'yes', ...options } = source.options
    const plain = { ...source, options }
    if (model === undefined || wish === 'no') return this.#files.readFile(plain, use, signal)
    return this.#files.readFile(
      { ...plain, takesScans: true },
      async (file) => {
        if (wish === 'ask') refuseScans(file, model)
        return use(await withScans(file, model, signal))
      },
      signal,
    )
  }

  /** Returns the first document in these bytes, or an empty one. */
  read({ bytes, format, charset, url }: RawDocument, signal: AbortSignal): Promise<ReadDocument> {
    const contentType = charset === null ? null : `text/plain; charset=${charset}`
    const sent = { bytes, name: '', contentType, url, options: { format } }
    return this.#files.readFile(
      sent,
      async ({ documents }) => {
        for await (const document of documents) return document
        return wholeDocument({ content: '', title: null, syntax: 'text' })
      },
      signal,
    )
  }

  async matching(
    texts: readonly string[],
    patterns: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if (texts.length === 0 || patterns.length === 0) return []
    const terms: JobTerms = {
      deadlineMs: this.#options.matchMs,
      code: 'insert_failed',
      what: 'Matching the patterns',
    }
    const answer = await this.#run('patterns', { kind: 'match', texts, patterns }, terms, signal)
    if (answer.kind !== 'matching') throw new Error('the reader thread answered another question')
    return answer.texts
  }

  /** Chunks small texts on the main thread, which is faster than sending them to another. */
  async chunk(
    texts: readonly ChunkableText[],
    rules: ChunkingRules,
    signal: AbortSignal,
  ): Promise<ChunkedTexts> {
    signal.throwIfAborted()
    const chars = texts.reduce((sum, { text }) => sum + text.length, 0)
    const wordPieces = this.#wordPiecesFor(rules)
    if (chars <= INGEST_LIMITS.chunkingAtOnceChars && wordPieces !== null) {
      return chunkTexts(texts, rules, wordPieces)
    }
    const kind = chars > INGEST_LIMITS.longTextChars ? 'longTexts' : 'texts'
    const terms: JobTerms = {
      deadlineMs: this.#options.chunkingMs,
      code: 'insert_failed',
      what: 'Chunking the text',
    }
    const answer = await this.#run(kind, { kind: 'chunk', texts, rules }, terms, signal)
    if (answer.kind !== 'chunked') throw new Error('the reader thread answered another question')
    return answer.chunked
  }

  /** Null if these rules need something that only the threads have. */
  #wordPiecesFor({ reach }: ChunkingRules): (() => TokenCounter) | null {
    const { wordPieces } = this.#options
    if (wordPieces !== undefined) return wordPieces
    return reach?.tokenizer === 'word_piece' ? null : () => BYTE_COUNTER
  }

  /** Ends threads and processes. Waiting callers fail with `shutting_down`. */
  async close(): Promise<void> {
    const reason = new AppError('shutting_down', 'The document reader is closed')
    const threads = Object.values(this.#threads).flatMap((pool) => pool.close(reason))
    await Promise.all([...threads.map((thread) => thread.stop()), this.#processes.close()])
  }

  #run(
    kind: keyof ReaderThreads,
    job: ReaderJob,
    terms: JobTerms,
    signal: AbortSignal,
  ): Promise<ReaderAnswer> {
    const work = (thread: ReaderThread, ended: AbortSignal) => thread.run(job, terms, ended)
    return this.#threads[kind].run({ key: this.#turns, signal, work })
  }
}

function readerThreads({ workerUrl, queueMax }: DocumentReaderOptions): ReaderThreads {
  const threads = (workersMax: number) => {
    const tooBusyMessage = `More than ${queueMax} documents are waiting to be read; try again later`
    const make = () => new ReaderThread(workerUrl)
    return new FairPool({ workersMax, queueMax, tooBusyMessage, make })
  }
  return {
    patterns: threads(PATTERN_THREADS),
    texts: threads(TEXT_THREADS),
    longTexts: threads(TEXT_THREADS),
  }
}

/** A job's deadline, and the error to throw if it is missed or the thread breaks. */
interface JobTerms {
  readonly deadlineMs: number
  readonly code: ErrorCode
  readonly what: string
}

/** If a job takes too long or breaks the thread, the next job gets a new one. */
class ReaderThread {
  readonly #workerUrl: string
  #host: WorkerHost | null = null
  #answer: PromiseWithResolvers<ReaderAnswer> = Promise.withResolvers()

  constructor(workerUrl: string) {
    this.#workerUrl = workerUrl
  }

  /** @throws AppError of the job; the signal's reason */
  async run(job: ReaderJob, terms: JobTerms, signal: AbortSignal): Promise<ReaderAnswer> {
    signal.throwIfAborted()
    const timeout = AbortSignal.timeout(terms.deadlineMs)
    try {
      const answer = await abortable(this.#answered(job), AbortSignal.any([signal, timeout]))
      this.#host?.setBusy(false)
      if (answer.kind !== 'failed') return answer
      throw new AppError(answer.code, answer.message)
    } catch (error) {
      // A thread that answered is idle. Otherwise it may be busy forever, so end it.
      if (error instanceof AppError && error !== signal.reason) throw error
      await this.stop()
      if (signal.aborted) throw signal.reason
      const limit = `took longer than ${terms.deadlineMs} ms`
      const why = timeout.aborted ? limit : 'failed: its thread ended'
      throw new AppError(terms.code, `${terms.what} ${why}`, { cause: error })
    }
  }

  #answered(job: ReaderJob): Promise<ReaderAnswer> {
    this.#answer = Promise.withResolvers()
    const host = this.#host === null || this.#host.hasEnded ? this.#start() : this.#host
    host.setBusy(true)
    host.post(job)
    return this.#answer.promise
  }

  #start(): WorkerHost {
    this.#host = new WorkerHost({
      url: this.#workerUrl,
      // The reader thread posts nothing else.
      onMessage: (data) => this.#answer.resolve(data as ReaderAnswer),
      onEnd: (cause) => this.#answer.reject(new Error('the reader thread ended', { cause })),
    })
    return this.#host
  }

  async stop(): Promise<void> {
    const host = this.#host
    this.#host = null
    await host?.terminate()
  }
}
