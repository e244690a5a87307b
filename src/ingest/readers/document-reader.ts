import { Analyzers } from '../../analysis/analyzer.ts'
import type {
  DocumentReading,
  RawDocument,
  ReadDocument,
} from '../../domain/ports/reading-ports.ts'
import {
  type ChunkedTexts,
  type Chunker,
  type ChunkingRules,
  chunkTexts,
} from '../chunking/chunker.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { ReaderAnswer, ReaderJob } from './reader-job.ts'
import { type JobTerms, ReaderPool } from './reader-pool.ts'

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

/** Threads of each kind of work. A request has one of them at a time, so that it takes several to hold up the others. */
const DOCUMENT_THREADS = 3
const TEXT_THREADS = 2

interface ReaderThreads {
  /** What others wrote is read in threads of its own; long texts keep neither it nor short ones waiting. */
  readonly documents: ReaderPool
  readonly texts: ReaderPool
  readonly longTexts: ReaderPool
}

/** Work on documents in threads, so that nobody waits for what is long, broken or made to take for ever. */
export class DocumentReader implements DocumentReading, Chunker {
  readonly #options: DocumentReaderOptions
  readonly #threads: ReaderThreads
  readonly #analyzers: Analyzers
  /** Whose turn its work is. */
  readonly #turns: symbol

  /** @param shared the threads of another reader, which closes them */
  constructor(options: DocumentReaderOptions = documentReaderOptions(), shared?: DocumentReader) {
    this.#options = options
    this.#turns = Symbol('turns')
    this.#analyzers = shared === undefined ? new Analyzers() : shared.#analyzers
    this.#threads = shared === undefined ? readerThreads(options) : shared.#threads
  }

  /** Its work takes turns with that of other requests, however much of it there is. */
  forRequest(): DocumentReading & Chunker {
    return new DocumentReader(this.#options, this)
  }

  async read(document: RawDocument, signal: AbortSignal): Promise<ReadDocument> {
    const terms: JobTerms = {
      deadlineMs: this.#options.readMs,
      code: 'file_unreadable',
      what: 'Reading the document',
    }
    const answer = await this.#run('documents', { kind: 'read', document }, terms, signal)
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
    const answer = await this.#run('documents', { kind: 'match', texts, patterns }, terms, signal)
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

  /** Ends the threads; whoever waits fails with `shutting_down`. */
  async close(): Promise<void> {
    const { documents, texts, longTexts } = this.#threads
    await Promise.all([documents, texts, longTexts].map((threads) => threads.close()))
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
    documents: threads(DOCUMENT_THREADS),
    texts: threads(TEXT_THREADS),
    longTexts: threads(TEXT_THREADS),
  }
}
