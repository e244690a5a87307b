const KEYS_PER_PAGE = 256
const NO_ROW = -1

interface Page {
  readonly rows: Int32Array
  count: number
}

/**
 * Which key has which row. Keys come from a counter, so those of one page of 256 mostly exist
 * together: a page costs 1 KB, a lookup two steps, and nothing is ever rehashed.
 */
export class KeyRows {
  readonly #pages = new Map<number, Page>()
  #size = 0
  /** The page of the last lookup: ascending keys stay on one. */
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

/**
 * The keys of a BIGINT column as numbers, without a heap BigInt for each. All platforms of Bun are
 * little-endian.
 * @throws Error for a key beyond 2^53, which no counter of ours reaches
 */
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
