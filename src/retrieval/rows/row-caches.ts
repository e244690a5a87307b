import type { CatalogSnapshot } from '../../domain/catalog-snapshot.ts'
import { chunkTables } from '../../domain/chunk-tables.ts'
import { quote } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type {
  CommitListener,
  CommittedWrite,
  RowReader,
} from '../../domain/ports/retrieval-ports.ts'
import type { ChunkRows, ChunkRowsRequest, ShownChunk } from '../../domain/ports/search-ports.ts'
import { numbersOfKeys } from '../vectors/key-rows.ts'
import { type RecordBlock, RecordTable } from './record-table.ts'
import { RecordRow, recordBytes } from './row-records.ts'

/** A statement reads rows of more columns itself. */
const COLUMNS_MAX = 64

/** More rows are read by a statement as fast. */
const KEYS_MAX = 1_000

export interface RowCachesDeps {
  readonly reader: RowReader
  snapshot(): CatalogSnapshot
}

export interface RowCachesOptions {
  /** Of all rows together; 0: each is read when it is wanted. */
  readonly bytesMax: number
}

/** The rows of one knowledge base that are in memory. */
interface RowCache {
  readonly table: RecordTable
  /** Physical names of the metadata columns that its records have, in their order. */
  readonly columns: readonly string[]
  /** Writes that may be seen by a transaction that begins. */
  commitCount: number
  isCommitting: boolean
}

/**
 * Rows of chunks in memory, told of each write after its commit and before its answer. A chunk's text never changes under
 * its key, so that only the rows of chunks that went or got other metadata are let go. All are bounded together: the block
 * that has been there longest goes first, and its rows are read again when they are wanted.
 */
export class RowCaches implements ChunkRows, CommitListener {
  readonly #deps: RowCachesDeps
  readonly #bytesMax: number
  readonly #caches = new Map<number, RowCache>()
  /** All blocks, in the order in which they came. */
  readonly #blocks = new Set<RecordBlock>()
  #bytes = 0

  constructor(deps: RowCachesDeps, { bytesMax }: RowCachesOptions) {
    this.#deps = deps
    this.#bytesMax = bytesMax
  }

  get memoryBytes(): number {
    return this.#bytes
  }

  async rowsOf(
    request: ChunkRowsRequest,
    signal: AbortSignal,
  ): Promise<readonly ShownChunk[] | null> {
    const { knowledgeBase, keys, columns } = request
    if (keys.length > KEYS_MAX) return null
    const cache = this.#cacheOf(knowledgeBase)
    if (cache === null) return null
    const places = columns.map((column) => cache.columns.indexOf(column))
    if (places.includes(-1)) return null
    const rows: RecordRow[] = []
    const missing: bigint[] = []
    for (const key of keys) {
      const row = cache.table.get(Number(key), places)
      if (row?.isWhole === true) rows.push(row)
      else missing.push(key)
    }
    if (missing.length === 0) return rows
    const read = await this.#read(cache, { ...request, keys: missing }, signal)
    if (read.size < missing.length) return null
    const found = rows.values()
    return keys.map((key) => {
      const record = read.get(Number(key))
      const row = record === undefined ? found.next().value : new RecordRow(record, 0, places)
      if (row === undefined) throw new Error('each row was found or read')
      return row
    })
  }

  needsChange({ id }: Pick<KnowledgeBase, 'id'>): boolean {
    return this.#caches.has(id)
  }

  beginCommit({ id }: Pick<KnowledgeBase, 'id'>): void {
    const cache = this.#caches.get(id)
    if (cache === undefined) return
    cache.commitCount += 1
    cache.isCommitting = true
  }

  endCommit({ id }: KnowledgeBase, write: CommittedWrite | null): void {
    const cache = this.#caches.get(id)
    if (cache === undefined) return
    cache.isCommitting = false
    // Whoever began to read before now may have seen the state before.
    cache.commitCount += 1
    if (write === null) return
    // It came between the question and the write.
    if (write.changed === null) {
      this.#forget(id)
      return
    }
    for (const keys of [write.changed.removedKeys, write.changed.rewrittenKeys]) {
      if (keys === undefined) continue
      for (const block of cache.table.remove(numbersOfKeys(keys))) this.#letGo(block)
    }
  }

