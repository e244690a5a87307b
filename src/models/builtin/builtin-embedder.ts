import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Embedder } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { WorkerHost } from '../../core/runtime/worker-host.ts'
import {
  type EmbeddingAnswer,
  type EmbeddingRequest,
  MINI_LM_CHARS_MAX,
  MINI_LM_DIMENSIONS,
  MINI_LM_TOKENS_AT_ONCE,
  MINI_LM_TOKENS_MAX,
} from './embedding-protocol.ts'

/** Single texts, which are queries, whose vectors are remembered: some 2 KB each. */
const RECENT_TEXTS_MAX = 256
const RECENT_TEXT_CHARS_MAX = 2000

export interface BuiltinEmbedderOptions {
  /** Holds `model.onnx` and `vocab.txt`. */
  readonly modelFolder: string
  /** Entry of the embedding thread. */
  readonly workerUrl: string
  /** Each has its own model; the second starts when there is much to embed. */
  readonly threadsMax: number
}

/** More would leave no core to the rest. */
const THREADS_MAX = 2

/** The model and the thread that come with the program. */
export function builtinEmbedderOptions(): BuiltinEmbedderOptions {
  return {
    modelFolder: fileURLToPath(new URL('../../../assets/all-MiniLM-L6-v2-int8', import.meta.url)),
    workerUrl: new URL('../../wiring/threads/embedder-entry.ts', import.meta.url).href,
    threadsMax: Math.min(THREADS_MAX, availableParallelism()),
  }
}

/** [CLS] and [SEP] surround every text. */
const FRAME_TOKENS = 2

/**
 * A job with more characters is split for the threads into parts of this many texts, so that none of them waits for another.
 */
const WHOLE_JOB_CHARS_MAX = 4096
const TEXTS_PER_PART = 8
/** One is embedded, and the next one waits. */
const PARTS_PER_THREAD = 2

/** The embedding model without key and network, in threads, the first of which starts with the first text. */
export class BuiltinEmbedder implements Embedder {
  readonly reach = {
    tokensMax: MINI_LM_TOKENS_MAX + FRAME_TOKENS,
    frameTokens: FRAME_TOKENS,
    tokensAtOnce: MINI_LM_TOKENS_AT_ONCE,
    tokenizer: 'word_piece',
  } as const
  readonly #options: BuiltinEmbedderOptions
  readonly #recent = new LruMap<string, Float32Array>({ sizeMax: RECENT_TEXTS_MAX })
  readonly #workers: EmbeddingWorker[] = []
  #isClosed = false

  constructor(options: BuiltinEmbedderOptions = builtinEmbedderOptions()) {
    this.#options = options
  }

  /**
   * Vectors of length 1 with 384 dimensions; text beyond the tokens of `reach` is ignored.
   * @throws AppError `provider_failed`, `too_busy`, `shutting_down`; the signal's reason
   */
  async embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    signal.throwIfAborted()
    if (texts.length === 0) return []
    const query = texts.length === 1 ? texts[0] : undefined
    const known = query === undefined ? undefined : this.#recent.get(query)
    if (known !== undefined) return [known.slice()]
    const shortened = texts.map((text) => text.slice(0, MINI_LM_CHARS_MAX))
    const vectors = await this.#embedAll(shortened, signal)
    const [vector] = vectors
    if (query !== undefined && vector !== undefined && query.length <= RECENT_TEXT_CHARS_MAX) {
      // The caller may change its own.
      this.#recent.set(query, vector.slice())
    }
    return vectors
  }

  /** Ends the threads; texts that wait fail with `shutting_down`. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#workers.map((worker) => worker.close()))
  }

  async #embedAll(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const { threadsMax } = this.#options
    const chars = texts.reduce((sum, { length }) => sum + length, 0)
    if (threadsMax === 1 || texts.length === 1 || chars <= WHOLE_JOB_CHARS_MAX) {
      return this.#running(1).embed(texts, { isPart: false }, signal)
    }
    const parts: (readonly string[])[] = []
    for (let start = 0; start < texts.length; start += TEXTS_PER_PART) {
      parts.push(texts.slice(start, start + TEXTS_PER_PART))
    }
    const bounds = { concurrencyMax: PARTS_PER_THREAD * threadsMax, signal }
    const vectors = await mapConcurrent(parts, bounds, (part, ended) => {
      return this.#running(threadsMax).embed(part, { isPart: true }, ended)
    })
    return vectors.flat()
  }

  /** The least busy thread, out of at least this many. */
  #running(threads: number): EmbeddingWorker {
    if (this.#isClosed) throw new AppError('shutting_down', 'The embedding model is closed')
    const count = Math.max(threads, this.#workers.length)
    for (let index = 0; index < count; index += 1) {
      const worker = this.#workers[index]
      if (worker === undefined || worker.hasEnded) {
        this.#workers[index] = new EmbeddingWorker(this.#options)
      }
    }
    return this.#workers.reduce((least, worker) => {
      return worker.waitingTexts < least.waitingTexts ? worker : least
    })
  }
}

