import type { ExactIndex } from '../vectors/exact-index.ts'
import { LIST_LIMITS } from './centroids.ts'
import { IvfIndex } from './ivf-index.ts'

/** The share of the true neighbours that lists must find. */
const RECALL_MIN = 0.99

/** A row out of order takes some 7 times as long: searches are then three times as fast. */
const SCANNED_SHARE_MAX = 1 / 21

/**
 * Says where inverted lists would be much faster. The first call trains and measures them in the background,
 * once per size, and drops them: only CREATE INDEX makes searches approximate.
 */
export class IvfAdvice {
  readonly #vectors: ExactIndex
  readonly #countMin: number
  readonly #closing = new AbortController()
  #measuring: Promise<void> | null = null
  #measuredCount = 0
  #advice: string | null = null

  /** @param countMin fewer vectors are compared fast enough */
  constructor(vectors: ExactIndex, countMin: number) {
    this.#vectors = vectors
    this.#countMin = countMin
  }

  /** A clause; null: none, or not known yet. */
  advice(): string | null {
    const { count } = this.#vectors
    const isDue = count >= this.#countMin && count > this.#measuredCount * LIST_LIMITS.growthMax
    if (isDue && this.#measuring === null) {
      this.#measuredCount = count
      const end = () => {
        this.#measuring = null
      }
      // A failure, such as a lack of memory, leaves it without advice.
      this.#measuring = this.#measure().then(end, end)
    }
    return this.#advice
  }

  async settled(): Promise<void> {
    await this.#measuring
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#measuring
  }

  async #measure(): Promise<void> {
    const lists = new IvfIndex(this.#vectors)
    try {
      const { recallAt10, scannedShare } = await lists.train({}, this.#closing.signal)
      const isGood = recallAt10 >= RECALL_MIN && scannedShare <= SCANNED_SHARE_MAX
      const share = `${(scannedShare * 100).toFixed(1)} % of them at recall@10 ${recallAt10.toFixed(3)}`
      this.#advice = isGood ? `an IVF index would read ${share}` : null
    } finally {
      lists.drop()
    }
  }
}
