import { RecordRow, recordKey, recordLength } from './row-records.ts'

/** For rows written one by one. The first is small, because most knowledge bases are. */
const FIRST_BLOCK_BYTES = 16 * 1024
const BLOCK_BYTES_MAX = 1024 * 1024

/** A block to which records are appended. Written records do not change. */
export class RecordBlock {
  readonly bytes: Buffer
  readonly table: RecordTable
  used = 0
  live = 0
  lastKey = 0

  constructor(table: RecordTable, bytes: Buffer) {
    this.table = table
    this.bytes = bytes
  }
}

interface Place {
  readonly block: RecordBlock
  readonly at: number
}

const KEYS_PER_PAGE = 256

/** Keys come from a counter, so most keys of a page exist. */
interface Page {
  readonly blocks: (RecordBlock | null)[]
  readonly places: Uint32Array
  count: number
}

export class RecordTable {
  readonly #pages = new Map<number, Page>()
  readonly #blocks = new Set<RecordBlock>()
  #open: RecordBlock | null = null

  get blocks(): ReadonlySet<RecordBlock> {
    return this.#blocks
  }

  /** @param places see `RecordRow` */
  get(key: number, places: readonly number[]): RecordRow | undefined {
    const place = this.#placeOf(key)
    return place && new RecordRow(place.block.bytes, place.at, places)
  }

  /** @returns the block created for it, or null if there was room in an existing one */
  add(record: Buffer): RecordBlock | null {
    let made: RecordBlock | null = null
    let block = this.#open
    if (block === null || block.used + record.length > block.bytes.length) {
      const size = block === null ? FIRST_BLOCK_BYTES : block.bytes.length * 2
      const bytes = Buffer.allocUnsafeSlow(Math.max(Math.min(size, BLOCK_BYTES_MAX), record.length))
      block = this.#newBlock(bytes)
      made = block
      this.#open = block
    }
    record.copy(block.bytes, block.used)
    this.#put(block, block.used)
    block.used += record.length
    return made
  }

  /** Adds consecutive records without copying them. */
  addBlock(bytes: Buffer): RecordBlock {
    const block = this.#newBlock(bytes)
    for (let at = 0; at < bytes.length; at += recordLength(bytes, at)) this.#put(block, at)
    block.used = bytes.length
    return block
  }

  /** @returns the blocks that are no longer needed */
  remove(keys: Iterable<number>): readonly RecordBlock[] {
    const empty: RecordBlock[] = []
    for (const key of keys) {
      const block = this.#forget(key)
      if (block !== null && this.#isWaste(block)) {
        this.drop(block)
        empty.push(block)
      }
    }
    return empty
  }

  /** Frees a block with the records that are in use. */
  drop(block: RecordBlock): void {
    if (!this.#blocks.delete(block)) return
    if (this.#open === block) this.#open = null
    const { bytes, used } = block
    for (let at = 0; at < used; at += recordLength(bytes, at)) {
      const key = recordKey(bytes, at)
      const place = this.#placeOf(key)
      if (place?.block === block && place.at === at) this.#forget(key)
    }
  }

  #newBlock(bytes: Buffer): RecordBlock {
    const block = new RecordBlock(this, bytes)
    this.#blocks.add(block)
    return block
  }

  /** Whether most rows of the block were removed. The others are then read again on demand. */
  #isWaste(block: RecordBlock): boolean {
    return block !== this.#open && block.live * 2 < block.used
  }

  #placeOf(key: number): Place | undefined {
    const number = Math.floor(key / KEYS_PER_PAGE)
    const page = this.#pages.get(number)
    const index = key - number * KEYS_PER_PAGE
    const block = page?.blocks[index] ?? null
    return block === null ? undefined : { block, at: page?.places[index] ?? 0 }
  }

  #put(block: RecordBlock, at: number): void {
    const key = recordKey(block.bytes, at)
    this.#forget(key)
    const number = Math.floor(key / KEYS_PER_PAGE)
    let page = this.#pages.get(number)
    if (page === undefined) {
      page = {
        blocks: new Array<RecordBlock | null>(KEYS_PER_PAGE).fill(null),
        places: new Uint32Array(KEYS_PER_PAGE),
        count: 0,
      }
      this.#pages.set(number, page)
    }
    const index = key - number * KEYS_PER_PAGE
    page.blocks[index] = block
    page.places[index] = at
    page.count += 1
    block.live += recordLength(block.bytes, at)
    block.lastKey = Math.max(block.lastKey, key)
  }

  /** @returns the block that contained the key, or null */
  #forget(key: number): RecordBlock | null {
    const place = this.#placeOf(key)
    if (place === undefined) return null
    const number = Math.floor(key / KEYS_PER_PAGE)
    const page = this.#pages.get(number)
    if (page !== undefined) {
      page.blocks[key - number * KEYS_PER_PAGE] = null
      page.count -= 1
      if (page.count === 0) this.#pages.delete(number)
    }
    place.block.live -= recordLength(place.block.bytes, place.at)
    return place.block
  }
}
