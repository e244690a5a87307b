import { type Extent, type RowShape, rowBytes } from '../kernel/memory-layout.ts'
import type { ScanTask } from './scan.ts'
import type { Block, VectorMemory } from './vector-memory.ts'

const BLOCK_BYTES_MIN = 64 * 1024
const BLOCK_BYTES_MAX = 16 * 1024 ** 2
/** The row count of an extent is a multiple of this, so that codes and floats are aligned. */
const ROWS_MULTIPLE = 8

interface PlacedExtent {
  readonly extent: Extent
  readonly block: Block
  readonly first: number
}

/** Numbered across extents. A removed row is reused when no search can see it any more. */
export class RowTable {
  readonly #memory: VectorMemory
  readonly #shape: RowShape
  #extents: PlacedExtent[] = []
  #capacity = 0
  #bytes = 0
  #rowCount = 0
  /** In order of removal. */
  #free: { readonly row: number; readonly removedAt: number }[] = []
  #freeTaken = 0
  #lastExtent: PlacedExtent | undefined

  constructor(memory: VectorMemory, shape: RowShape) {
    this.#memory = memory
    this.#shape = shape
  }

  get bytes(): number {
    return this.#bytes
  }

  get rowCount(): number {
    return this.#rowCount
  }

  /**
   * @param unseenFrom the oldest snapshot still seen @throws AppError `out_of_memory`: none taken
   */
  take(count: number, unseenFrom: number): Int32Array {
    let reused = 0
    while (reused < count) {
      const next = this.#free[this.#freeTaken + reused]
      if (next === undefined || next.removedAt > unseenFrom) break
      reused += 1
    }
    while (this.#capacity - this.#rowCount < count - reused) this.#addExtent()
    const rows = new Int32Array(count)
    for (let index = 0; index < count; index++) {
      rows[index] = index < reused ? this.#reuse() : this.#rowCount++
    }
    return rows
  }

  free(row: number, removedAt: number): void {
    this.#free.push({ row, removedAt })
  }

  extentOf(row: number): PlacedExtent {
    const last = this.#lastExtent
    if (last !== undefined && row >= last.first && row < last.first + last.extent.capacity) {
      return last
    }
    const found = this.#extents.findLast(({ first }) => first <= row)
    if (found === undefined) throw new Error(`there is no row ${row}`)
    this.#lastExtent = found
    return found
  }

  /** Returns the rows [from, to) as parts of a scan. */
  rangeParts(from: number, to: number): Float64Array {
    const parts: number[] = []
    for (const { extent, first } of this.#extents) {
      const start = Math.max(from, first)
      const end = Math.min(to, first + extent.capacity)
      if (start < end) parts.push(extent.address, extent.capacity, start - first, end - first)
    }
    return Float64Array.from(parts)
  }

  /** Returns some ascending rows as parts of a scan, numbered within their extents. */
  listParts(rows: Int32Array): { readonly parts: Float64Array; readonly rows: Int32Array } {
    const parts: number[] = []
    // Shared, so that threads need no copy.
    const local = new Int32Array(new SharedArrayBuffer(rows.length * 4))
    let current: PlacedExtent | undefined
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] ?? 0
      const placed = this.extentOf(row)
      if (placed !== current) {
        parts.push(placed.extent.address, placed.extent.capacity, index, index)
        current = placed
      }
      parts[parts.length - 1] = index + 1
      local[index] = row - placed.first
    }
    return { parts: Float64Array.from(parts), rows: local }
  }

  /** Frees all memory. No search may be reading it. */
  release(): void {
    for (const { block } of this.#extents) this.#memory.release(block)
    this.#extents = []
    this.#free = []
    this.#freeTaken = 0
    this.#lastExtent = undefined
    this.#capacity = 0
    this.#rowCount = 0
    this.#bytes = 0
  }

  #reuse(): number {
    const next = this.#free[this.#freeTaken]
    if (next === undefined) throw new Error('no row is free')
    this.#freeTaken += 1
    if (this.#freeTaken * 2 > this.#free.length) {
      this.#free = this.#free.slice(this.#freeTaken)
      this.#freeTaken = 0
    }
    return next.row
  }

  /** Doubles the size, so that there are few extents, and at most half of the memory is empty. */
  #addExtent(): void {
    const bytesMin = Math.max(BLOCK_BYTES_MIN, rowBytes(this.#shape) * ROWS_MULTIPLE)
    const wanted = Math.max(bytesMin, Math.min(this.#bytes, BLOCK_BYTES_MAX))
    const block = this.#memory.allocate(wanted)
    const rows = Math.floor(block.bytes / rowBytes(this.#shape))
    const capacity = rows - (rows % ROWS_MULTIPLE)
    this.#extents.push({
      extent: { address: block.address, capacity },
      block,
      first: this.#capacity,
    })
    this.#capacity += capacity
    this.#bytes += block.bytes
  }
}

/** States that searches still see (MVCC), each the number of changes before it. */
export class Snapshots {
  #current = 0
  readonly #seen = new Map<number, number>()

  get current(): number {
    return this.#current
  }

  /** The oldest state that a search still sees, or else the current one. */
  get oldest(): number {
    return Math.min(this.#current, ...this.#seen.keys())
  }

  advance(): void {
    this.#current += 1
  }

  /** Lets a search see the current state until it calls `leave`. */
  enter(): number {
    this.#seen.set(this.#current, (this.#seen.get(this.#current) ?? 0) + 1)
    return this.#current
  }

  leave(snapshot: number): void {
    const count = (this.#seen.get(snapshot) ?? 1) - 1
    if (count > 0) this.#seen.set(snapshot, count)
    else this.#seen.delete(snapshot)
  }
}

const KEYS_PER_PAGE = 256
const NO_ROW = -1

interface Page {
  readonly rows: Int32Array
  count: number
}

/** Keys come from a counter, so most of a page of 256 exist: 1 KB, and nothing is rehashed. */
export class KeyRows {
  readonly #pages = new Map<number, Page>()
  #size = 0
  /** The page of the last lookup, because consecutive keys are usually on the same page. */
  #lastNumber = Number.NaN
  #lastPage: Page | undefined

  get size(): number {
    return this.#size
  }

  get(key: number): number | undefined {
    const number = Math.floor(key / KEYS_PER_PAGE)
    const row = this.#page(number)?.rows[key - number * KEYS_PER_PAGE] ?? NO_ROW
    return row === NO_ROW ? undefined : row
  }

  set(key: number, row: number): void {
    const number = Math.floor(key / KEYS_PER_PAGE)
    const page = this.#page(number) ?? this.#addPage(number)
    const index = key - number * KEYS_PER_PAGE
    if (page.rows[index] === NO_ROW) {
      page.count += 1
      this.#size += 1
    }
    page.rows[index] = row
  }

  delete(key: number): void {
    const number = Math.floor(key / KEYS_PER_PAGE)
    const page = this.#page(number)
    const index = key - number * KEYS_PER_PAGE
    if (page === undefined || page.rows[index] === NO_ROW) return
    page.rows[index] = NO_ROW
    page.count -= 1
    this.#size -= 1
    if (page.count > 0) return
    this.#pages.delete(number)
    this.#lastNumber = Number.NaN
  }

  #page(number: number): Page | undefined {
    if (number === this.#lastNumber) return this.#lastPage
    this.#lastNumber = number
    this.#lastPage = this.#pages.get(number)
    return this.#lastPage
  }

  #addPage(number: number): Page {
    const page = { rows: new Int32Array(KEYS_PER_PAGE).fill(NO_ROW), count: 0 }
    this.#pages.set(number, page)
    this.#lastNumber = number
    this.#lastPage = page
    return page
  }
}

/** On all platforms of Bun, which are little-endian. @throws Error for a key beyond 2^53 */
export function numbersOfKeys(keys: BigInt64Array): Float64Array {
  const halves = new Int32Array(keys.buffer, keys.byteOffset, keys.length * 2)
  const numbers = new Float64Array(keys.length)
  for (let index = 0; index < keys.length; index++) {
    const low = (halves[index * 2] ?? 0) >>> 0
    const number = (halves[index * 2 + 1] ?? 0) * 2 ** 32 + low
    if (!Number.isSafeInteger(number)) throw new Error(`chunk key ${keys[index]} is too large`)
    numbers[index] = number
  }
  return numbers
}

/** What a scan reads: all rows of a range, or the rows of a list. */
type ScanPart = Pick<ScanTask, 'parts' | 'rows'>

/** Some rows of an index, in ascending order without duplicates. */
export interface ChosenRows {
  readonly rows: Int32Array
  /** All of them, for a single scan. */
  readonly whole: ScanPart
}

interface KnownRows extends ChosenRows {
  /** The index's state when they were looked up. */
  readonly state: number
}

/** Once per list and state of the index. Lists are recognized by identity: must not change. */
export class ChosenRowsByKeys {
  readonly #rows: RowTable
  readonly #keyRows: KeyRows
  readonly #known = new WeakMap<BigInt64Array, KnownRows>()

  constructor(rows: RowTable, keyRows: KeyRows) {
    this.#rows = rows
    this.#keyRows = keyRows
  }

  /** @param state changes with the index */
  of(keys: BigInt64Array, state: number): ChosenRows {
    const known = this.#known.get(keys)
    if (known?.state === state) return known
    const rows = this.#rowsOf(keys)
    const chosen = { state, rows, whole: this.#rows.listParts(rows) }
    this.#known.set(keys, chosen)
    return chosen
  }

  #rowsOf(keys: BigInt64Array): Int32Array {
    const rows = new Int32Array(keys.length)
    let count = 0
    for (const key of numbersOfKeys(keys)) {
      const row = this.#keyRows.get(key)
      if (row !== undefined) rows[count++] = row
    }
    const found = rows.subarray(0, count)
    if (isAscending(found)) return found
    found.sort()
    return found.filter((row, index) => row !== found[index - 1])
  }
}

function isAscending(rows: Int32Array): boolean {
  for (let index = 1; index < rows.length; index++) {
    if ((rows[index] ?? 0) <= (rows[index - 1] ?? 0)) return false
  }
  return true
}

/** Splits all rows, or the chosen ones, into as many parts as are worth a thread each. */
export function scanParts(
  table: RowTable,
  chosen: ChosenRows | null,
  given: { readonly shape: RowShape; readonly partBytesMin: number; readonly partsMax: number },
): readonly ScanPart[] {
  const { shape, partBytesMin, partsMax } = given
  const rowCount = chosen === null ? table.rowCount : chosen.rows.length
  const worthwhile = Math.ceil((rowCount * shape.stride) / partBytesMin)
  const count = Math.max(1, Math.min(worthwhile, partsMax))
  if (chosen !== null && count === 1) return [chosen.whole]
  return Array.from({ length: count }, (_, index): ScanPart => {
    const from = Math.floor((rowCount * index) / count)
    const to = Math.floor((rowCount * (index + 1)) / count)
    if (chosen === null) return { parts: table.rangeParts(from, to), rows: null }
    return table.listParts(chosen.rows.subarray(from, to))
  })
}
