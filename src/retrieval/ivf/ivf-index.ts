import { checkedBytes, ofCheckedBytes } from '../../core/checked-bytes.ts'
import type { TopKSearch } from '../../core/domain/ports/retrieval-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { ExactIndex, IndexRows, RowObserver } from '../vectors/exact-index.ts'
import { unitQueryVector } from '../vectors/quantized-rows.ts'
import { Centroids, centroidsMax, LIST_LIMITS } from './centroids.ts'
import { InvertedLists, type Probing } from './inverted-lists.ts'
import {
  type ListRecall,
  measuredRecall,
  sampledRows,
  trainedCentroids,
} from './train-centroids.ts'

export interface ListOptions {
  /** At least 1. Fewer are used if memory or vectors are not enough. */
  readonly listCount?: number
  /**
   * How many vectors to compute the centroids from; by default `LIST_LIMITS.sampleRows` per list.
   */
  readonly sampleCount?: number
  /** From 0 up to but not including 1. */
  random?(): number
}

/** None before the first training or if not worthwhile. Closed with the index. */
export class IvfIndex implements RowObserver {
  readonly #vectors: ExactIndex
  readonly #base: IndexRows
  readonly #closing = new AbortController()
  #lists: InvertedLists | null = null
  #report: ListsReport | null = null
  /** Lists that receive all changes but are not searched yet. */
  #next: InvertedLists | null = null
  #isTraining = false

  constructor(vectors: ExactIndex) {
    this.#vectors = vectors
    this.#base = vectors.attach(this)
  }

