import { fewVectors, INDEXED_VECTORS_MIN, type IndexReport } from '../../domain/index-definition.ts'
import type { Accelerator, TopKSearch, VectorChange } from '../../domain/ports/retrieval-ports.ts'
import { AppError } from '../../errors.ts'
import type { ExactIndex } from '../vectors/exact-index.ts'
import { IvfIndex } from './ivf-index.ts'

/**
 * Inverted lists (IVF) over the cached vectors: trained in the background, again when the
 * knowledge base has grown.
 */
export class IvfAccelerator implements Accelerator {
  readonly #vectors: ExactIndex
  readonly #lists: IvfIndex
  readonly #options: Readonly<Record<string, number>>
  readonly #closing = new AbortController()
  #training: Promise<void> | null = null
  #failure: string | null = null

  /** @param options `nlist` lists, made of `train_count` vectors; unset: as many as suit the number of vectors */
  constructor(vectors: ExactIndex, options: Readonly<Record<string, number>>) {
    this.#vectors = vectors
    this.#lists = new IvfIndex(vectors)
    this.#options = options
    this.#trainWhereDue()
  }

  async search(search: TopKSearch, signal: AbortSignal) {
    if (this.#lists.report?.isWorthwhile !== true) return null
    return this.#lists.search(search, signal)
  }

  apply(_: VectorChange): void {
    this.#trainWhereDue()
  }

  report(): IndexReport {
    const { count } = this.#vectors
    const { report: lists } = this.#lists
    if (this.#training !== null && lists === null) {
      return { state: 'building', vectorCount: count, detail: 'the lists are being trained' }
    }
    if (this.#failure !== null) {
      return { state: 'unavailable', vectorCount: count, detail: this.#failure }
    }
    if (lists === null) return fewVectors(count)
    const recall = `recall@10 ${lists.recallAt10.toFixed(3)} on vectors of its own`
    if (!lists.isWorthwhile) {
      const detail = `all vectors are compared: so many of the ${lists.listCount} lists would have to be read`
      return { state: 'exact', vectorCount: count, detail }
    }
    const read = `${lists.probeCount} of ${lists.listCount} lists are read`
    return { state: 'ready', vectorCount: count, detail: `${read}, ${recall}` }
  }

  async settled(): Promise<void> {
    while (this.#training !== null) await this.#training
    await this.#lists.settled()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#training
    this.#lists.drop()
  }

  #trainWhereDue(): void {
    const { count } = this.#vectors
    const { report, needsTraining } = this.#lists
    const isDue = report === null ? count >= INDEXED_VECTORS_MIN : needsTraining
    if (!isDue || this.#training !== null || this.#failure !== null) return
    const { nlist, train_count: sampleCount } = this.#options
    const options = {
      ...(nlist === undefined ? {} : { listCount: Math.min(nlist, count) }),
      ...(sampleCount === undefined ? {} : { sampleCount }),
    }
    this.#training = this.#lists
      .train(options, this.#closing.signal)
      .then(() => {})
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return
        const isFull = error instanceof AppError && error.code === 'out_of_memory'
        const reason = isFull
          ? 'the lists do not fit into the memory for vectors (EIDER_VECTOR_MEMORY)'
          : 'the lists could not be trained'
        this.#failure = `${reason}; all vectors are compared`
      })
      .finally(() => {
        this.#training = null
      })
  }
}
