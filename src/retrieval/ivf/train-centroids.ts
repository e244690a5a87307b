import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import type { IndexRows } from '../vectors/exact-index.ts'
import { unitOf } from '../vectors/quantized-rows.ts'
import { assignRows, Centroids, LIST_LIMITS } from './centroids.ts'
import type { InvertedLists, Probing } from './inverted-lists.ts'

/** Spherical k-means (Dhillon and Modha, 2001) of a sample of codes. null without vectors. */
export async function trainedCentroids(
  base: IndexRows,
  given: {
    /** At most `centroidsMax`. */
    readonly listCount: number
    /** How many vectors to compute them from. */
    readonly sampleCount: number
    /** From 0 up to but not including 1. */
    random(): number
  },
  signal: AbortSignal,
): Promise<Centroids | null> {
  const { listCount, sampleCount, random } = given
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

/** Evenly, without repetition; all rows if there are at most `count`. */
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

/** Lloyd's algorithm: vectors go to the nearest centroid, which moves to their mean. */
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
    // In storage order, because vectors that are stored together are often similar.
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

  /** @returns how many vectors of the sample changed lists */
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

  /** A list without vectors, or whose vectors have a mean of zero, restarts at a random vector. */
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

export interface ListRecall {
  /** For each of `LIST_LIMITS.depths`, the first of which is 10. */
  readonly probings: readonly Probing[]
  /** The mean share of the 10 nearest vectors that are in the lists read. */
  readonly recallAt10: number
  /** The mean share of all vectors that these lists contain. */
  readonly scannedShare: number
}

interface Question {
  /** Lists, nearest centroid first. */
  readonly ranked: readonly number[]
  /** For each neighbour, nearest first, the rank of its list. */
  readonly places: readonly number[]
}

/** Stored vectors are searched among all others. A list finds all in it, as real searches. */
export async function measuredRecall(
  base: IndexRows,
  { lists, random }: { readonly lists: InvertedLists; random(): number },
  signal: AbortSignal,
): Promise<ListRecall> {
  const rows = await sampledRows(base, { count: LIST_LIMITS.questions, random }, signal)
  const slice = new TimeSlice(LIST_LIMITS.busyMsMax)
  const questions: Question[] = []
  // Take queries evenly, because there may be more rows than queries.
  const count = Math.min(rows.length, LIST_LIMITS.questions)
  for (let index = 0; index < count; index++) {
    const row = rows[Math.floor((index * rows.length) / count)] ?? 0
    const question = await questionOf(row, base, lists, signal)
    if (question !== null) questions.push(question)
    await slice.yieldIfSpent(signal)
  }
  const measured = { questions, lists, count: base.count() }
  const probings = LIST_LIMITS.depths.map((depth) => probingOf(measured, depth))
  const probeCount = probings[0]?.probeCount ?? lists.count
  return {
    probings,
    recallAt10: recallOf(questions, { depth: 10, probeCount }),
    scannedShare: shareOf(measured, probeCount),
  }
}

interface Measured {
  readonly questions: readonly Question[]
  readonly lists: InvertedLists
  /** The number of all vectors. */
  readonly count: number
}

async function questionOf(
  row: number,
  base: IndexRows,
  lists: InvertedLists,
  signal: AbortSignal,
): Promise<Question | null> {
  const vector = base.codes.unitVector(row)?.slice(0, base.dimensions)
  if (vector === undefined) return null
  const deepest = Math.max(...LIST_LIMITS.depths)
  const found = await base.nearest({ queryVector: vector, k: deepest + 1 }, signal)
  const ranked = lists.ranked(vector)
  const placeOf = new Int32Array(lists.count)
  for (const [place, list] of ranked.entries()) placeOf[list] = place
  const places: number[] = []
  for (const { key } of found) {
    const neighbour = base.rowOf(key)
    if (neighbour === undefined || neighbour === row || places.length === deepest) continue
    const list = lists.listOf(neighbour)
    // Vectors added in the meantime are always found.
    if (list !== null) places.push(placeOf[list] ?? 0)
  }
  return { ranked, places }
}

/** Returns the fewest lists that reach the target. */
function probingOf(measured: Measured, depth: number): Probing {
  const { questions, lists } = measured
  let low = 1
  let high = lists.count
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (recallOf(questions, { depth, probeCount: middle }) >= LIST_LIMITS.recallAim) high = middle
    else low = middle + 1
  }
  const isFew = shareOf(measured, low) <= LIST_LIMITS.scannedShareMax
  return { depth, probeCount: low, isWorthwhile: isFew }
}

interface Reading {
  readonly depth: number
  readonly probeCount: number
}

/** From 0 to 1; 1 if there are no neighbours. */
function recallOf(questions: readonly Question[], { depth, probeCount }: Reading): number {
  let wanted = 0
  let found = 0
  for (const { places } of questions) {
    for (const place of places.slice(0, depth)) {
      wanted += 1
      if (place < probeCount) found += 1
    }
  }
  return wanted === 0 ? 1 : found / wanted
}

function shareOf({ questions, lists, count }: Measured, probeCount: number): number {
  let scanned = 0
  for (const { ranked } of questions) {
    for (const list of ranked.slice(0, probeCount)) scanned += lists.countOf(list)
  }
  return scanned / Math.max(1, questions.length * count)
}
