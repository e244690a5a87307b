import { Worker } from 'node:worker_threads'
import { AppError, type ErrorCode } from '../../errors.ts'
import { abortable } from '../../runtime/cancellation.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { DocumentReading, RawDocument, ReadDocument } from './document-reading.ts'
import type { ReaderAnswer, ReaderJob } from './reader-job.ts'

export interface DocumentReaderOptions {
  /** Entry of the reading thread. */
  readonly workerUrl: string
  readonly readMs: number
  readonly matchMs: number
  readonly queueMax: number
}

export function documentReaderOptions(): DocumentReaderOptions {
  return {
    workerUrl: new URL('../../workers/reader-entry.ts', import.meta.url).href,
    readMs: INGEST_LIMITS.readMs,
    matchMs: INGEST_LIMITS.matchMs,
    queueMax: INGEST_LIMITS.readsQueuedMax,
  }
}

/** One job's deadline, and what a caller hears when it is missed or the thread breaks. */
interface JobTerms {
  readonly deadlineMs: number
  readonly code: ErrorCode
  readonly what: string
}

/**
 * Reads documents in a thread that starts with the first one, one at a time. What takes too long, or ends the thread,
 * costs that thread only: the next document gets another one.
 */
export class DocumentReader implements DocumentReading {
  readonly #options: DocumentReaderOptions
  #worker: Worker | null = null
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0
  readonly #closing = new AbortController()

  constructor(options: DocumentReaderOptions = documentReaderOptions()) {
    this.#options = options
  }

  async read(document: RawDocument, signal: AbortSignal): Promise<ReadDocument> {
    const deadlineMs = this.#options.readMs
    const terms: JobTerms = { deadlineMs, code: 'file_unreadable', what: 'Reading the document' }
    const answer = await this.#inTurn({ kind: 'read', document }, terms, signal)
    if (answer.kind !== 'read') throw new Error('the reading thread answered another question')
    return answer.document
  }

  async matching(
    texts: readonly string[],
    patterns: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if (texts.length === 0 || patterns.length === 0) return []
    const deadlineMs = this.#options.matchMs
    const terms: JobTerms = { deadlineMs, code: 'insert_failed', what: 'Matching the patterns' }
    const answer = await this.#inTurn({ kind: 'match', texts, patterns }, terms, signal)
    if (answer.kind !== 'matching') throw new Error('the reading thread answered another question')
    return answer.texts
  }

  /** Ends the thread; whoever waits fails with `shutting_down`. */
  async close(): Promise<void> {
    this.#closing.abort(new AppError('shutting_down', 'The document reader is closed'))
    await this.#stopWorker()
  }

  async #inTurn(job: ReaderJob, terms: JobTerms, signal: AbortSignal): Promise<ReaderAnswer> {
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
      return await this.#run(job, terms, ended)
    } finally {
      this.#waiting -= 1
      done.resolve()
    }
  }

  async #run(job: ReaderJob, terms: JobTerms, signal: AbortSignal): Promise<ReaderAnswer> {
    signal.throwIfAborted()
    const timeout = AbortSignal.timeout(terms.deadlineMs)
    const worker = this.#running()
    worker.ref()
    try {
      const answer = await abortable(answered(worker, job), AbortSignal.any([signal, timeout]))
      if (answer.kind === 'failed') throw new AppError(answer.code, answer.message)
      worker.unref()
      return answer
    } catch (error) {
      // A thread that answered is idle; any other may be busy for ever.
      if (error instanceof AppError && error !== signal.reason) {
        worker.unref()
        throw error
      }
      await this.#stopWorker()
      if (signal.aborted) throw signal.reason
      const limit = `took longer than ${terms.deadlineMs} ms`
      const why = timeout.aborted ? limit : 'failed: its thread ended'
      throw new AppError(terms.code, `${terms.what} ${why}`, { cause: error })
    }
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker
    const worker = new Worker(new URL(this.#options.workerUrl))
    const forget = () => {
      if (this.#worker === worker) this.#worker = null
    }
    worker.on('error', forget)
    worker.on('exit', forget)
    worker.unref()
    this.#worker = worker
    return worker
  }

  async #stopWorker(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }
}

function answered(worker: Worker, job: ReaderJob): Promise<ReaderAnswer> {
  const answer = Promise.withResolvers<ReaderAnswer>()
  const ended = () => answer.reject(new Error('the reading thread ended'))
  const failed = (cause: unknown) => {
    answer.reject(new Error('the reading thread failed', { cause }))
  }
  worker.once('message', answer.resolve)
  worker.once('error', failed)
  worker.once('exit', ended)
  worker.postMessage(job)
  return answer.promise.finally(() => {
    worker.off('message', answer.resolve)
    worker.off('error', failed)
    worker.off('exit', ended)
  })
}
