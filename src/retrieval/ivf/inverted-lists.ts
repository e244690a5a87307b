import { AppError } from '../../core/errors.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import type { IndexRows } from '../vectors/exact-index.ts'
import { assignRows, type Centroids, LIST_LIMITS } from './centroids.ts'

/** How many lists to read for up to `depth` neighbours. */
export interface Probing {
  readonly depth: number
  readonly probeCount: number
  /** False if it is faster to read all rows in order. */
  readonly isWorthwhile: boolean
}

/** Check the clock after this many rows or keys. */
const ROWS_PER_LOOK = 512

/** The keys of chunks, and the list number of each. */
interface KeptLists {
  readonly keys: Float64Array
  readonly lists: Uint16Array
}

/** IVF (Jégou, Douze and Schmid, 2011). Rows not in a list wait in one that all searches read. */
export class InvertedLists {
  readonly #base: IndexRows
  readonly #centroids: Centroids
  readonly #rows: RowLists
  readonly #waiting: number
  readonly #released = new AbortController()
  #probings: readonly Probing[] = []
  #reservedBytes = 0
  #roomRows = 0
  #assigning: Promise<void> | null = null

  /** @param centroids the caller's to release after @throws AppError `out_of_memory` */
  constructor(base: IndexRows, centroids: Centroids) {
    this.#base = base
    this.#centroids = centroids
    this.#rows = new RowLists(centroids.count + 1)
    this.#waiting = centroids.count
    this.makeRoom()
  }

  get count(): number {
    return this.#centroids.count
  }

  get bytes(): number {
    return this.#centroids.bytes + this.#reservedBytes
  }

  /** The number of rows without a list. */
  get waitingCount(): number {
    return this.#rows.countOf(this.#waiting)
  }

  /** Resolves when no assignment is running. */
  async assigned(): Promise<void> {
    await this.#assigning
  }

  /** Sets how many lists later searches read. */
  probe(probings: readonly Probing[]): void {
    this.#probings = probings
  }

