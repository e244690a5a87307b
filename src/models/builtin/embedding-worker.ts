import { Worker } from 'node:worker_threads'
import { AppError } from '../../errors.ts'
import type { EmbeddingAnswer, EmbeddingRequest } from './embedding-protocol.ts'
import { MINI_LM_DIMENSIONS } from './mini-lm-limits.ts'

/** Jobs that may wait at once; one more is refused. */
const JOBS_MAX = 1000
/** How long a stop waits for the batch under way. */
const STOP_MS = 2000

interface PendingJob {
  readonly textCount: number
  resolve(vectors: readonly Float32Array[]): void
  reject(error: unknown): void
}

/** The main thread's side of one embedding thread, from its start to its end. */
export class EmbeddingWorker {
  readonly #worker: Worker
  readonly #pending = new Map<number, PendingJob>()
  readonly #ended = Promise.withResolvers<void>()
  #nextId = 1
  #hasEnded = false

  constructor(options: { readonly modelFolder: string; readonly workerUrl: string }) {
    this.#worker = new Worker(new URL(options.workerUrl))
    // A server that is done may end although the model is loaded.
    this.#worker.unref()
    this.#worker.on('message', (answer: EmbeddingAnswer) => this.#receive(answer))
    this.#worker.on('error', (error) => this.#end(failed('stopped unexpectedly', error)))
    this.#worker.on('exit', () => this.#end(failed('stopped unexpectedly', 'its thread ended')))
    this.#post({ kind: 'load', folder: options.modelFolder })
  }

  /** A worker that has ended answers nothing any more: start another one. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  async embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    if (this.#pending.size >= JOBS_MAX) {
      throw new AppError('too_busy', `More than ${JOBS_MAX} embedding requests are waiting`)
    }
    const id = this.#nextId
    this.#nextId += 1
    const answer = Promise.withResolvers<readonly Float32Array[]>()
    const abort = () => {
      this.#post({ kind: 'cancel', id })
      answer.reject(signal.reason)
    }
    this.#pending.set(id, { ...answer, textCount: texts.length })
    this.#worker.ref()
    signal.addEventListener('abort', abort, { once: true })
    try {
      this.#post({ kind: 'embed', id, texts })
      return await answer.promise
    } finally {
      signal.removeEventListener('abort', abort)
      this.#pending.delete(id)
      if (this.#pending.size === 0) this.#worker.unref()
    }
  }

  /** Never by `terminate()`: see the protocol's `stop`. */
  async close(): Promise<void> {
    if (this.#hasEnded) return
    this.#failAll(new AppError('shutting_down', 'The embedding model is being closed'))
    this.#post({ kind: 'stop' })
    const patience = setTimeout(() => this.#ended.resolve(), STOP_MS)
    await this.#ended.promise
    clearTimeout(patience)
  }

  #post(request: EmbeddingRequest): void {
    this.#worker.postMessage(request)
  }

  #receive(answer: EmbeddingAnswer): void {
    if (answer.kind === 'unusable') {
      this.#end(failed('could not be loaded: its files are missing or damaged', answer.reason))
      return
    }
    // A job that was aborted is forgotten, its answer may still be on the way.
    const job = this.#pending.get(answer.id)
    if (job === undefined) return
    if (answer.kind === 'failed') {
      job.reject(failed('failed', answer.reason))
    } else {
      job.resolve(vectorsOf(answer.vectors, job.textCount))
    }
  }

  #end(error: AppError): void {
    this.#hasEnded = true
    this.#failAll(error)
    this.#ended.resolve()
  }

  #failAll(error: AppError): void {
    for (const job of this.#pending.values()) job.reject(error)
  }
}

/** The reason may name files of the server: it is for the log. */
function failed(what: string, reason: unknown): AppError {
  return new AppError('provider_failed', `The built-in embedding model ${what}`, { cause: reason })
}

function vectorsOf(all: Float32Array, textCount: number): readonly Float32Array[] {
  return Array.from({ length: textCount }, (_, index) => {
    return all.subarray(index * MINI_LM_DIMENSIONS, (index + 1) * MINI_LM_DIMENSIONS)
  })
}
