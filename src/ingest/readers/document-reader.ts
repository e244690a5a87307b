import type { TokenCounter } from '../../core/domain/ports/model-ports.ts'
import type {
  DocumentReading,
  FileReading,
  RawDocument,
  ReadDocument,
} from '../../core/domain/ports/reading-ports.ts'
import { Analyzers } from '../../core/text/analyzer.ts'
import { wholeDocument } from '../../reading/document-format.ts'
import {
  ReaderProcesses,
  type ReaderProcessesOptions,
  readerProcessesOptions,
} from '../../reading/processes/reader-processes.ts'
import {
  type ChunkableText,
  type ChunkedTexts,
  type ChunkingRules,
  type ChunkingTools,
  chunkTexts,
} from '../chunking/chunk-texts.ts'
import type { Chunker } from '../chunking/chunker.ts'
import { BYTE_COUNTER } from '../chunking/span-limits.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { ReaderAnswer, ReaderJob } from './reader-job.ts'
import { type JobTerms, ReaderPool } from './reader-pool.ts'

export interface DocumentReaderOptions {
  /** Entry of the reader threads. */
  readonly workerUrl: string
  readonly processes: ReaderProcessesOptions
  readonly matchMs: number
  readonly chunkingMs: number
  readonly queueMax: number
  /** Of the built-in model; missing: whatever needs it is done in a thread. */
  readonly wordPieces?: () => TokenCounter
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

/** Threads of each kind of work. A request has one of them at a time, so that it takes several to hold up the others. */
const PATTERN_THREADS = 3
const TEXT_THREADS = 2

interface ReaderThreads {
  /** Patterns that others wrote are matched in threads of their own; long texts keep neither them nor short ones waiting. */
  readonly patterns: ReaderPool
  readonly texts: ReaderPool
  readonly longTexts: ReaderPool
}

/**
 * Work on documents, so that nobody waits for what is long, broken or made to take for ever: what others wrote is read in
 * processes, and texts are matched and chunked in threads.
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

  /** Its work takes turns with that of other requests, however much of it there is. */
  forRequest(): DocumentReading & Chunker {
    return new DocumentReader(this.#options, this)
  }

  readFile: FileReading['readFile'] = (source, use, signal) => {
    return this.#files.readFile(source, use, signal)
  }

  /** The first document in these bytes; an empty one where there is none. */
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

  /** Little text is chunked at once: that takes less time than the way to another thread. */
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

  /** null: what these rules need is in the threads only. */
  #toolsHere({ reach }: ChunkingRules): ChunkingTools | null {
    const { wordPieces } = this.#options
    const analyzers = this.#analyzers
    if (wordPieces !== undefined) return { analyzers, wordPieces }
    return reach?.tokenizer === 'word_piece' ? null : { analyzers, wordPieces: () => BYTE_COUNTER }
  }

  /** Ends threads and processes; whoever waits fails with `shutting_down`. */
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
