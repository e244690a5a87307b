import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type {
  CommitListener,
  CommittedWrite,
  RowReader,
} from '../../core/domain/ports/retrieval-ports.ts'
import type {
  ChunkRows,
  ChunkRowsRequest,
  ShownChunk,
} from '../../core/domain/ports/search-ports.ts'
import { AppError } from '../../core/errors.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { numbersOfKeys } from '../vectors/row-table.ts'
import { type RecordBlock, RecordTable } from './record-table.ts'
import { nextKey, RecordRow, readRange, readRecords } from './row-records.ts'

/** With more columns, statements read the rows themselves. */
const CACHED_COLUMNS_MAX = 64

/** With more rows, a statement is as fast. */
const LOOKUP_KEYS_MAX = 1_000

/** After this many rows were missing, the remaining ones are read in the background. */
const MISSED_MAX = 64

/** The number of bytes to read at a time. */
const READ_BLOCK_BYTES = 1024 * 1024
const BLOCK_KEYS_MIN = 16
const BLOCK_KEYS_MAX = 4_096

/** Give up after this many writes came in between, until rows are missing again. */
const OVERTAKEN_MAX = 100

interface RowCachesDeps {
  readonly reader: RowReader
  snapshot(): CatalogSnapshot
}

interface RowCache {
  readonly table: RecordTable
  /** The physical metadata columns in its records, in order. */
  readonly columns: readonly string[]
  /** The number of writes that a new transaction may see. */
  commitCount: number
  isCommitting: boolean
  /** The number of rows read one at a time since all others were read. */
  missedCount: number
  /** The key up to which the background read has come. */
  filledTo: number
}

/** Texts never change under a key, so only removed or changed rows go. Oldest block first. */
export class RowCaches implements ChunkRows, CommitListener {
  readonly #deps: RowCachesDeps
  readonly #bytesMax: number
  readonly #caches = new Map<number, RowCache>()
  /** All blocks, in order of arrival. */
  readonly #blocks = new Set<RecordBlock>()
  readonly #stopping = new AbortController()
  #bytes = 0
  #filling: Promise<void> = Promise.resolve()

  constructor(
    deps: RowCachesDeps,
    given: {
      /** The limit for all rows in bytes; with 0, each row is read on demand. */
      readonly bytesMax: number
    },
  ) {
    this.#deps = deps
    this.#bytesMax = given.bytesMax
  }

  get memoryBytes(): number {
    return this.#bytes
  }

  bytesOf({ id }: Pick<KnowledgeBase, 'id'>): number {
    let bytes = 0
    for (const block of this.#caches.get(id)?.table.blocks ?? []) bytes += block.bytes.length
    return bytes
  }

  async rowsOf(
    request: ChunkRowsRequest,
    signal: AbortSignal,
  ): Promise<readonly ShownChunk[] | null> {
    const { knowledgeBase, keys, columns } = request
    if (keys.length > LOOKUP_KEYS_MAX) return null
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
    // A read that started before this may have seen the previous state.
    cache.commitCount += 1
    if (write === null) return
    // The cache was created after the write checked for one.
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
      // A column whose type changed is now stored elsewhere.
      if (kb === undefined || !hasColumns(kb, cache.columns)) this.#forget(id)
    }
  }

  /** Resolves when no background read is running. */
  async settled(): Promise<void> {
    await this.#filling
  }

  async close(): Promise<void> {
    this.#stopping.abort(new AppError('shutting_down', 'The rows in memory were released'))
    await this.#filling
    for (const id of [...this.#caches.keys()]) this.#forget(id)
  }

  /** Null if its rows are not cached, or if it has changed since planning. */
  #cacheOf(planned: KnowledgeBase): RowCache | null {
    if (this.#bytesMax === 0) return null
    const known = this.#caches.get(planned.id)
    if (known !== undefined) return known
    const kb = this.#deps.snapshot().knowledgeBases.find(({ id }) => id === planned.id)
    if (kb === undefined || kb.storedMetadata.length > CACHED_COLUMNS_MAX) return null
    const cache: RowCache = {
      table: new RecordTable(),
      columns: kb.storedMetadata.map(({ column }) => column),
      commitCount: 0,
      isCommitting: false,
      missedCount: 0,
      filledTo: 0,
    }
    this.#caches.set(kb.id, cache)
    return cache
  }

  /** Reads rows by key, and caches them if no write came in between. */
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
    if (!isCommitting && this.#isCurrent(request.knowledgeBase, cache, commitCount)) {
      for (const record of records.values()) {
        const made = cache.table.add(record)
        if (made !== null) this.#keep(made)
      }
    }
    this.#missed(request.knowledgeBase, cache, records.size)
    return records
  }

  /** Whether its rows are up to date and it was not released. */
  #isCurrent({ id }: KnowledgeBase, cache: RowCache, commitCount: number): boolean {
    return this.#caches.get(id) === cache && cache.commitCount === commitCount
  }

  /** Reads the remaining rows of a knowledge base that is searched repeatedly. */
  #missed(kb: KnowledgeBase, cache: RowCache, count: number): void {
    cache.missedCount += count
    if (cache.missedCount < MISSED_MAX) return
    cache.missedCount = Number.NEGATIVE_INFINITY
    // If it fails, rows are read on demand.
    this.#filling = this.#filling.then(() => this.#fill(kb, cache)).catch(() => {})
  }

  /** Reads all rows added since the last time, as far as there is room. */
  async #fill(kb: KnowledgeBase, cache: RowCache): Promise<void> {
    const { reader } = this.#deps
    const { signal } = this.#stopping
    let size = BLOCK_KEYS_MIN
    let overtaken = 0
    for (;;) {
      const from = await nextKey(reader, kb, cache.filledTo, signal)
      if (from === null) break
      const { commitCount, isCommitting } = cache
      const to = from + size
      const bytes = await readRange(reader, kb, { from, to }, signal)
      if (this.#caches.get(kb.id) !== cache) return
      if (this.#bytes + bytes.length > this.#bytesMax) return
      size = nextSize(size, bytes.length)
      await yieldToEventLoop()
      if (isCommitting || !this.#isCurrent(kb, cache, commitCount)) {
        overtaken += 1
        if (overtaken < OVERTAKEN_MAX) continue
        break
      }
      cache.filledTo = bytes.length === 0 ? to : this.#keep(cache.table.addBlock(bytes)) + 1
    }
    cache.missedCount = 0
  }

  /** Adds a new block, and drops others to make room. @returns its last key */
  #keep(made: RecordBlock): number {
    this.#blocks.add(made)
    this.#bytes += made.bytes.length
    for (const oldest of this.#blocks) {
      if (this.#bytes <= this.#bytesMax) break
      oldest.table.drop(oldest)
      this.#letGo(oldest)
    }
    return made.lastKey
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

function nextSize(size: number, bytes: number): number {
  const fitting = Math.floor((size * READ_BLOCK_BYTES) / Math.max(bytes, 1))
  return Math.min(Math.max(fitting, BLOCK_KEYS_MIN), BLOCK_KEYS_MAX)
}

function hasColumns({ storedMetadata }: KnowledgeBase, columns: readonly string[]): boolean {
  return (
    storedMetadata.length === columns.length &&
    storedMetadata.every(({ column }, index) => column === columns[index])
  )
}
