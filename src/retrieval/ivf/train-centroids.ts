import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import type { IndexRows } from '../vectors/exact-index.ts'
import { unitOf } from '../vectors/quantized-rows.ts'
import { assignRows, Centroids } from './centroids.ts'
import { LIST_LIMITS } from './list-limits.ts'

/**
 * The centroids of spherical k-means (Dhillon and Modha 2001, Lloyd's rounds) over a sample of the
 * base's codes. The caller releases them; null where the base has no vectors.
 * @throws AppError `out_of_memory`, as `ScanRunner.assign`; the signal's reason
 */
export async function trainedCentroids(
  base: IndexRows,
  {
    listCount,
    sampleCount,
    random,
  }: {
    /** At most `centroidsMax`. */
    readonly listCount: number
    /** Vectors of which they are the means. */
    readonly sampleCount: number
    /** In [0, 1). */
    random(): number
  },
  signal: AbortSignal,
): Promise<Centroids | null> {
  const sample = await sampledRows(base, { count: sampleCount, random }, signal)
  if (sample.length === 0) return null
  const centroids = new Centroids(
    base.memory,
    base.shape.stride,
    Math.min(listCount, sample.length),
  )
  try {
    await new Rounds({ base, centroids, sample, random }).run(signal)
    return centroids
  } catch (error) {
    centroids.release()
    throw error
  }
}

/** Rows with a vector from everywhere, each once; all of them where they are no more than `count`. */
export async function sampledRows(
  base: IndexRows,
  { count, random }: { readonly count: number; random(): number },
  signal: AbortSignal,
): Promise<Int32Array> {
  const { rowCount } = base.rows
  const slice = new TimeSlice(LIST_LIMITS.busyMsMax)
  const steps = Math.min(rowCount, base.count() <= count ? rowCount : count)
  const rows = new Int32Array(steps)
  let found = 0
  for (let step = 0; step < steps; step++) {
    const from = Math.floor((step * rowCount) / steps)
    const to = Math.floor(((step + 1) * rowCount) / steps)
    const row = from + Math.floor(random() * (to - from))
    if (base.codes.addedAt(row) !== null) rows[found++] = row
    if (step % 256 === 0) await slice.yieldIfSpent(signal)
  }
  return rows.subarray(0, found)
}

interface RoundsParts {
  readonly base: IndexRows
  readonly centroids: Centroids
  readonly sample: Int32Array
  random(): number
}

/** Lloyd's rounds: each vector to its nearest centroid, each centroid to the middle of its vectors. */
class Rounds {
  readonly #parts: RoundsParts
  readonly #stride: number
  readonly #sums: Float32Array
  readonly #lists: Int32Array

  constructor(parts: RoundsParts) {
    this.#parts = parts
    this.#stride = parts.base.shape.stride
    this.#sums = new Float32Array(parts.centroids.count * this.#stride)
    this.#lists = new Int32Array(parts.sample.length).fill(-1)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sample, centroids } = this.#parts
    // As they lie: vectors that came together are often of one kind.
    for (let list = 0; list < centroids.count; list++) {
      const row = sample[Math.floor((list * sample.length) / centroids.count)] ?? 0
      this.#parts.base.codes.addTo(this.#sums, list * this.#stride, row)
    }
    await this.#moveAll(signal)
    for (let round = 0; round < LIST_LIMITS.roundsMax; round++) {
      const moved = await this.#assign(signal)
      if (moved < sample.length * LIST_LIMITS.movedShareMin) return
      await this.#sum(signal)
      await this.#moveAll(signal)
    }
  }

  /** @returns how many of the sample have another list than before */
  async #assign(signal: AbortSignal): Promise<number> {
    const { base, centroids, sample: rows } = this.#parts
    let moved = 0
    const take = (lists: Int32Array, from: number) => {
      for (const [index, list] of lists.entries()) {
        if (this.#lists[from + index] !== list) moved += 1
        this.#lists[from + index] = list
      }
    }
    await assignRows(base, { rows, centroids }, take, signal)
    return moved
  }

  async #sum(signal: AbortSignal): Promise<void> {
    const { base, sample } = this.#parts
    const slice = new TimeSlice(LIST_LIMITS.busyMsMax)
    this.#sums.fill(0)
    for (const [index, row] of sample.entries()) {
      base.codes.addTo(this.#sums, (this.#lists[index] ?? 0) * this.#stride, row)
      if (index % 256 === 0) await slice.yieldIfSpent(signal)
    }
  }

  async #moveAll(signal: AbortSignal): Promise<void> {
    const slice = new TimeSlice(LIST_LIMITS.busyMsMax)
    for (let list = 0; list < this.#parts.centroids.count; list++) {
      this.#move(list)
      if (list % 64 === 0) await slice.yieldIfSpent(signal)
    }
  }

  /** A list without vectors, or whose vectors have no middle, begins again with some vector. */
  #move(list: number): void {
    const { base, centroids, sample, random } = this.#parts
    const middle = unitOf(this.#sums.subarray(list * this.#stride, (list + 1) * this.#stride))
    if (middle !== null && centroids.store(list, middle)) return
    const row = sample[Math.floor(random() * sample.length)] ?? 0
    const other = base.codes.unitVector(row)
    if (other === null || !centroids.store(list, other)) {
      throw new Error(`row ${row} of a vector index has no vector`)
    }
  }
}
