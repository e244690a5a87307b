import { AppError } from '../../errors.ts'
import { centroidsMax } from './centroids.ts'
import { InvertedLists } from './inverted-lists.ts'
import type { ListBase } from './list-base.ts'
import { LIST_LIMITS } from './list-limits.ts'
import { type ListRecall, measuredRecall } from './list-recall.ts'
import { trainedCentroids } from './train-centroids.ts'

export interface ListOptions {
  /** 1 or more; fewer are made where memory or vectors suffice for fewer. */
  readonly listCount?: number
  /** Vectors of which the centroids are the means; unset: `LIST_LIMITS.sampleRows` for each list. */
  readonly sampleCount?: number
  /** In [0, 1). */
  random?(): number
}

/** What a training has come to. */
export interface ListsReport {
  /** False: searches stay exact, as so much would have to be read that lists do not help. */
  readonly isWorthwhile: boolean
  readonly listCount: number
  /** Lists that a search for 10 neighbours reads. */
  readonly probeCount: number
  /** Measured with some of the base's own vectors, see `measuredRecall`. */
  readonly recallAt10: number
  /** Of all vectors, those in the lists that such a search reads. */
  readonly scannedShare: number
  readonly trainedMs: number
  /** Vectors at that time. */
  readonly vectorCount: number
}

/** The inverted lists of one index: none at first, and the last ones that were worth their training. */
export class IndexLists {
  readonly #base: ListBase
  #lists: InvertedLists | null = null
  #report: ListsReport | null = null
  /** Hears of all changes, and is not searched yet. */
  #next: InvertedLists | null = null
  #isTraining = false

  constructor(base: ListBase) {
    this.#base = base
  }

  /** Of the last training; null before the first one. */
  get report(): ListsReport | null {
    return this.#report
  }

  get bytes(): number {
    return (this.#lists?.bytes ?? 0) + (this.#next?.bytes ?? 0)
  }

  /** There are so many more vectors than at the last training. */
  get needsTraining(): boolean {
    const trainedCount = this.#report?.vectorCount ?? Number.POSITIVE_INFINITY
    return this.#base.count() > trainedCount * LIST_LIMITS.growthMax
  }

  /**
   * Makes lists of all vectors in the background. Searches go on as before, and read the new lists
   * from one moment to the next. What fails leaves everything as it was.
   * @throws AppError `too_busy` during another training, `invalid_request` for a number of lists
   * that is none, `out_of_memory`, `internal` when threads keep ending; the signal's reason
   */
  async train(options: ListOptions, signal: AbortSignal): Promise<ListsReport> {
    if (this.#isTraining) throw new AppError('too_busy', 'The lists are being trained already')
    const listCount = this.#listCount(options.listCount)
    const random = options.random ?? Math.random
    const startedAt = performance.now()
    this.#isTraining = true
    try {
      signal.throwIfAborted()
      const centroids = await trainedCentroids(
        this.#base,
        {
          listCount,
          sampleCount: options.sampleCount ?? listCount * LIST_LIMITS.sampleRows,
          random,
        },
        signal,
      )
      if (centroids === null) return this.#decide(null, startedAt)
      try {
        this.#next = new InvertedLists(this.#base, centroids)
      } catch (error) {
        centroids.release()
        throw error
      }
      await this.#next.assignAll(signal)
      const recall = await measuredRecall(this.#base, { lists: this.#next, random }, signal)
      signal.throwIfAborted()
      // For what came meanwhile.
      this.#next.makeRoom()
      return this.#decide(recall, startedAt)
    } finally {
      this.#next?.release()
      this.#next = null
      this.#isTraining = false
    }
  }

  /** Resolves when no row is being given a list. */
  async assigned(): Promise<void> {
    await this.#lists?.assigned()
  }

  /** Rows that each search reads as they have no list yet. */
  get waitingCount(): number {
    return this.#lists?.waitingCount ?? 0
  }

  /** See `InvertedLists.rowsNear`; null where there are no lists. */
  rowsNear(queryVector: Float32Array, k: number): Int32Array | null {
    return this.#lists?.rowsNear(queryVector, k) ?? null
  }

  /** Rows that hold a new vector, and rows that hold none any more, from the current change on. */
  changed({ stored, removed }: RowChanges): void {
    for (const lists of [this.#lists, this.#next]) {
      if (lists === null) continue
      for (const row of removed) lists.removed(row)
      for (const row of stored) lists.stored(row)
    }
    try {
      this.#lists?.makeRoom()
    } catch {
      // Without them searches are exact, and take no more memory than they do.
      this.release()
    }
    this.#lists?.assignWaiting()
  }

  release(): void {
    this.#lists?.release()
    this.#lists = null
    this.#report = null
  }

  #decide(recall: ListRecall | null, startedAt: number): ListsReport {
    const next = this.#next
    const vectorCount = this.#base.count()
    const trainedMs = performance.now() - startedAt
    const [probing] = recall?.probings ?? []
    this.release()
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
    const count = Math.max(1, this.#base.count())
    const usual = Math.round(LIST_LIMITS.listFactor * Math.sqrt(count))
    return Math.min(wanted ?? usual, centroidsMax(this.#base.shape.stride), count)
  }
}

export interface RowChanges {
  readonly stored: Iterable<number>
  readonly removed: Iterable<number>
}
