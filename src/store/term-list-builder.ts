import type { DuckDBDataChunk } from '@duckdb/node-api'
import type { TermList } from '../search/keyword/best-worded.ts'
import { keysOf, numbersOf } from './vector-rows.ts'

const NUMBER_MAX = 0xffff

/** Makes the lists of terms out of their postings, in whatever order these come. */
export class TermListBuilder {
  readonly #growing: ReadonlyMap<bigint, GrowingList>
  readonly #postingsMax: number
  #count = 0

  constructor(terms: readonly bigint[], postingsMax: number) {
    this.#growing = new Map(terms.map((term) => [term, new GrowingList()]))
    this.#postingsMax = postingsMax
  }

  /**
   * @param chunk of `term, chunk_key, frequency, term_count`
   * @returns false when they are too many: no list is whole then
   */
  add(chunk: DuckDBDataChunk): boolean {
    this.#count += chunk.rowCount
    if (this.#count > this.#postingsMax) return false
    const terms = keysOf(chunk)
    const rows = {
      keys: keysOf(chunk, 1),
      frequencies: numbersOf(chunk, 2),
      termCounts: numbersOf(chunk, 3),
    }
    const halves = new Int32Array(terms.buffer, terms.byteOffset, terms.length * 2)
    for (let start = 0; start < terms.length; ) {
      let end = start + 1
      while (end < terms.length && isSame(halves, start, end)) end += 1
      this.#growing.get(terms[start] ?? 0n)?.add(rows, start, end)
      start = end
    }
    return true
  }

  /** null for a term whose numbers are too large for a list, and for all where they were too many. */
  lists(): ReadonlyMap<bigint, TermList | null> {
    const isWhole = this.#count <= this.#postingsMax
    return new Map([...this.#growing].map(([term, list]) => [term, isWhole ? list.list() : null]))
  }
}

/** Two keys of 64 bits, without a JavaScript value for either. */
function isSame(halves: Int32Array, one: number, other: number): boolean {
  return halves[2 * one] === halves[2 * other] && halves[2 * one + 1] === halves[2 * other + 1]
}

interface PostingRows {
  readonly keys: BigInt64Array
  readonly frequencies: Int32Array
  readonly termCounts: Int32Array
}

class GrowingList {
  #keys = new Uint32Array(16)
  #frequencies = new Uint16Array(16)
  #termCounts = new Uint16Array(16)
  #size = 0
  #fits = true
  #isSorted = true

  add(rows: PostingRows, start: number, end: number): void {
    this.#reserve(this.#size + end - start)
    // The lower and the upper half of each key: a processor that DuckDB runs on has the lower one first.
    const halves = new Uint32Array(rows.keys.buffer, rows.keys.byteOffset, rows.keys.length * 2)
    let last = this.#size === 0 ? -1 : (this.#keys[this.#size - 1] ?? 0)
    for (let row = start; row < end; row += 1) {
      const key = halves[2 * row] ?? 0
      const frequency = rows.frequencies[row] ?? 0
      const termCount = rows.termCounts[row] ?? 0
      if (halves[2 * row + 1] !== 0 || frequency > NUMBER_MAX || termCount > NUMBER_MAX) {
        this.#fits = false
      }
      if (key <= last) this.#isSorted = false
      last = key
      this.#keys[this.#size] = key
      this.#frequencies[this.#size] = frequency
      this.#termCounts[this.#size] = termCount
      this.#size += 1
    }
  }

  list(): TermList | null {
    if (!this.#fits) return null
    const list = {
      keys: this.#keys.slice(0, this.#size),
      frequencies: this.#frequencies.slice(0, this.#size),
      termCounts: this.#termCounts.slice(0, this.#size),
    }
    return this.#isSorted ? list : sorted(list)
  }

  #reserve(size: number): void {
    if (size <= this.#keys.length) return
    const capacity = Math.max(size, this.#keys.length * 2)
    this.#keys = grown(this.#keys, new Uint32Array(capacity))
    this.#frequencies = grown(this.#frequencies, new Uint16Array(capacity))
    this.#termCounts = grown(this.#termCounts, new Uint16Array(capacity))
  }
}

function grown<T extends Uint32Array | Uint16Array>(from: T, to: T): T {
  to.set(from)
  return to
}

function sorted({ keys, frequencies, termCounts }: TermList): TermList {
  const order = Uint32Array.from(keys.keys()).sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0))
  return {
    keys: Uint32Array.from(order, (index) => keys[index] ?? 0),
    frequencies: Uint16Array.from(order, (index) => frequencies[index] ?? 0),
    termCounts: Uint16Array.from(order, (index) => termCounts[index] ?? 0),
  }
}
