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
  /** 1 or more; fewer if memory or vectors do not suffice. */
  readonly listCount?: number
  /** Vectors for computing the centroids; unset: `LIST_LIMITS.sampleRows` per list. */
  readonly sampleCount?: number
  /** In [0, 1). */
  random?(): number
}

/**
 * Inverted lists (IVF) next to the exact index of the same vectors: none at first, then the last worthwhile ones. They
 * follow the index's changes, and end with it.
 */
export class IvfIndex implements RowObserver {
  readonly #vectors: ExactIndex
  readonly #base: IndexRows
  readonly #closing = new AbortController()
  #lists: InvertedLists | null = null
  #report: ListsReport | null = null
  /** Receives all changes, and is not searched yet. */
  #next: InvertedLists | null = null
  #isTraining = false

  constructor(vectors: ExactIndex) {
    this.#vectors = vectors
    this.#base = vectors.attach(this)
  }

  /**
   * The nearest `k` like `ExactIndex.search`, from the lists around the query vector if there are any: still `k` of them,
   * but nearer ones may be missing, see `report`.
   * @throws AppError as `ExactIndex.search` does
   */
  async search({ queryVector, k }: TopKSearch, signal: AbortSignal) {
    const unit = unitQueryVector(queryVector, this.#base.dimensions)
    const rows = this.#lists?.rowsNear(unit, k) ?? null
    return this.#vectors.search({ queryVector: unit, k, rows }, signal)
  }

  /** For the last training; null before the first one. */
  get report(): ListsReport | null {
    return this.#report
  }

  /** For the lists only. */
  get bytes(): number {
    return (this.#lists?.bytes ?? 0) + (this.#next?.bytes ?? 0)
  }

  /** Whether there are far more vectors than at the last training. */
  get needsTraining(): boolean {
    const trainedCount = this.#report?.vectorCount ?? Number.POSITIVE_INFINITY
    return this.#vectors.count > trainedCount * LIST_LIMITS.growthMax
  }

  /**
   * Builds lists of all vectors in the background. Searches continue, and switch to the new lists at once. A failure leaves
   * everything as it was.
   * @throws AppError `too_busy` during another training, `invalid_request` for a number of lists
   * that is not a count, `out_of_memory`, `shutting_down`, `internal` when threads keep ending; the signal's reason
   */
  async train(options: ListOptions, signal: AbortSignal): Promise<ListsReport> {
    const stopped = AbortSignal.any([signal, this.#closing.signal])
    try {
      return await this.#trained(options, stopped)
    } catch (error) {
      // A failure after an abort is caused by it.
      stopped.throwIfAborted()
      throw error
    }
  }

  async #trained(options: ListOptions, signal: AbortSignal): Promise<ListsReport> {
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
      // For rows added meanwhile.
      this.#next.makeRoom()
      return this.#decide(recall, startedAt)
    } finally {
      this.#next?.release()
      this.#next = null
      this.#isTraining = false
    }
  }

  /**
   * Loads saved lists. Searches continue, as in a training.
   * @returns false if they do not fit the vectors: nothing has changed then
   * @throws AppError as `train` does
   */
  async restore(saved: SavedLists, signal: AbortSignal): Promise<boolean> {
    const stopped = AbortSignal.any([signal, this.#closing.signal])
    if (this.#isTraining) throw new AppError('too_busy', 'The lists are being trained already')
    this.#isTraining = true
    try {
      if (saved.dimensions !== this.#base.dimensions) return false
      if (saved.centroids.length > 0 && !(await this.#takeOver(saved, stopped))) return false
      this.#lists?.release()
      this.#lists = this.#next
      this.#next = null
      this.#report = saved.report
      this.#lists?.assignWaiting()
      return true
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
    try {
      for (let list = 0; list < count; list++) {
        const from = list * base.dimensions
        const vector = saved.centroids.subarray(from, from + base.dimensions)
        if (!centroids.store(list, vector)) throw new Error('a centroid is not of unit length')
      }
      this.#next = new InvertedLists(base, centroids)
    } catch (error) {
      centroids.release()
      throw error
    }
    const taken = await this.#next.takeOver(saved, signal)
    if (taken < base.count() * LIST_LIMITS.keptShareMin) return false
    const questions = { count: LIST_LIMITS.questions, random: Math.random }
    const sample = await sampledRows(base, questions, signal)
    const agreement = await this.#next.agreement(sample, signal)
    this.#next.makeRoom()
    this.#next.probe(saved.probings)
    return agreement >= LIST_LIMITS.agreementMin
  }

  /** What `restore` takes over; null: there has been no training. */
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

  /** Resolves when no row is being assigned in the background. */
  async settled(): Promise<void> {
    await this.#lists?.assigned()
  }

  /** Rows without a list, which each search reads. */
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
      // Without lists, searches are exact and use no memory for them.
      this.drop()
    }
    this.#lists?.assignWaiting()
  }

  closed(reason: unknown): void {
    this.#closing.abort(reason)
    this.drop()
  }

  /** Releases the lists: searches are exact. */
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

/** The result of a training. */
export interface ListsReport {
  /** False: searches stay exact, because lists would save too little reading. */
  readonly isWorthwhile: boolean
  readonly listCount: number
  /** Lists that a search for 10 neighbours reads. */
  readonly probeCount: number
  /** Measured with some of the base's own vectors, see `measuredRecall`. */
  readonly recallAt10: number
  /** The share of all vectors in the lists that such a search reads. */
  readonly scannedShare: number
  readonly trainedMs: number
  /** Vectors at that time. */
  readonly vectorCount: number
}

/** Inverted lists as saved from one start to the next. */
export interface SavedLists {
  /** The knowledge base's revision when they were written. */
  readonly revision: number
  readonly dimensions: number
  /** The requested options of the index. */
  readonly options: Readonly<Record<string, number>>
  readonly report: ListsReport
  readonly probings: readonly Probing[]
  /** One after the other, each of unit length; empty if lists are not worthwhile. */
  readonly centroids: Float32Array
  /** The keys of chunks in a list. */
  readonly keys: Float64Array
  /** By index in `keys`. */
  readonly lists: Uint16Array
}

type Header = Omit<SavedLists, 'centroids' | 'keys' | 'lists'> & {
  readonly format: string
  readonly centroidCount: number
  readonly keyCount: number
}

/** Changes with the meaning of the bytes. */
const LISTS_FORMAT = 'eider ivf 1'
const LENGTH_BYTES = 8
const CHECK_BYTES = 8

export function bytesOfLists({ centroids, keys, lists, ...rest }: SavedLists): Uint8Array {
  const header: Header = {
    ...{ format: LISTS_FORMAT, ...rest, keyCount: keys.length },
    centroidCount: centroids.length / rest.dimensions,
  }
  const text = new TextEncoder().encode(JSON.stringify(header))
  const length = new Float64Array([text.length])
  const content = [length, text, keys, centroids, lists].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  )
  const check = new BigUint64Array([checkOf(content)])
  return Buffer.concat([...content, new Uint8Array(check.buffer)])
}

/** null: other bytes, or incomplete ones. */
export function listsOfBytes(bytes: Uint8Array): SavedLists | null {
  try {
    // A Buffer's slices would be views.
    return readLists(new Uint8Array(bytes))
  } catch {
    return null
  }
}

function readLists(bytes: Uint8Array): SavedLists | null {
  const content = bytes.subarray(0, bytes.length - CHECK_BYTES)
  const [check] = new BigUint64Array(bytes.slice(content.length).buffer)
  if (check !== checkOf([content])) return null
  const [length = 0] = new Float64Array(bytes.slice(0, LENGTH_BYTES).buffer)
  const text = bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length)
  // Whole bytes with this format are ours.
  const header = JSON.parse(new TextDecoder().decode(text)) as Header
  if (header.format !== LISTS_FORMAT) return null
  const { format: _, centroidCount, keyCount, ...rest } = header
  let at = LENGTH_BYTES + length
  const next = (size: number) => {
    const part = content.slice(at, at + size)
    at += size
    return part.buffer
  }
  const keys = new Float64Array(next(keyCount * 8))
  const centroids = new Float32Array(next(centroidCount * header.dimensions * 4))
  const lists = new Uint16Array(next(keyCount * 2))
  const isWhole = at === content.length && lists.every((list) => list < centroidCount)
  return isWhole ? { ...rest, keys, centroids, lists } : null
}

/** The parts one after the other have the check of the whole. */
function checkOf(parts: readonly Uint8Array[]): bigint {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest().readBigUInt64BE()
}
