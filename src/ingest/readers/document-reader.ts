import { Analyzers } from '../../analysis/analyzer.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import { abortable } from '../../runtime/cancellation.ts'
import { WorkerHost } from '../../runtime/worker-host.ts'
import {
  type ChunkedTexts,
  type Chunker,
  type ChunkingRules,
  chunkTexts,
} from '../chunking/chunker.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { DocumentReading, RawDocument, ReadDocument } from './document-reading.ts'
import type { ReaderAnswer, ReaderJob } from './reader-job.ts'

export interface DocumentReaderOptions {
  /** Entry of the reader threads. */
  readonly workerUrl: string
  readonly readMs: number
  readonly matchMs: number
  readonly chunkingMs: number
  readonly queueMax: number
}

export function documentReaderOptions(): DocumentReaderOptions {
  return {
    workerUrl: new URL('../../workers/reader-entry.ts', import.meta.url).href,
    readMs: INGEST_LIMITS.readMs,
    matchMs: INGEST_LIMITS.matchMs,
    chunkingMs: INGEST_LIMITS.chunkingMs,
    queueMax: INGEST_LIMITS.readsQueuedMax,
  }
}

/** Work on documents in threads, so that nobody waits for what is long, broken or made to take for ever. */
export class DocumentReader implements DocumentReading, Chunker {
  readonly #options: DocumentReaderOptions
  /** What others wrote is read in a thread of its own; long texts keep neither it nor short ones waiting. */
  readonly #documents: ReaderThread
  readonly #texts: ReaderThread
  readonly #longTexts: ReaderThread
  readonly #analyzers = new Analyzers()

  constructor(options: DocumentReaderOptions = documentReaderOptions()) {
    this.#options = options
    this.#documents = new ReaderThread(options)
    this.#texts = new ReaderThread(options)
    this.#longTexts = new ReaderThread(options)
  }

  async read(document: RawDocument, signal: AbortSignal): Promise<ReadDocument> {
    const terms: JobTerms = {
      deadlineMs: this.#options.readMs,
      code: 'file_unreadable',
      what: 'Reading the document',
    }
    const answer = await this.#documents.run({ kind: 'read', document }, terms, signal)
    if (answer.kind !== 'read') throw new Error('the reader thread answered another question')
    return answer.document
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
    const answer = await this.#documents.run({ kind: 'match', texts, patterns }, terms, signal)
    if (answer.kind !== 'matching') throw new Error('the reader thread answered another question')
    return answer.texts
  }

  /** Little text is chunked at once: that takes less time than the way to another thread. */
  async chunk(
    texts: readonly string[],
    rules: ChunkingRules,
    signal: AbortSignal,
  ): Promise<ChunkedTexts> {
    signal.throwIfAborted()
    const chars = texts.reduce((sum, text) => sum + text.length, 0)
    if (chars <= INGEST_LIMITS.chunkingAtOnceChars) return chunkTexts(texts, rules, this.#analyzers)
    const thread = chars > INGEST_LIMITS.longTextChars ? this.#longTexts : this.#texts
    const terms: JobTerms = {
      deadlineMs: this.#options.chunkingMs,
      code: 'insert_failed',
      what: 'Chunking the text',
    }
    const answer = await thread.run({ kind: 'chunk', texts, rules }, terms, signal)
    if (answer.kind !== 'chunked') throw new Error('the reader thread answered another question')
    return answer.chunked
  }

  /** Ends the threads; whoever waits fails with `shutting_down`. */
  async close(): Promise<void> {
    const threads = [this.#documents, this.#texts, this.#longTexts]
    await Promise.all(threads.map((thread) => thread.close()))
  }
}

/** One job's deadline, and what a caller hears when it is missed or the thread breaks. */
interface JobTerms {
  readonly deadlineMs: number
  readonly code: ErrorCode
  readonly what: string
}

/**
 * A thread that starts with its first job and does one at a time. What takes too long, or ends the thread, costs that
 * thread only: the next job gets another one.
 */
class ReaderThread {
  readonly #options: DocumentReaderOptions
  #host: WorkerHost | null = null
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #answer: PromiseWithResolvers<ReaderAnswer> = Promise.withResolvers()
  readonly #closing = new AbortController()

  constructor(options: DocumentReaderOptions) {
    this.#options = options
  }

  /** @throws AppError that of the job, `too_busy`, `shutting_down`; the signal's reason */
  async run(job: ReaderJob, terms: JobTerms, signal: AbortSignal): Promise<ReaderAnswer> {
    const { queueMax } = this.#options
    if (this.#waiting >= queueMax) {
      throw new AppError('too_busy', `More than ${queueMax} documents are waiting to be read`)
    }
    const ended = AbortSignal.any([signal, this.#closing.signal])
    const before = this.#turn
    const done = Promise.withResolvers<void>()
    this.#turn = before.then(() => done.promise)
    this.#waiting += 1
    try {
      await abortable(before, ended)
      return await this.#runNow(job, terms, ended)
    } finally {
      this.#waiting -= 1
      done.resolve()
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new AppError('shutting_down', 'The document reader is closed'))
    await this.#stop()
  }

  async #runNow(job: ReaderJob, terms: JobTerms, signal: AbortSignal): Promise<ReaderAnswer> {
    signal.throwIfAborted()
    const timeout = AbortSignal.timeout(terms.deadlineMs)
    try {
      const answer = await abortable(this.#answered(job), AbortSignal.any([signal, timeout]))
      this.#host?.setBusy(false)
      if (answer.kind !== 'failed') return answer
      throw new AppError(answer.code, answer.message)
    } catch (error) {
      // A thread that answered is idle; any other may be busy for ever.
      if (error instanceof AppError && error !== signal.reason) throw error
      await this.#stop()
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
      url: this.#options.workerUrl,
      // The reader thread posts nothing else.
      onMessage: (data) => this.#answer.resolve(data as ReaderAnswer),
      onEnd: (cause) => this.#answer.reject(new Error('the reader thread ended', { cause })),
    })
    return this.#host
  }

  async #stop(): Promise<void> {
    const host = this.#host
    this.#host = null
    await host?.terminate()
  }
}