  catalogChanged({ knowledgeBases }: CatalogSnapshot): void {
    if (this.#caches.size === 0) return
    const byId = new Map(knowledgeBases.map((kb) => [kb.id, kb]))
    for (const [id, cache] of [...this.#caches]) {
      const kb = byId.get(id)
      // Values move to a new column where its type has become another.
      if (kb === undefined || !hasColumns(kb, cache.columns)) this.#forget(id)
    }
  }

  close(): void {
    for (const id of [...this.#caches.keys()]) this.#forget(id)
  }

  /** null: its rows are not kept, or it is another than the one that was planned for. */
  #cacheOf(planned: KnowledgeBase): RowCache | null {
    if (this.#bytesMax === 0) return null
    const known = this.#caches.get(planned.id)
    if (known !== undefined) return known
    const kb = this.#deps.snapshot().knowledgeBases.find(({ id }) => id === planned.id)
    if (kb === undefined || kb.storedMetadata.length > COLUMNS_MAX) return null
    const cache: RowCache = {
      table: new RecordTable(),
      columns: kb.storedMetadata.map(({ column }) => column),
      commitCount: 0,
      isCommitting: false,
    }
    this.#caches.set(kb.id, cache)
    return cache
  }

  /** Reads rows by their keys, and keeps them where no write came in between. */
  async #read(
    cache: RowCache,
    request: ChunkRowsRequest,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, Buffer>> {
    const { commitCount, isCommitting } = cache
    const records = await readRecords(
      this.#deps.reader,
      { ...request, columns: cache.columns },
      signal,
    )
    const isThis = this.#caches.get(request.knowledgeBase.id) === cache
    const isKept = isThis && !isCommitting && cache.commitCount === commitCount
    if (isKept) {
      for (const record of records.values()) this.#keep(cache.table.add(record))
    }
    return records
  }

  #keep(made: RecordBlock | null): void {
    if (made === null) return
    this.#blocks.add(made)
    this.#bytes += made.bytes.length
    for (const oldest of this.#blocks) {
      if (this.#bytes <= this.#bytesMax) return
      oldest.table.drop(oldest)
      this.#letGo(oldest)
    }
  }

  #letGo(block: RecordBlock): void {
    if (this.#blocks.delete(block)) this.#bytes -= block.bytes.length
  }

  #forget(id: number): void {
    const cache = this.#caches.get(id)
    if (cache === undefined) return
    this.#caches.delete(id)
    for (const block of cache.table.blocks) this.#letGo(block)
  }
}

function hasColumns({ storedMetadata }: KnowledgeBase, columns: readonly string[]): boolean {
  return (
    storedMetadata.length === columns.length &&
    storedMetadata.every(({ column }, index) => column === columns[index])
  )
}

/**
 * The rows with these keys as records, by their keys; one that is gone is left out.
 * @throws AppError as `SqlEngine.run` does
 */
async function readRecords(
  reader: RowReader,
  { knowledgeBase, keys, columns, limits }: ChunkRowsRequest,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, Buffer>> {
  const list = ['chunk_key', 'document_id', 'chunk_id', 'chunk_content', 'metadata::VARCHAR']
  const sql = `SELECT ${[...list, ...columns.map(quote)].join(', ')}
    FROM ${chunkTables(knowledgeBase).chunks} WHERE chunk_key IN ($keys)`
  const { batches } = await reader.run({ sql, values: { keys }, isShort: true }, limits, signal)
  const records = new Map<number, Buffer>()
  for await (const rows of batches) {
    for (const [key, id, chunkId, content, metadata, ...values] of rows) {
      const record = {
        key: Number(key),
        id: String(id),
        chunkId: String(chunkId),
        content: String(content),
        metadata: String(metadata),
        columns: JSON.stringify(values),
      }
      records.set(record.key, recordBytes(record))
    }
  }
  return records
}
