/** Caches which document ids may be stored, so that new ones need not be looked up. */
import {
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api'
import { chunkTables, type StoredChunkText, type TableIds } from '../../core/domain/document.ts'
import { allRows, rowBatches } from '../../core/runtime/all-rows.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { hashSql, textHash } from '../../core/text/words.ts'
import { columnBatchOf, wholeStream } from '../duckdb/columns.ts'

/** Slots for all knowledge bases together: 64 MB, for four to eight million documents. */
const SLOTS_MAX = 2 ** 24

/** An id whose hash is missing is not stored; others must be looked up. Never removed. */
export class DocumentIds {
  readonly #known = new LruMap<number, HashSet>({
    sizeMax: SLOTS_MAX,
    sizeOf: ({ slotCount }) => slotCount,
  })
  /** Knowledge bases with too many documents to cache. */
  readonly #refused = new Set<number>()

  /** Rebuilt at the next use. Call in a write that adds documents not passed here. */
  forget(kbId: number): void {
    this.#known.delete(kbId)
  }

  possible(kbId: number, documentIds: readonly string[]): readonly string[] {
    const hashes = this.#known.get(kbId)
    if (hashes === undefined) return documentIds
    return documentIds.filter((id) => hashes.has(textHash(id)))
  }

  /** Adds all ids. Call only in a turn of the write queue, before storing the documents. */
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
    for (const id of documentIds) if (!hashes.add(textHash(id))) possible.push(id)
    if (hashes.slotCount > SLOTS_MAX) this.#refused.add(ids.id)
    // Set it again to update the size the cache counts for it.
    this.#known.set(ids.id, hashes)
    return possible
  }
}

/** Returns null if there are too many documents. */
async function storedHashes(connection: DuckDBConnection, ids: TableIds): Promise<HashSet | null> {
  const hashes = new HashSet()
  const sql = `SELECT ${hashSql('document_id')} FROM ${chunkTables(ids).chunks}`
  for await (const data of wholeStream(connection, sql)) {
    for (const hash of columnBatchOf(data).ints(0)) hashes.add(hash)
    if (hashes.slotCount > SLOTS_MAX) return null
    await yieldToEventLoop()
  }
  return hashes
}

const SLOTS_MIN = 1024

/** A set of integers below 2^31 that takes at most 16 bytes per entry. */
class HashSet {
  /** A number plus one, or 0 if empty, in its own slot or in one after it. */
  #slots = new Uint32Array(SLOTS_MIN)
  #count = 0

  get slotCount(): number {
    return this.#slots.length
  }

  has(hash: number): boolean {
    return this.#slots[slotFor(this.#slots, hash)] !== 0
  }

  /** @returns true if the number was not in the set before */
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

/** Or the free one for it. @param slots a power of two, some free */
function slotFor(slots: Uint32Array, hash: number): number {
  const mask = slots.length - 1
  let slot = hash & mask
  for (let entry = slots[slot]; entry !== 0 && entry !== hash + 1; entry = slots[slot]) {
    slot = (slot + 1) & mask
  }
  return slot
}

/** Returns the texts of all chunks of these documents. There is at least one document. */
export async function storedTexts(
  connection: DuckDBConnection,
  ids: TableIds,
  documentIds: readonly string[],
): Promise<readonly StoredChunkText[]> {
  const { chunks, contexts } = chunkTables(ids)
  const { condition, values, types } = withIds(documentIds)
  // The join reads the text of every chunk in the knowledge base, so check first whether any of the
  // documents is stored.
  const there = `SELECT 1 FROM ${chunks} WHERE ${condition} LIMIT 1`
  const found = await allRows(connection, there, values, types)
  if (found.length === 0) return []
  const sql = `SELECT c.chunk_key, document_id, chunk_content, coalesce(context, '')
    FROM ${chunks} AS c LEFT JOIN ${contexts} AS x ON x.chunk_key = c.chunk_key
    WHERE ${condition} ORDER BY c.chunk_key`
  const texts: StoredChunkText[] = []
  for await (const rows of rowBatches(connection, sql, values, types)) {
    for (const [chunkKey, documentId, content, context] of rows) {
      texts.push({
        chunkKey: BigInt(String(chunkKey)),
        documentId: String(documentId),
        content: String(content),
        context: String(context),
      })
    }
    await yieldToEventLoop()
  }
  return texts
}

export async function keysOfDocuments(
  connection: DuckDBConnection,
  ids: TableIds,
  documentIds: readonly string[],
): Promise<readonly bigint[]> {
  if (documentIds.length === 0) return []
  const { condition, values, types } = withIds(documentIds)
  const sql = `SELECT chunk_key FROM ${chunkTables(ids).chunks} WHERE ${condition}`
  const found = await allRows(connection, sql, values, types)
  return found.map(([key]) => BigInt(String(key)))
}

/** For up to this many ids, a filter in the scan takes a fifth of the time of a join. */
const LISTED_IDS_MAX = 16

/** Returns a condition on `document_id`, and the values to bind. */
function withIds(documentIds: readonly string[]) {
  const ids = documentIds.map((id) => id.toWellFormed())
  if (ids.length > LISTED_IDS_MAX) {
    const values: Record<string, DuckDBValue> = { ids: listValue(ids) }
    const types: Record<string, DuckDBType> = { ids: LIST(VARCHAR) }
    return { condition: 'document_id IN (SELECT unnest($ids))', values, types }
  }
  const named = ids.map((id, index) => [`id${index}`, id] as const)
  const values: Record<string, DuckDBValue> = Object.fromEntries(named)
  const types: Record<string, DuckDBType> = {}
  for (const [name] of named) types[name] = VARCHAR
  const condition = `document_id IN (${named.map(([name]) => `$${name}`).join(', ')})`
  return { condition, values, types }
}