/** Most waiting jobs; another is refused. */
const JOBS_MAX = 1000
/** How long a stop waits for the text being embedded. */
const STOP_MS = 2000

/** The main thread's side of one embedding thread, from its start to its end. */
class EmbeddingWorker {
  readonly #host: WorkerHost
  readonly #pending = new Map<
    number,
    {
      readonly textCount: number
      resolve(vectors: readonly Float32Array[]): void
      reject(error: unknown): void
    }
  >()
  readonly #ended = Promise.withResolvers<void>()
  #nextId = 1
  #hasEnded = false
  #waitingTexts = 0

  constructor(options: BuiltinEmbedderOptions) {
    this.#host = new WorkerHost({
      url: options.workerUrl,
      // The thread runs our own code and sends nothing else.
      onMessage: (answer) => this.#receive(answer as EmbeddingAnswer),
      onEnd: (cause) => this.#end(failed('stopped unexpectedly', cause)),
    })
    this.#post({ kind: 'load', folder: options.modelFolder })
  }

  /** A worker that has ended answers nothing more: start another one. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get waitingTexts(): number {
    return this.#waitingTexts
  }

  async embed(
    texts: readonly string[],
    { isPart }: { readonly isPart: boolean },
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    if (this.#pending.size >= JOBS_MAX) {
      throw new AppError('too_busy', `More than ${JOBS_MAX} embedding requests are waiting`)
    }
    const id = this.#nextId
    this.#nextId += 1
    const answer = Promise.withResolvers<readonly Float32Array[]>()
    this.#pending.set(id, { ...answer, textCount: texts.length })
    this.#host.setBusy(true)
    this.#waitingTexts += texts.length
    this.#post({ kind: 'embed', id, texts, isPart })
    const stopListening = onAbort(signal, () => {
      this.#post({ kind: 'cancel', id })
      answer.reject(signal.reason)
    })
    try {
      return await answer.promise
    } finally {
      stopListening()
      this.#pending.delete(id)
      this.#waitingTexts -= texts.length
      if (this.#pending.size === 0) this.#host.setBusy(false)
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
    this.#host.post(request)
  }

  #receive(answer: EmbeddingAnswer): void {
    if (answer.kind === 'unusable') {
      const isFull = /bad_alloc|allocat|out of memory/i.test(String(answer.reason))
      const why = isFull ? 'memory ran out' : 'its files are missing or damaged'
      this.#end(failed(`could not be loaded: ${why}`, answer.reason))
      return
    }
    // An aborted job is forgotten; its answer may still arrive.
    const job = this.#pending.get(answer.id)
    if (job === undefined) return
    if (answer.kind === 'failed') job.reject(failed('failed', answer.reason))
    else job.resolve(vectorsOf(answer.vectors, job.textCount))
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
