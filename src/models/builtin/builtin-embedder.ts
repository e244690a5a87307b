import { fileURLToPath } from 'node:url'
import type { Embedder } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import { LruMap } from '../../runtime/lru-map.ts'
import { EmbeddingWorker } from './embedding-worker.ts'
import { MINI_LM_CHARS_MAX } from './mini-lm-limits.ts'

/** Single texts, which are queries, whose vectors are kept: some 2 KB each. */
const RECENT_TEXTS_MAX = 256
const RECENT_TEXT_CHARS_MAX = 2000

export interface BuiltinEmbedderOptions {
  /** Holds `model.onnx` and `vocab.txt`. */
  readonly modelFolder: string
  /** Entry of the embedding thread. */
  readonly workerUrl: string
}

/** The model and the thread that come with the program. */
export function builtinEmbedderOptions(): BuiltinEmbedderOptions {
  return {
    modelFolder: fileURLToPath(new URL('../../../assets/all-MiniLM-L6-v2-int8', import.meta.url)),
    workerUrl: new URL('../../workers/embedder-entry.ts', import.meta.url).href,
  }
}

/**
 * The embedding model that needs no key and no network, in a thread that starts with the first
 * text.
 */
export class BuiltinEmbedder implements Embedder {
  readonly #options: BuiltinEmbedderOptions
  readonly #recent = new LruMap<string, Float32Array>({ sizeMax: RECENT_TEXTS_MAX })
  #worker: EmbeddingWorker | null = null
  #isClosed = false

  constructor(options: BuiltinEmbedderOptions = builtinEmbedderOptions()) {
    this.#options = options
  }

  /**
   * Vectors of length 1 with 384 dimensions; only the first 256 tokens of a text count.
   * @throws AppError `provider_failed`, `too_busy`, `shutting_down`; the signal's reason
   */
  async embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    signal.throwIfAborted()
    if (texts.length === 0) return []
    const query = texts.length === 1 ? texts[0] : undefined
    const known = query === undefined ? undefined : this.#recent.get(query)
    if (known !== undefined) return [known.slice()]
    const shortened = texts.map((text) => text.slice(0, MINI_LM_CHARS_MAX))
    const vectors = await this.#running().embed(shortened, signal)
    const [vector] = vectors
    if (query !== undefined && vector !== undefined && query.length <= RECENT_TEXT_CHARS_MAX) {
      // The caller may change his.
      this.#recent.set(query, vector.slice())
    }
    return vectors
  }

  /** Ends the thread; texts that wait fail with `shutting_down`. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.close()
  }

  #running(): EmbeddingWorker {
    if (this.#isClosed) throw new AppError('shutting_down', 'The embedding model is closed')
    if (this.#worker === null || this.#worker.hasEnded) {
      this.#worker = new EmbeddingWorker(this.#options)
    }
    return this.#worker
  }
}
