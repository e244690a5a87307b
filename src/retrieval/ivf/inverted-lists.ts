import { AppError } from '../../core/errors.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import type { IndexRows } from '../vectors/exact-index.ts'
import { assignRows, type Centroids, LIST_LIMITS } from './centroids.ts'

/** How many lists to read for up to `depth` neighbours. */
export interface Probing {
  readonly depth: number
  readonly probeCount: number
  /** False: reading all rows in order is faster. */
  readonly isWorthwhile: boolean
}

/** Rows or keys between two looks at the clock. */
const ROWS_PER_LOOK = 512

/** Keys of chunks, and the list number of each. */
export interface KeptLists {
  readonly keys: Float64Array
  readonly lists: Uint16Array
}

/**
 * The rows of an index in lists, each row with the centroid that is nearest to it (Jégou, Douze and
 * Schmid 2011, IVF): a search reads only the lists near its query vector. Rows without a list
 * wait in one more, which every search reads. All rows are current ones.
 */
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

  /**
   * @param centroids are released with the lists
   * @throws AppError `out_of_memory`; the centroids then still belong to the caller
   */
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

  /** Rows without a list. */
  get waitingCount(): number {
    return this.#rows.countOf(this.#waiting)
  }

  /** Resolves when no row is being assigned. */
  async assigned(): Promise<void> {
    await this.#assigning
  }

  /** How later searches probe. */
  probe(probings: readonly Probing[]): void {
    this.#probings = probings
  }

  /** Takes memory for all rows of the base. @throws AppError `out_of_memory` */
  makeRoom(): void {
    const { memory, rows } = this.#base
    if (rows.rowCount <= this.#roomRows) return
    const roomRows = Math.ceil(rows.rowCount * LIST_LIMITS.growthMax)
    const bytes = RowLists.bytesFor(roomRows)
    memory.reserve(bytes - this.#reservedBytes)
    this.#roomRows = roomRows
    this.#reservedBytes = bytes
  }

  /** The row has a new vector, from the current change on. */
  stored(row: number): void {
    this.#rows.put(row, this.#waiting)
  }

  removed(row: number): void {
    this.#rows.remove(row)
  }

  /** The list of a row; null when it waits for one, or is gone. */
  listOf(row: number): number | null {
    const list = this.#rows.listOf(row)
    return list === this.#waiting ? null : list
  }

  /** Rows in a list. */
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
        // A new or returned row waits; a removed one is in no list.
        if (this.#rows.listOf(row) !== null || this.#base.codes.addedAt(row) === null) continue
        this.#rows.put(row, list)
      }
    }
    await assignRows(this.#base, { rows, centroids: this.#centroids }, take, signal)
  }

  /**
   * Assigns rows to their former lists, by key; the others wait.
   * @returns how many had one
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

  /** The lists of all rows that have one, by their keys. */
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

  /** Of some rows, the share whose list has the nearest centroid: this detects lists of other vectors. */
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

  /**
   * Assigns waiting rows in the background when there are enough. After a failure they keep
   * waiting, where each search finds them, until the next change.
   */
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
          // A row that returned with another vector meanwhile keeps waiting.
          const isSame = addedAt[from + index] === this.#base.codes.addedAt(row)
          if (isSame && this.#rows.listOf(row) === this.#waiting) this.#rows.put(row, list)
        }
      }
      await assignRows(this.#base, { rows, centroids: this.#centroids }, take, signal)
    }
  }

  /** The numbers of all lists, nearest centroid first. */
  ranked(queryVector: Float32Array): readonly number[] {
    return this.#centroids.nearest(queryVector, this.count)
  }

  /**
   * The rows of the lists around a vector of unit length, at least `k` if there are as many; null if all rows are better
   * read in order.
   */
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

  /** Gives the memory back. Threads may still be reading; their results are dropped. */
  release(): void {
    this.#released.abort(new AppError('shutting_down', 'The lists are let go'))
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
/** A full array grows to this many times its length. */
const GROWTH = 1.25
/** For a row: its list, its position there, and its entry with the spare part of the array. */
const ROW_BYTES = 8 + 4 * GROWTH

/** Which rows are in which list; a row is in one at most. Numbers of rows and lists count from 0. */
class RowLists {
  readonly #members: Int32Array[]
  readonly #counts: Int32Array
  #listOf: Int32Array = new Int32Array()
  #placeOf: Int32Array = new Int32Array()

  constructor(listCount: number) {
    this.#members = Array.from({ length: listCount }, () => new Int32Array())
    this.#counts = new Int32Array(listCount)
  }

  /** Bytes, about, of the lists of this many rows. */
  static bytesFor(rowCount: number): number {
    return rowCount * ROW_BYTES
  }

  countOf(list: number): number {
    return this.#counts[list] ?? 0
  }

  /** In no particular order. Not a copy: valid until the next change. */
  rowsOf(list: number): Int32Array {
    return (this.#members[list] ?? new Int32Array()).subarray(0, this.countOf(list))
  }

  /** null: in none. */
  listOf(row: number): number | null {
    const list = this.#listOf[row] ?? NO_LIST
    return list === NO_LIST ? null : list
  }

  /** Moves a row into a list, out of its former one. */
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

  /** The last row of its list takes its position. */
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
