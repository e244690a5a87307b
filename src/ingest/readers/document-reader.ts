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
import { Analyzers } from '../../core/text/analyzer.ts'
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
  type ChunkingTools,
  chunkTexts,
} from '../chunking/chunk-texts.ts'
import type { Chunker } from '../chunking/chunker.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { ReaderAnswer, ReaderJob } from './reader-job.ts'
import { type OcrModel, refuseScans, withScans } from './scans.ts'

interface DocumentReaderOptions {
  /** Entry of the reader threads. */
  readonly workerUrl: string
  readonly processes: ReaderProcessesOptions
  readonly matchMs: number
  readonly chunkingMs: number
  readonly queueMax: number
  /** The built-in model's counter; missing: work that needs it runs in a thread. */
  readonly wordPieces?: () => TokenCounter
  /** Reads pictures of text; missing: they are not read. */
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

/** Threads for each kind of work. A request has one at a time, so it takes several to hold up the others. */
const PATTERN_THREADS = 3
const TEXT_THREADS = 2

interface ReaderThreads {
  /** Patterns from users are matched in separate threads, so that they neither block long texts nor wait for them. */
  readonly patterns: ReaderPool
  readonly texts: ReaderPool
  readonly longTexts: ReaderPool
}

/**
 * Work on documents, away from the main thread, because files may be long, broken or hostile: they are read in processes,
 * and texts are matched and chunked in threads.
 */
export class DocumentReader implements DocumentReading, Chunker {
  readonly #options: DocumentReaderOptions
  readonly #threads: ReaderThreads
  readonly #processes: ReaderProcesses
  readonly #analyzers: Analyzers
  /** Whose turn its work is. */
  readonly #turns: symbol
  readonly #files: FileReading

  /** @param shared the threads and processes of another reader, which closes them */
  constructor(options: DocumentReaderOptions = documentReaderOptions(), shared?: DocumentReader) {
    this.#options = options
    this.#turns = Symbol('turns')
    this.#analyzers = shared === undefined ? new Analyzers() : shared.#analyzers
    this.#threads = shared === undefined ? readerThreads(options) : shared.#threads
    this.#processes =
      shared === undefined ? new ReaderProcesses(options.processes) : shared.#processes
    this.#files = this.#processes.inTurns(this.#turns)
  }

  /** Its work takes turns with that of other requests, regardless of its amount. */
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

  /** The first document in these bytes; an empty one if there is none. */
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

  /** Little text is chunked right here: that is faster than sending it to another thread. */
  async chunk(
    texts: readonly ChunkableText[],
    rules: ChunkingRules,
    signal: AbortSignal,
  ): Promise<ChunkedTexts> {
    signal.throwIfAborted()
    const chars = texts.reduce((sum, { text }) => sum + text.length, 0)
    const tools = this.#toolsHere(rules)
    if (chars <= INGEST_LIMITS.chunkingAtOnceChars && tools !== null) {
      return chunkTexts(texts, rules, tools)
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

  /** null: only the threads have what these rules need. */
  #toolsHere({ reach }: ChunkingRules): ChunkingTools | null {
    const { wordPieces } = this.#options
    const analyzers = this.#analyzers
    if (wordPieces !== undefined) return { analyzers, wordPieces }
    return reach?.tokenizer === 'word_piece' ? null : { analyzers, wordPieces: () => BYTE_COUNTER }
  }

  /** Ends threads and processes; waiting callers fail with `shutting_down`. */
  async close(): Promise<void> {
    const { patterns, texts, longTexts } = this.#threads
    const threads = [patterns, texts, longTexts].map((pool) => pool.close())
    await Promise.all([...threads, this.#processes.close()])
  }

  #run(
    kind: keyof ReaderThreads,
    job: ReaderJob,
    terms: JobTerms,
    signal: AbortSignal,
  ): Promise<ReaderAnswer> {
    return this.#threads[kind].run({ job, terms, key: this.#turns }, signal)
  }
}

function readerThreads({ workerUrl, queueMax }: DocumentReaderOptions): ReaderThreads {
  const threads = (threadsMax: number) => new ReaderPool({ workerUrl, queueMax, threadsMax })
  return {
    patterns: threads(PATTERN_THREADS),
    texts: threads(TEXT_THREADS),
    longTexts: threads(TEXT_THREADS),
  }
}

/** One job's deadline, and the error for missing it or for a broken thread. */
interface JobTerms {
  readonly deadlineMs: number
  readonly code: ErrorCode
  readonly what: string
}

/** Threads that are shared fairly: each key has one at a time, and the keys that wait take turns. */
class ReaderPool {
  readonly #threads: FairPool<ReaderThread>

  constructor(given: {
    /** Entry of the threads. */
    readonly workerUrl: string
    readonly threadsMax: number
    /** Running and waiting jobs. */
    readonly queueMax: number
  }) {
    const { workerUrl, threadsMax, queueMax } = given
    this.#threads = new FairPool({
      workersMax: threadsMax,
      queueMax,
      tooBusyMessage: `More than ${queueMax} documents are waiting to be read; try again later`,
      make: () => new ReaderThread(workerUrl),
    })
  }

  /** @throws AppError that of the job, `too_busy`, `shutting_down`; the signal's reason */
  run(
    given: {
      readonly job: ReaderJob
      readonly terms: JobTerms
      /** Jobs of one key run one after the other; keys take turns. */
      readonly key: symbol
    },
    signal: AbortSignal,
  ): Promise<ReaderAnswer> {
    const { job, terms, key } = given
    return this.#threads.run({
      key,
      signal,
      work: (thread, ended) => thread.run(job, terms, ended),
    })
  }

  async close(): Promise<void> {
    const reason = new AppError('shutting_down', 'The document reader is closed')
    await Promise.all(this.#threads.close(reason).map((thread) => thread.stop()))
  }
}

/**
 * A thread that starts with its first job and does one at a time. What takes too long, or ends the thread, costs that
 * thread only: the next job gets another one.
 */
class ReaderThread {
  readonly #workerUrl: string
  #host: WorkerHost | null = null
  #answer: PromiseWithResolvers<ReaderAnswer> = Promise.withResolvers()

  constructor(workerUrl: string) {
    this.#workerUrl = workerUrl
  }

  /** @throws AppError that of the job; the signal's reason */
  async run(job: ReaderJob, terms: JobTerms, signal: AbortSignal): Promise<ReaderAnswer> {
    signal.throwIfAborted()
    const timeout = AbortSignal.timeout(terms.deadlineMs)
    try {
      const answer = await abortable(this.#answered(job), AbortSignal.any([signal, timeout]))
      this.#host?.setBusy(false)
      if (answer.kind !== 'failed') return answer
      throw new AppError(answer.code, answer.message)
    } catch (error) {
      // A thread that answered is idle; any other may be busy forever.
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
