import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { KnowledgeBase, ReembeddingProgress } from '../../core/domain/knowledge-base.ts'
import type { ModelRef } from '../../core/domain/model-ref.ts'
import type { EmbedderRegistry } from '../../core/domain/ports/model-ports.ts'
import type { ReembeddingStore, Reembeddings } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import { embedTexts } from './embed-documents.ts'

interface ReembeddingOptions {
  readonly store: ReembeddingStore
  readonly embedders: Pick<EmbedderRegistry, 'embedder'>
  snapshot(): CatalogSnapshot
  /** Resolves after that time, or when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly onFailure: (error: unknown) => void
}

/** The model change of one knowledge base, until it is complete or cancelled. */
interface Job {
  readonly stopping: AbortController
  readonly ended: Promise<void>
}

type KnowledgeBaseId = Pick<KnowledgeBase, 'id'>

/** Progress is stored. Failures are retried after increasing pauses. */
export class Reembedding implements Reembeddings {
  readonly #options: ReembeddingOptions
  readonly #jobs = new Map<number, Job>()
  readonly #progress = new Map<number, ReembeddingProgress>()
  #isClosed = false

  constructor(options: ReembeddingOptions) {
    this.#options = options
  }

  /** Continues all unfinished work. */
  start(): void {
    for (const kb of this.#options.snapshot().knowledgeBases) {
      if (kb.nextEmbeddingModel !== null) this.wake(kb)
    }
  }

  wake({ id }: KnowledgeBaseId): void {
    const before = this.#jobs.get(id)
    before?.stopping.abort(new AppError('cancelled', 'The embedding model was altered again'))
    this.#progress.delete(id)
    if (this.#isClosed || (before === undefined && this.#wanted(id) === null)) return
    const stopping = new AbortController()
    const ended = (before?.ended ?? Promise.resolve())
      .then(() => this.#run(id, stopping.signal))
      .catch(this.#options.onFailure)
      .finally(() => {
        if (this.#jobs.get(id)?.stopping !== stopping) return
        this.#jobs.delete(id)
        this.#progress.delete(id)
      })
    this.#jobs.set(id, { stopping, ended })
  }

  progressOf({ id }: KnowledgeBaseId): ReembeddingProgress | null {
    return this.#progress.get(id) ?? null
  }

  /** Resolves when nothing is left to do, which never happens if a provider does not answer. */
  async settled(): Promise<void> {
    for (let jobs = [...this.#jobs.values()]; jobs.length > 0; jobs = [...this.#jobs.values()]) {
      await Promise.all(jobs.map(({ ended }) => ended))
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const reason = new AppError('shutting_down', 'The server is shutting down')
    for (const { stopping } of this.#jobs.values()) stopping.abort(reason)
    await this.settled()
  }

  #wanted(id: number): { readonly kb: KnowledgeBase; readonly model: ModelRef } | null {
    const kb = this.#options.snapshot().knowledgeBases.find((one) => one.id === id)
    const model = kb?.nextEmbeddingModel ?? null
    return kb === undefined || model === null ? null : { kb, model }
  }

  async #run(id: number, signal: AbortSignal): Promise<void> {
    let afterKey = 0n
    let pauseMs: number = INGEST_LIMITS.reembedPauseMs
    while (!signal.aborted) {
      const wanted = this.#wanted(id)
      if (wanted === null) return
      try {
        afterKey = await this.#round(wanted, afterKey, signal)
        pauseMs = INGEST_LIMITS.reembedPauseMs
      } catch (error) {
        if (signal.aborted || this.#wanted(id) === null) return
        this.#note(id, { error: this.#shown(error) })
        // If the signal aborts during the pause, the loop ends.
        await this.#options.sleep(pauseMs, signal).catch(() => {})
        pauseMs = Math.min(pauseMs * 2, INGEST_LIMITS.reembedPauseMsMax)
      }
    }
  }

  /**
   * Embeds one batch, or switches to the new model. @returns the key to start the next batch after
   */
  async #round(
    { kb, model }: { readonly kb: KnowledgeBase; readonly model: ModelRef },
    afterKey: bigint,
    signal: AbortSignal,
  ): Promise<bigint> {
    const { store } = this.#options
    const missing = await store.missing(kb, { afterKey, limit: INGEST_LIMITS.reembedBatchChunks })
    signal.throwIfAborted()
    // The count of vectors may include those of removed chunks.
    const { doneCount, chunkCount } = missing
    this.#note(kb.id, { doneCount: Math.min(doneCount, chunkCount), chunkCount })
    const last = missing.chunks.at(-1)
    if (last === undefined) {
      await store.switchOver(kb)
      // New chunks have larger keys, or some chunks were skipped, so check all again.
      return 0n
    }
    const texts = new Set(missing.chunks.map(({ content }) => content))
    const vectors = await embedTexts(texts, this.#options.embedders.embedder(model), signal)
    signal.throwIfAborted()
    await store.append(
      kb,
      missing.chunks.map(({ chunkKey, content }) => {
        const vector = vectors.get(content)
        if (vector === undefined) throw new Error('a chunk was not embedded')
        return { chunkKey, vector }
      }),
    )
    this.#note(kb.id, { error: null })
    return last.chunkKey
  }

  #note(id: number, news: Partial<ReembeddingProgress>): void {
    const before = this.#progress.get(id) ?? { doneCount: 0, chunkCount: null, error: null }
    this.#progress.set(id, { ...before, ...news })
  }

  #shown(error: unknown): string {
    if (error instanceof AppError && error.code !== 'internal') return error.message
    this.#options.onFailure(error)
    return 'Internal error'
  }
}
