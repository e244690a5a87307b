const NO_LIST = -1
/** A full array grows to this many times its length. */
const GROWTH = 1.25
/** Of a row: its list, its place there, and its entry with the spare part of the array. */
const ROW_BYTES = 8 + 4 * GROWTH

/** Which rows are in which list; a row is in one at most. Numbers of rows and lists count from 0. */
export class RowLists {
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

  /** In no order. Not a copy: valid until the next change. */
  rowsOf(list: number): Int32Array {
    return (this.#members[list] ?? new Int32Array()).subarray(0, this.countOf(list))
  }

  /** null: in none. */
  listOf(row: number): number | null {
    const list = this.#listOf[row] ?? NO_LIST
    return list === NO_LIST ? null : list
  }

  /** Puts a row into a list, out of the one that it was in. */
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

  /** The last of its list takes its place there. */
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