  /** From the lists around the query vector, so nearer vectors may be missing; see `report`. */
  async search({ queryVector, k }: TopKSearch, signal: AbortSignal) {
    const unit = unitQueryVector(queryVector, this.#base.dimensions)
    const rows = this.#lists?.rowsNear(unit, k) ?? null
    return this.#vectors.search({ queryVector: unit, k, rows }, signal)
  }

  /** The report of the last training; null before the first one. */
  get report(): ListsReport | null {
    return this.#report
  }

  /** The bytes of the lists alone. */
  get bytes(): number {
    return (this.#lists?.bytes ?? 0) + (this.#next?.bytes ?? 0)
  }

  /** Whether there are many more vectors than at the last training. */
  get needsTraining(): boolean {
    const trainedCount = this.#report?.vectorCount ?? Number.POSITIVE_INFINITY
    return this.#vectors.count > trainedCount * LIST_LIMITS.growthMax
  }

  /**
   * Builds lists of all vectors in the background. Searches continue and switch to the new lists
   * when these are complete. If it fails, nothing changes.
   * @throws AppError `too_busy` during another training, `invalid_request` for a number of lists
   * that is not a positive integer, `out_of_memory`, `shutting_down`, `internal` if threads keep
   * crashing; the signal's reason
   */
  async train(options: ListOptions, signal: AbortSignal): Promise<ListsReport> {
    const stopped = AbortSignal.any([signal, this.#closing.signal])
    try {
      return await this.#trained(options, stopped)
    } catch (error) {
      // If the signal aborted, that caused this failure.
      stopped.throwIfAborted()
      throw error
    }
  }

  async #trained(options: ListOptions, signal: AbortSignal): Promise<ListsReport> {
    return this.#alone(async () => {
      const listCount = this.#listCount(options.listCount)
      const { random = Math.random, sampleCount = listCount * LIST_LIMITS.sampleRows } = options
      const startedAt = performance.now()
      signal.throwIfAborted()
      const wanted = { listCount, sampleCount, random }
      const centroids = await trainedCentroids(this.#base, wanted, signal)
      if (centroids === null) return this.#decide(null, startedAt)
      this.#next = listsOf(this.#base, centroids)
      await this.#next.assignAll(signal)
      const recall = await measuredRecall(this.#base, { lists: this.#next, random }, signal)
      signal.throwIfAborted()
      // Allocate memory for rows added in the meantime.
      this.#next.makeRoom()
      return this.#decide(recall, startedAt)
    })
  }

  /** @returns false, having changed nothing, if they do not fit the vectors */
  async restore(saved: SavedLists, signal: AbortSignal): Promise<boolean> {
    const stopped = AbortSignal.any([signal, this.#closing.signal])
    return this.#alone(async () => {
      if (saved.dimensions !== this.#base.dimensions) return false
      if (saved.centroids.length > 0 && !(await this.#takeOver(saved, stopped))) return false
      this.#lists?.release()
      this.#lists = this.#next
      this.#next = null
      this.#report = saved.report
      this.#lists?.assignWaiting()
      return true
    })
  }

  /** Releases `#next` at the end of the work, unless the work put it to use. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isTraining) throw new AppError('too_busy', 'The lists are already being trained')
    this.#isTraining = true
    try {
      return await work()
    } finally {
      this.#next?.release()
      this.#next = null
      this.#isTraining = false
    }
  }

  async #takeOver(saved: SavedLists, signal: AbortSignal): Promise<boolean> {
    const base = this.#base
    const count = saved.centroids.length / base.dimensions
    if (count > centroidsMax(base.shape.stride)) return false
    const centroids = new Centroids(base.memory, base.shape.stride, count)
    this.#next = listsOf(base, centroids, () => {
      for (let list = 0; list < count; list++) {
        const from = list * base.dimensions
        const vector = saved.centroids.subarray(from, from + base.dimensions)
        if (!centroids.store(list, vector)) throw new Error('a centroid is not of unit length')
      }
    })
    const taken = await this.#next.takeOver(saved, signal)
    if (taken < base.count() * LIST_LIMITS.keptShareMin) return false
    const questions = { count: LIST_LIMITS.questions, random: Math.random }
    const sample = await sampledRows(base, questions, signal)
    const agreement = await this.#next.agreement(sample, signal)
    this.#next.makeRoom()
    this.#next.probe(saved.probings)
    return agreement >= LIST_LIMITS.agreementMin
  }

  /** Returns the data for `restore`; null if there was no training. */
  async saved(
    options: Readonly<Record<string, number>>,
    signal: AbortSignal,
  ): Promise<SavedLists | null> {
    const report = this.#report
    const lists = this.#lists
    if (report === null) return null
    const { dimensions } = this.#base
    const about = { revision: this.#vectors.revision, dimensions, options, report }
    const centroids = new Float32Array((lists?.count ?? 0) * dimensions)
    for (let list = 0; list < (lists?.count ?? 0); list++) {
      centroids.set(lists?.centroid(list) ?? [], list * dimensions)
    }
    const kept = (await lists?.kept(signal)) ?? {
      keys: new Float64Array(),
      lists: new Uint16Array(),
    }
    return { ...about, probings: lists?.probings() ?? [], centroids, ...kept }
  }

  /** Resolves when no background assignment is running. */
  async settled(): Promise<void> {
    await this.#lists?.assigned()
  }

  /** The number of rows without a list, which each search reads. */
  get waitingCount(): number {
    return this.#lists?.waitingCount ?? 0
  }

  rowsChanged({ stored, removed }: Parameters<RowObserver['rowsChanged']>[0]): void {
    for (const lists of [this.#lists, this.#next]) {
      if (lists === null) continue
      for (const row of removed) lists.removed(row)
      for (const row of stored) lists.stored(row)
    }
    try {
      this.#lists?.makeRoom()
    } catch {
      // Drop the lists, so that searches are exact and use no memory for them.
      this.drop()
    }
    this.#lists?.assignWaiting()
  }

  closed(reason: unknown): void {
    this.#closing.abort(reason)
    this.drop()
  }

  /** Frees the lists. Searches are then exact. */
  drop(): void {
    this.#lists?.release()
    this.#lists = null
    this.#report = null
  }

  #decide(recall: ListRecall | null, startedAt: number): ListsReport {
    const next = this.#next
    const vectorCount = this.#vectors.count
    const trainedMs = performance.now() - startedAt
    const [probing] = recall?.probings ?? []
    this.drop()
    const isWorthwhile = probing?.isWorthwhile ?? false
    if (next !== null && isWorthwhile) {
      next.probe(recall?.probings ?? [])
      this.#lists = next
      this.#next = null
    }
    this.#report = {
      isWorthwhile,
      listCount: next?.count ?? 0,
      probeCount: probing?.probeCount ?? 0,
      recallAt10: recall?.recallAt10 ?? 1,
      scannedShare: recall?.scannedShare ?? 1,
      trainedMs,
      vectorCount,
    }
    next?.assignWaiting()
    return this.#report
  }

  #listCount(wanted: number | undefined): number {
    if (wanted !== undefined && !(Number.isInteger(wanted) && wanted >= 1)) {
      throw new AppError('invalid_request', `The number of lists is 1 or more, not ${wanted}`)
    }
    const count = Math.max(1, this.#vectors.count)
    const usual = Math.round(LIST_LIMITS.listFactor * Math.sqrt(count))
    return Math.min(wanted ?? usual, centroidsMax(this.#base.shape.stride), count)
  }
}

/** @param fill stores the centroids; they are released if that or the lists fail */
function listsOf(base: IndexRows, centroids: Centroids, fill?: () => void): InvertedLists {
  try {
    fill?.()
    return new InvertedLists(base, centroids)
  } catch (error) {
    centroids.release()
    throw error
  }
}

interface ListsReport {
  /** Whether lists are used. They are not if they would save too little reading. */
  readonly isWorthwhile: boolean
  readonly listCount: number
  /** How many lists a search for 10 neighbours reads. */
  readonly probeCount: number
  /** Measured with some of the stored vectors; see `measuredRecall`. */
  readonly recallAt10: number
  /** The share of all vectors that such a search reads. */
  readonly scannedShare: number
  readonly trainedMs: number
  readonly vectorCount: number
}

/** Inverted lists in the form in which they are saved. */
interface SavedLists {
  /** The knowledge base's revision when they were saved. */
  readonly revision: number
  readonly dimensions: number
  /** The index options that were requested. */
  readonly options: Readonly<Record<string, number>>
  readonly report: ListsReport
  readonly probings: readonly Probing[]
  /** Unit vectors in sequence; empty if lists are not worthwhile. */
  readonly centroids: Float32Array
  /** The keys of chunks that are in a list. */
  readonly keys: Float64Array
  /** The list number for each entry of `keys`. */
  readonly lists: Uint16Array
}

type Header = Omit<SavedLists, 'centroids' | 'keys' | 'lists'> & {
  readonly format: string
  readonly centroidCount: number
  readonly keyCount: number
}

/** Must change with the format of the file. */
const LISTS_FORMAT = 'eider ivf 1'

export function bytesOfLists({ centroids, keys, lists, ...rest }: SavedLists): Uint8Array {
  const header: Header = {
    ...{ format: LISTS_FORMAT, ...rest, keyCount: keys.length },
    centroidCount: centroids.length / rest.dimensions,
  }
  return checkedBytes(header, [keys, centroids, lists])
}

/** Null if the bytes are incomplete or in another format. */
export function listsOfBytes(bytes: Uint8Array): SavedLists | null {
  return ofCheckedBytes(bytes, (header: Header, next) => {
    const { format, centroidCount, keyCount, ...rest } = header
    if (format !== LISTS_FORMAT) return null
    const keys = new Float64Array(next(keyCount * 8))
    const centroids = new Float32Array(next(centroidCount * header.dimensions * 4))
    const lists = new Uint16Array(next(keyCount * 2))
    return lists.every((list) => list < centroidCount) ? { ...rest, keys, centroids, lists } : null
  })
}
