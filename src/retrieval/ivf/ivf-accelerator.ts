import {
  fewVectors,
  INDEXED_VECTORS_MIN,
  type IndexReport,
} from '../../core/domain/index-definition.ts'
import type {
  Accelerator,
  TopKSearch,
  VectorChange,
} from '../../core/domain/ports/retrieval-ports.ts'
import { hasCode } from '../../core/errors.ts'
import type { ExactIndex } from '../vectors/exact-index.ts'
import { LIST_LIMITS } from './centroids.ts'
import { bytesOfLists, IvfIndex, listsOfBytes } from './ivf-index.ts'

export interface ListFile {
  read(): Promise<Uint8Array | null>
  write(bytes: Uint8Array): Promise<void>
}

/** Loaded or trained in the background, retrained when the knowledge base has grown. */
export class IvfAccelerator implements Accelerator {
  readonly #vectors: ExactIndex
  readonly #lists: IvfIndex
  readonly #options: Readonly<Record<string, number>>
  readonly #closing = new AbortController()
  #training: Promise<void> | null = null
  #failure: string | null = null
  readonly #file: ListFile | null
  #isRead = false
  #saving: Promise<void> | null = null
  /** The number of vectors when the lists were last saved. */
  #keptCount = 0

  /** @param options `nlist`, `train_count`; by default chosen by the number of vectors */
  constructor(
    vectors: ExactIndex,
    options: Readonly<Record<string, number>>,
    file: ListFile | null = null,
  ) {
    this.#file = file
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
    this.#keepWhereDue()
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
      const detail = `all vectors are compared: too many of the ${lists.listCount} lists would have to be read`
      return { state: 'exact', vectorCount: count, detail }
    }
    const read = `${lists.probeCount} of ${lists.listCount} lists are read`
    return { state: 'ready', vectorCount: count, detail: `${read}, ${recall}` }
  }

  async settled(): Promise<void> {
    while (this.#training !== null) await this.#training
    await this.#lists.settled()
    while (this.#saving !== null) await this.#saving
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#training
    await this.#saving
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
    const { signal } = this.#closing
    this.#training = this.#restored(signal)
      .then(async (isRestored) => {
        if (!isRestored) await this.#lists.train(options, signal)
      })
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return
        const reason = hasCode(error, 'out_of_memory')
          ? 'the lists do not fit into the memory for vectors (EIDER_VECTOR_MEMORY)'
          : 'the lists could not be trained'
        this.#failure = `${reason}; all vectors are compared`
      })
      .finally(() => {
        this.#training = null
        this.#keepWhereDue()
      })
  }

  /** Saves the first training after a start. False if there are none that fit. */
  async #restored(signal: AbortSignal): Promise<boolean> {
    if (this.#file === null || this.#isRead) return false
    this.#isRead = true
    try {
      const bytes = await this.#file.read()
      const saved = bytes && listsOfBytes(bytes)
      if (saved === null || saved.revision > this.#vectors.revision) return false
      if (!Bun.deepEquals(saved.options, this.#options)) return false
      if (!(await this.#lists.restore(saved, signal)) || this.#lists.needsTraining) return false
      this.#keptCount = saved.report.isWorthwhile ? saved.keys.length : saved.report.vectorCount
      return true
    } catch (error) {
      signal.throwIfAborted()
      // The file cannot be read, or does not fit in memory, which a training would report too.
      if (hasCode(error, 'out_of_memory')) throw error
      return false
    }
  }

  /** Saves the lists in the background: after a training, and after many vectors were added. */
  #keepWhereDue(): void {
    const { report } = this.#lists
    const isDue = this.#vectors.count > this.#keptCount * LIST_LIMITS.keptGrowth
    if (this.#file === null || report === null || !isDue) return
    if (this.#saving !== null || this.#training !== null) return
    this.#keptCount = this.#vectors.count
    const end = () => {
      this.#saving = null
    }
    // If lists cannot be saved, the next start trains new ones.
    this.#saving = this.#keep(this.#file, this.#closing.signal).then(end, end)
  }

  async #keep(file: ListFile, signal: AbortSignal): Promise<void> {
    await this.#lists.settled()
    const saved = await this.#lists.saved(this.#options, signal)
    if (saved !== null) await file.write(bytesOfLists(saved))
  }
}

/** The share of true neighbours that lists must find. */
const RECALL_MIN = 0.99

/** Rows out of order take about 7 times as long, so searches become three times as fast. */
const SCANNED_SHARE_MAX = 1 / 21

/** Trains and measures lists once per size, then drops them: only CREATE INDEX uses them. */
export class IvfAdvice {
  readonly #vectors: ExactIndex
  readonly #countMin: number
  readonly #closing = new AbortController()
  #measuring: Promise<void> | null = null
  #measuredCount = 0
  #advice: string | null = null

  /** @param countMin with fewer vectors, comparing all is fast enough */
  constructor(vectors: ExactIndex, countMin: number) {
    this.#vectors = vectors
    this.#countMin = countMin
  }

  /** A clause; null if there is no advice or it is not known yet. */
  advice(): string | null {
    const { count } = this.#vectors
    const isDue = count >= this.#countMin && count > this.#measuredCount * LIST_LIMITS.growthMax
    if (isDue && this.#measuring === null) {
      this.#measuredCount = count
      const end = () => {
        this.#measuring = null
      }
      // If the measurement fails, for example for lack of memory, no advice is given.
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
