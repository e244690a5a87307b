import { KeyRows } from '../vectors/row-table.ts'
import { RecordRow, recordKey, recordLength } from './row-records.ts'

/** For rows written one by one. The first is small, because most knowledge bases are. */
const FIRST_BLOCK_BYTES = 16 * 1024
const BLOCK_BYTES_MAX = 1024 * 1024

/** A block to which records are appended. Written records do not change. */
export class RecordBlock {
  readonly bytes: Buffer
  readonly table: RecordTable
  readonly number: number
  used = 0
  live = 0
  lastKey = 0

  constructor(table: RecordTable, number: number, bytes: Buffer) {
    this.table = table
    this.number = number
    this.bytes = bytes
  }
}

export class RecordTable {
  /** By number. */
  readonly #blocks = new Map<number, RecordBlock>()
  #blockCount = 0
  /** The number of each key's block, and the position of its record in that. */
  readonly #numbers = new KeyRows()
  readonly #places = new KeyRows()
  #open: RecordBlock | null = null

  get blocks(): Iterable<RecordBlock> {
    return this.#blocks.values()
  }

  /** @param places see `RecordRow` */
  get(key: number, places: readonly number[]): RecordRow | undefined {
    const block = this.#blockOf(key)
    return block && new RecordRow(block.bytes, this.#places.get(key) ?? 0, places)
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
    if (!this.#blocks.has(block.number)) return
    if (this.#open === block) this.#open = null
    const { bytes, used, number } = block
    for (let at = 0; at < used; at += recordLength(bytes, at)) {
      const key = recordKey(bytes, at)
      if (this.#numbers.get(key) === number && this.#places.get(key) === at) this.#forget(key)
    }
    this.#blocks.delete(number)
  }

  #newBlock(bytes: Buffer): RecordBlock {
    this.#blockCount += 1
    const block = new RecordBlock(this, this.#blockCount, bytes)
    this.#blocks.set(block.number, block)
    return block
  }

  /** Whether most rows of the block were removed. The others are then read again on demand. */
  #isWaste(block: RecordBlock): boolean {
    return block !== this.#open && block.live * 2 < block.used
  }

  #blockOf(key: number): RecordBlock | undefined {
    const number = this.#numbers.get(key)
    return number === undefined ? undefined : this.#blocks.get(number)
  }

  #put(block: RecordBlock, at: number): void {
    const key = recordKey(block.bytes, at)
    this.#forget(key)
    this.#numbers.set(key, block.number)
    this.#places.set(key, at)
    block.live += recordLength(block.bytes, at)
    block.lastKey = Math.max(block.lastKey, key)
  }

  /** @returns the block that contained the key, or null */
  #forget(key: number): RecordBlock | null {
    const block = this.#blockOf(key)
    const at = this.#places.get(key)
    if (block === undefined || at === undefined) return null
    this.#numbers.delete(key)
    this.#places.delete(key)
    block.live -= recordLength(block.bytes, at)
    return block
  }
}