  /** Allocates memory for all rows of the base. @throws AppError `out_of_memory` */
  makeRoom(): void {
    const { memory, rows } = this.#base
    if (rows.rowCount <= this.#roomRows) return
    const roomRows = Math.ceil(rows.rowCount * LIST_LIMITS.growthMax)
    const bytes = RowLists.bytesFor(roomRows)
    memory.reserve(bytes - this.#reservedBytes)
    this.#roomRows = roomRows
    this.#reservedBytes = bytes
  }

  /** Call when the row has a new vector as of the current change. */
  stored(row: number): void {
    this.#rows.put(row, this.#waiting)
  }

  removed(row: number): void {
    this.#rows.remove(row)
  }

  /** Returns the list of a row; null if it waits for one or was removed. */
  listOf(row: number): number | null {
    const list = this.#rows.listOf(row)
    return list === this.#waiting ? null : list
  }

  countOf(list: number): number {
    return this.#rows.countOf(list)
  }

  /** Assigns all rows of the base that existed before these lists. */
  async assignAll(signal: AbortSignal): Promise<void> {
    const rows = new Int32Array(this.#base.rows.rowCount)
    for (let row = 0; row < rows.length; row++) rows[row] = row
    const take = (lists: Int32Array, from: number) => {
      for (const [index, list] of lists.entries()) {
        const row = from + index
        // Skip new rows, which wait, and removed rows, which are in no list.
        if (this.#rows.listOf(row) !== null || this.#base.codes.addedAt(row) === null) continue
        this.#rows.put(row, list)
      }
    }
    await assignRows(this.#base, { rows, centroids: this.#centroids }, take, signal)
  }

  /**
   * Assigns rows to their saved lists by key. The others wait. @returns how many had a saved list
   */
  async takeOver({ keys, lists }: KeptLists, signal: AbortSignal): Promise<number> {
    const slice = new TimeSlice(LIST_LIMITS.busyMsMax)
    let count = 0
    for (let index = 0; index < keys.length; index++) {
      const row = this.#base.rowOf(BigInt(keys[index] ?? 0))
      if (row !== undefined) {
        this.#rows.put(row, lists[index] ?? 0)
        count += 1
      }
      if (index % ROWS_PER_LOOK === 0) await slice.yieldIfSpent(signal)
    }
    for (let row = 0; row < this.#base.rows.rowCount; row++) {
      const isNew = this.#rows.listOf(row) === null && this.#base.codes.addedAt(row) !== null
      if (isNew) this.#rows.put(row, this.#waiting)
      if (row % ROWS_PER_LOOK === 0) await slice.yieldIfSpent(signal)
    }
    return count
  }

  async kept(signal: AbortSignal): Promise<KeptLists> {
    const slice = new TimeSlice(LIST_LIMITS.busyMsMax)
    const keys: number[] = []
    const lists: number[] = []
    for (let row = 0; row < this.#base.rows.rowCount; row++) {
      const list = this.listOf(row)
      if (list !== null) {
        keys.push(this.#base.codes.keyOf(row))
        lists.push(list)
      }
      if (row % ROWS_PER_LOOK === 0) await slice.yieldIfSpent(signal)
    }
    return { keys: Float64Array.from(keys), lists: Uint16Array.from(lists) }
  }

  /** In the list with the nearest centroid. Low if the lists belong to other vectors. */
  async agreement(rows: Int32Array, signal: AbortSignal): Promise<number> {
    const slice = new TimeSlice(LIST_LIMITS.busyMsMax)
    let [looked, same] = [0, 0]
    for (const row of rows) {
      const list = this.listOf(row)
      const vector = list === null ? null : this.#base.codes.unitVector(row)
      if (vector === null) continue
      looked += 1
      if (this.#centroids.nearest(vector.slice(0, this.#base.dimensions), 1)[0] === list) same += 1
      await slice.yieldIfSpent(signal)
    }
    return looked === 0 ? 0 : same / looked
  }

  centroid(list: number): Float32Array {
    return this.#centroids.vector(list, this.#base.dimensions)
  }

  probings(): readonly Probing[] {
    return this.#probings
  }

  /** In the background, when there are enough. Searches find waiting rows too. */
  assignWaiting(): void {
    if (this.#assigning !== null || this.waitingCount < LIST_LIMITS.pendingMin) return
    const end = () => {
      this.#assigning = null
    }
    this.#assigning = this.#assignWaiting(this.#released.signal).then(end, end)
  }

  async #assignWaiting(signal: AbortSignal): Promise<void> {
    while (this.waitingCount >= LIST_LIMITS.pendingMin) {
      const rows = this.#rows.rowsOf(this.#waiting).slice(0, LIST_LIMITS.pendingMax)
      const addedAt = Array.from(rows, (row) => this.#base.codes.addedAt(row))
      const take = (lists: Int32Array, from: number) => {
        for (const [index, list] of lists.entries()) {
          const row = rows[from + index] ?? 0
          // A row that got another vector in the meantime keeps waiting.
          const isSame = addedAt[from + index] === this.#base.codes.addedAt(row)
          if (isSame && this.#rows.listOf(row) === this.#waiting) this.#rows.put(row, list)
        }
      }
      await assignRows(this.#base, { rows, centroids: this.#centroids }, take, signal)
    }
  }

  ranked(queryVector: Float32Array): readonly number[] {
    return this.#centroids.nearest(queryVector, this.count)
  }

  /** At least `k` if possible; null if it is better to read all rows in order. */
  rowsNear(queryVector: Float32Array, k: number): Int32Array | null {
    const probing = this.#probings.find(({ depth }) => k <= depth)
    if (probing === undefined || !probing.isWorthwhile) return null
    const { probeCount } = probing
    const total = this.#base.count()
    const wanted = Math.min(k, total)
    const nearest = this.#centroids.nearest(queryVector, probeCount)
    let lists = [this.#waiting, ...nearest]
    if (this.#sizeOf(lists) < wanted) {
      lists = [this.#waiting]
      let size = this.waitingCount
      for (const list of this.ranked(queryVector)) {
        if (size >= wanted && lists.length > probeCount) break
        lists.push(list)
        size += this.countOf(list)
      }
    }
    const size = this.#sizeOf(lists)
    return size > total * LIST_LIMITS.scannedShareMax ? null : this.#joined(lists, size)
  }

  /** Frees the memory. Threads may still be reading it; their results are dropped. */
  release(): void {
    this.#released.abort(new AppError('shutting_down', 'The lists were released'))
    this.#centroids.release()
    this.#base.memory.unreserve(this.#reservedBytes)
    this.#reservedBytes = 0
  }

  #sizeOf(lists: readonly number[]): number {
    return lists.reduce((size, list) => size + this.countOf(list), 0)
  }

  #joined(lists: readonly number[], size: number): Int32Array {
    const rows = new Int32Array(size)
    let at = 0
    for (const list of lists) {
      const some = this.#rows.rowsOf(list)
      rows.set(some, at)
      at += some.length
    }
    return rows
  }
}

const NO_LIST = -1
const GROWTH = 1.25
/** Bytes per row: its list, its position there, and its entry in an array with room to grow. */
const ROW_BYTES = 8 + 4 * GROWTH

/**
 * Stores which rows are in which list. A row is in at most one. Rows and lists are numbered from 0.
 */
class RowLists {
  readonly #members: Int32Array[]
  readonly #counts: Int32Array
  #listOf: Int32Array = new Int32Array()
  #placeOf: Int32Array = new Int32Array()

  constructor(listCount: number) {
    this.#members = Array.from({ length: listCount }, () => new Int32Array())
    this.#counts = new Int32Array(listCount)
  }

  /** The approximate bytes of lists with this many rows. */
  static bytesFor(rowCount: number): number {
    return rowCount * ROW_BYTES
  }

  countOf(list: number): number {
    return this.#counts[list] ?? 0
  }

  /** The rows of a list in no particular order. The array is valid until the next change. */
  rowsOf(list: number): Int32Array {
    return (this.#members[list] ?? new Int32Array()).subarray(0, this.countOf(list))
  }

  /** Null if the row is in no list. */
  listOf(row: number): number | null {
    const list = this.#listOf[row] ?? NO_LIST
    return list === NO_LIST ? null : list
  }

  /** Moves a row from its previous list to this one. */
  put(row: number, list: number): void {
    this.remove(row)
    this.#makeRoom(row, list)
    const count = this.countOf(list)
    const members = this.#members[list]
    if (members === undefined) throw new Error(`there is no list ${list}`)
    members[count] = row
    this.#counts[list] = count + 1
    this.#listOf[row] = list
    this.#placeOf[row] = count
  }

  /** The last row of the list takes the position of the removed one. */
  remove(row: number): void {
    const list = this.#listOf[row] ?? NO_LIST
    if (list === NO_LIST) return
    const members = this.#members[list] ?? new Int32Array()
    const place = this.#placeOf[row] ?? 0
    const lastIndex = this.countOf(list) - 1
    const last = members[lastIndex] ?? row
    members[place] = last
    this.#placeOf[last] = place
    this.#counts[list] = lastIndex
    this.#listOf[row] = NO_LIST
  }

  #makeRoom(row: number, list: number): void {
    if (row >= this.#listOf.length) {
      const length = Math.ceil((row + 1) * GROWTH)
      this.#listOf = grown(this.#listOf, length, NO_LIST)
      this.#placeOf = grown(this.#placeOf, length, 0)
    }
    const members = this.#members[list]
    const count = this.countOf(list)
    if (members !== undefined && count === members.length) {
      this.#members[list] = grown(members, Math.ceil((count + 4) * GROWTH), 0)
    }
  }
}

function grown(numbers: Int32Array, length: number, filling: number): Int32Array {
  const longer = new Int32Array(length).fill(filling, numbers.length)
  longer.set(numbers)
  return longer
}
