/** Which documents may be stored, so that a new one need not be looked for. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables, type TableIds } from '../../core/domain/chunk.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { columnBatchOf, wholeStream } from '../duckdb/columns.ts'

/** Of all knowledge bases together: 64 MB, for four to eight million documents. */
const SLOTS_MAX = 2 ** 24

/**
 * For each knowledge base the hashes of the ids of all documents that are stored, and of some that were: an id that is not
 * among them is not stored, any other has to be looked for. Nothing is ever taken out, so neither a write that fails nor
 * one that removes must be told of here.
 */
export class DocumentIds {
  readonly #known = new LruMap<number, HashSet>({
    sizeMax: SLOTS_MAX,
    sizeOf: ({ slotCount }) => slotCount,
  })
  /** Have too many documents. */
  readonly #refused = new Set<number>()

  /** Within a turn of the write queue in which documents come that are not named: all are read again next time. */
  forget(kbId: number): void {
    this.#known.delete(kbId)
  }

  /** Those of the documents that may be stored. */
  possible(kbId: number, documentIds: readonly string[]): readonly string[] {
    const hashes = this.#known.get(kbId)
    if (hashes === undefined) return documentIds
    return documentIds.filter((id) => hashes.has(idHash(id)))
  }

  /**
   * Those of the documents that may be stored; from now on these are too. Only within a turn of the write queue, before the
   * documents are stored: nothing else is being written then, so that the first time all are read.
   */
  async comeWith(
    connection: DuckDBConnection,
    ids: TableIds,
    documentIds: readonly string[],
  ): Promise<readonly string[]> {
    if (this.#refused.has(ids.id)) return documentIds
    const hashes = this.#known.get(ids.id) ?? (await storedHashes(connection, ids))
    if (hashes === null) {
      this.#refused.add(ids.id)
      return documentIds
    }
    const possible: string[] = []
    for (const id of documentIds) if (!hashes.add(idHash(id))) possible.push(id)
    if (hashes.slotCount > SLOTS_MAX) this.#refused.add(ids.id)
    // Set again, since it may have grown.
    this.#known.set(ids.id, hashes)
    return possible
  }
}

const DIGEST = new Uint8Array(16)
const DIGEST_VIEW = new DataView(DIGEST.buffer)

/** The same 31 bits as `HASH_SQL` gives. */
function idHash(documentId: string): number {
  Bun.MD5.hash(documentId.toWellFormed(), DIGEST)
  return DIGEST_VIEW.getUint32(12, true) >>> 1
}

const HASH_SQL = '(md5_number_lower(document_id) >> 33)::INTEGER'

/** null: there are too many. */
async function storedHashes(connection: DuckDBConnection, ids: TableIds): Promise<HashSet | null> {
  const hashes = new HashSet()
  const sql = `SELECT ${HASH_SQL} FROM ${chunkTables(ids).chunks}`
  for await (const data of wholeStream(connection, sql)) {
    for (const hash of columnBatchOf(data).ints(0)) hashes.add(hash)
    if (hashes.slotCount > SLOTS_MAX) return null
    await yieldToEventLoop()
  }
  return hashes
}

const SLOTS_MIN = 1024

/** Of numbers below 2^31, in at most 16 bytes each. */
class HashSet {
  /** Each the number and one, 0 where there is none: a number stands where it belongs, or in a slot after that. */
  #slots = new Uint32Array(SLOTS_MIN)
  #count = 0

  get slotCount(): number {
    return this.#slots.length
  }

  has(hash: number): boolean {
    return this.#slots[slotFor(this.#slots, hash)] !== 0
  }

  /** @returns whether it was not there */
  add(hash: number): boolean {
    const slot = slotFor(this.#slots, hash)
    if (this.#slots[slot] !== 0) return false
    this.#slots[slot] = hash + 1
    this.#count += 1
    if (this.#count * 2 > this.#slots.length) this.#grow()
    return true
  }

  #grow(): void {
    const slots = new Uint32Array(this.#slots.length * 2)
    for (const entry of this.#slots) if (entry !== 0) slots[slotFor(slots, entry - 1)] = entry
    this.#slots = slots
  }
}

/** Where the number stands, or is going to. @param slots a power of two of them, not all taken */
function slotFor(slots: Uint32Array, hash: number): number {
  const mask = slots.length - 1
  let slot = hash & mask
  for (let entry = slots[slot]; entry !== 0 && entry !== hash + 1; entry = slots[slot]) {
    slot = (slot + 1) & mask
  }
  return slot
}
