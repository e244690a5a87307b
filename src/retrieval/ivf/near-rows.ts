import { AppError } from '../../core/errors.ts'
import type { IndexRows, RowGuide } from '../vectors/exact-index.ts'
import { assignRows, Centroids } from './centroids.ts'
import { LIST_LIMITS } from './list-limits.ts'
import { sampledRows } from './train-centroids.ts'

/**
 * Some rows of an index about some of its vectors, so that a search of all rows begins near its query vector: the
 * k-th nearest of these few rules out most others at the first look. Made in the background when it is first needed,
 * and again when there are twice as many rows. What it says may be out of date: it never decides what is found.
 */
export class NearRows implements RowGuide {
  readonly #base: IndexRows
  readonly #random: () => number
  readonly #closing = new AbortController()
  #groups: Groups | null = null
  /** Rows of the index when they were made last. */
  #madeOf = 0
  #making: Promise<void> | null = null

  constructor(base: IndexRows, random: () => number = Math.random) {
    this.#base = base
    this.#random = random
  }

  rowsNear(queryVector: Float32Array, countMin: number): Int32Array | null {
    this.#makeWhereDue()
    const { nearRowsMax } = LIST_LIMITS
    const groups = this.#groups
    if (groups === null || countMin * 4 > nearRowsMax) return null
    const rows = new Int32Array(nearRowsMax)
    let count = 0
    for (const group of groups.middles.nearest(queryVector, LIST_LIMITS.nearGroups)) {
      const some = groups.rows[group]?.subarray(0, nearRowsMax - count) ?? new Int32Array()
      rows.set(some, count)
      count += some.length
    }
    return count < countMin ? null : rows.subarray(0, count)
  }

  /** Resolves when nothing is being made. */
  async settled(): Promise<void> {
    await this.#making
  }

  close(): void {
    this.#closing.abort(new AppError('shutting_down', 'The vectors in memory are let go'))
    this.#groups?.middles.release()
    this.#groups = null
  }

  #makeWhereDue(): void {
    const { rowCount } = this.#base.rows
    const isDue = rowCount >= LIST_LIMITS.guidedRowsMin && rowCount >= 2 * this.#madeOf
    if (!isDue || this.#making !== null || this.#closing.signal.aborted) return
    this.#madeOf = rowCount
    const end = () => {
      this.#making = null
    }
    // Without it, or with an older one, searches find the same and take a little longer.
    this.#making = this.#make(this.#closing.signal).then(end, end)
  }

  async #make(signal: AbortSignal): Promise<void> {
    const made = await groupsOf(this.#base, this.#random, signal)
    if (signal.aborted) made?.middles.release()
    signal.throwIfAborted()
    this.#groups?.middles.release()
    this.#groups = made
  }
}

interface Groups {
  /** Vectors of the index. */
  readonly middles: Centroids
  /** By the number of the middle that they are nearest to. */
  readonly rows: readonly Int32Array[]
}

/** null: the index has no vectors. */
async function groupsOf(
  base: IndexRows,
  random: () => number,
  signal: AbortSignal,
): Promise<Groups | null> {
  const rows = await sampledRows(base, { count: LIST_LIMITS.guideRows, random }, signal)
  const chosen = await sampledRows(base, { count: LIST_LIMITS.guideGroups, random }, signal)
  const vectors = Array.from(chosen, (row) => base.codes.unitVector(row))
  const known = vectors.filter((vector) => vector !== null)
  if (known.length === 0) return null
  const middles = new Centroids(base.memory, base.shape.stride, known.length)
  try {
    for (const [group, vector] of known.entries()) {
      if (!middles.store(group, vector))
        throw new Error('a vector of the index is not of unit length')
    }
    const groups = new Int32Array(rows.length)
    await assignRows(
      base,
      { rows, centroids: middles },
      (some, from) => groups.set(some, from),
      signal,
    )
    return { middles, rows: groupedRows(rows, groups, known.length) }
  } catch (error) {
    middles.release()
    throw error
  }
}

function groupedRows(rows: Int32Array, groups: Int32Array, count: number): readonly Int32Array[] {
  const sizes = new Int32Array(count)
  for (const group of groups) sizes[group] = (sizes[group] ?? 0) + 1
  const lists = Array.from(sizes, (size) => new Int32Array(size))
  const ends = new Int32Array(count)
  for (const [index, group] of groups.entries()) {
    const end = ends[group] ?? 0
    const list = lists[group]
    if (list !== undefined) list[end] = rows[index] ?? 0
    ends[group] = end + 1
  }
  return lists
}
