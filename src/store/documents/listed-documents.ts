/** Lists stored documents and chunks page by page. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables, ownMetadata, type Row } from '../../core/domain/document.ts'
import { DEFAULT_CONTENT_COLUMNS, type KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import type {
  ContentCounts,
  CutChunk,
  KeyPage,
  StoredChunk,
  StoredDocument,
  StoredDocuments,
} from '../../core/domain/ports/document-ports.ts'
import { allRows, rowBatches, wholeRows } from '../../core/runtime/all-rows.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { columnBatchOf, countOf } from '../duckdb/columns.ts'
import type { Database } from '../duckdb/database.ts'
import { runWithKeys } from '../duckdb/typed-values.ts'
import { cutsOf, NOTHING_KNOWN, readTablesOf } from './chunk-columns.ts'
import { keysOfDocuments } from './document-ids.ts'
import { readMetadata } from './stored-metadata.ts'

interface Counted {
  readonly revision: number
  readonly counts: ContentCounts
  /** When counting started and ended, from `performance.now()`. */
  readonly beganMs: number
  readonly endedMs: number
}

/** From here on counting takes at most a tenth of the time, so counts may be slightly old. */
const LARGE_CHUNKS = 100_000
const PAUSE_TIMES = 9

/** Knowledge bases whose document counts are cached. */
const COUNTS_MAX = 10_000

function isPausing({ beganMs, endedMs }: Counted): boolean {
  return performance.now() - endedMs < PAUSE_TIMES * (endedMs - beganMs)
}

export class ListedDocuments implements StoredDocuments {
  readonly #database: Pick<Database, 'lease'>
  readonly #counts = new LruMap<number, Counted>({ sizeMax: COUNTS_MAX })
  readonly #counting = new Map<
    number,
    {
      readonly revision: number
      readonly counts: Promise<ContentCounts>
    }
  >()

  constructor(database: Pick<Database, 'lease'>) {
    this.#database = database
  }

  async count(kb: KnowledgeBase): Promise<number> {
    return (await this.#exactCounts(kb)).documents
  }

  async counts(kb: KnowledgeBase): Promise<ContentCounts> {
    const known = this.#counts.get(kb.id)
    const isLarge = known !== undefined && known.counts.chunks > LARGE_CHUNKS
    return isLarge && isPausing(known) ? known.counts : this.#exactCounts(kb)
  }

  /** Returns counts that are exact for this revision. Concurrent requests share one count. */
  async #exactCounts(kb: KnowledgeBase): Promise<ContentCounts> {
    const { id, revision } = kb
    const known = this.#counts.get(id)
    if (known?.revision === revision) return known.counts
    const running = this.#counting.get(id)
    if (running?.revision === revision) return running.counts
    const counting = { revision, counts: this.#counted(kb) }
    this.#counting.set(id, counting)
    try {
      const beganMs = performance.now()
      const counts = await counting.counts
      // Keep the cached count if it belongs to a newer revision.
      if ((this.#counts.get(id)?.revision ?? 0) <= revision) {
        this.#counts.set(id, { revision, counts, beganMs, endedMs: performance.now() })
      }
      return counts
    } finally {
      if (this.#counting.get(id) === counting) this.#counting.delete(id)
    }
  }

  #counted(kb: KnowledgeBase): Promise<ContentCounts> {
    return readTablesOf(this.#database, kb, async (connection) => {
      const sql = `SELECT count(DISTINCT document_id), count(*) FROM ${chunkTables(kb).chunks}`
      const [row = []] = await allRows(connection, sql)
      return { documents: Number(row[0]), chunks: Number(row[1]) }
    })
  }

  chunkCount(kb: KnowledgeBase): Promise<number> {
    return readTablesOf(this.#database, kb, (connection) =>
      countOf(connection, `SELECT count(*) FROM ${chunkTables(kb).chunks}`),
    )
  }

  async page(kb: KnowledgeBase, { afterKey, limit }: KeyPage): Promise<readonly StoredDocument[]> {
    return readTablesOf(this.#database, kb, async (connection) => {
      const documents: StoredDocument[] = []
      const seen = new Set<string>()
      for await (const places of placesAfter(connection, kb, { afterKey, limit })) {
        const fresh = places.filter(({ documentId }) => !seen.has(documentId))
        for (const { documentId } of fresh) seen.add(documentId)
        for (const some of documentsAtOnce(fresh, limit)) {
          if (documents.length >= limit) break
          const keys = await keysOfPlaces(connection, kb, some)
          const found = await documentsOfKeys(connection, kb, keys)
          // Documents with an earlier first key were listed on a previous page; only some of their
          // chunks are newer.
          documents.push(...found.filter(({ firstKey }) => firstKey > afterKey))
        }
        if (documents.length >= limit) break
      }
      return documents.toSorted(byFirstKey).slice(0, limit)
    })
  }

  async find(
    kb: KnowledgeBase,
    documentIds: readonly string[],
  ): Promise<readonly StoredDocument[]> {
    return readTablesOf(this.#database, kb, async (connection) => {
      const keys = await keysOfDocuments(connection, kb, documentIds)
      return (await documentsOfKeys(connection, kb, keys)).toSorted(byFirstKey)
    })
  }

  async chunkPage(
    kb: KnowledgeBase,
    { afterKey, limit }: KeyPage,
  ): Promise<readonly StoredChunk[]> {
    return readTablesOf(this.#database, kb, async (connection) => {
      const chunks: StoredChunk[] = []
      for await (const range of keyRanges(connection, kb, { afterKey, limit })) {
        const sql = `${chunkSelect(kb)} WHERE ${range} ORDER BY chunk_key LIMIT ${limit}`
        chunks.push(...(await chunksIn(connection, sql)))
        if (chunks.length >= limit) break
      }
      return chunks.slice(0, limit)
    })
  }

  async chunks(kb: KnowledgeBase, keys: readonly bigint[]): Promise<readonly StoredChunk[]> {
    if (keys.length === 0) return []
    return readTablesOf(this.#database, kb, async (connection) => {
      const sql = `${chunkSelect(kb)} WHERE chunk_key IN ($keys) ORDER BY chunk_key`
      return (await wholeRows(await runWithKeys(connection, sql, { keys }))).map(chunkOf)
    })
  }

  async chunksOf(kb: KnowledgeBase, documentId: string): Promise<readonly StoredChunk[]> {
    return readTablesOf(this.#database, kb, (connection) => {
      const sql = `${chunkSelect(kb)} WHERE document_id = $id ORDER BY chunk_key`
      return chunksIn(connection, sql, { id: documentId })
    })
  }

  async cutChunks(kb: KnowledgeBase, documentIds: readonly string[]): Promise<readonly CutChunk[]> {
    return readTablesOf(this.#database, kb, async (connection) => {
      const keys = await keysOfDocuments(connection, kb, documentIds)
      if (keys.length === 0) return []
      const known = await cutsOf(connection, kb, keys)
      const tables = { ...kb, connection, columns: kb.storedMetadata }
      const stored = await readMetadata(tables, 'chunk_key', keys)
      const owns = new Map(stored.map(({ chunkKey, own }) => [chunkKey, own]))
      const sql = `${chunkSelect(kb)} WHERE chunk_key IN ($keys) ORDER BY chunk_key`
      const rows = await wholeRows(await runWithKeys(connection, sql, { keys }))
      return rows.map((row) => {
        const chunk = chunkOf(row)
        const own = owns.get(chunk.key) ?? ownMetadata(chunk.metadata)
        return { ...chunk, ...(known.get(chunk.key) ?? NOTHING_KNOWN), own }
      })
    })
  }

  async vectorsOf(
    kb: KnowledgeBase,
    keys: readonly bigint[],
  ): Promise<ReadonlyMap<bigint, Float32Array>> {
    const vectors = new Map<bigint, Float32Array>()
    const { dimensions } = kb
    if (dimensions === null || keys.length === 0) return vectors
    return readTablesOf(this.#database, kb, async (connection) => {
      const sql = `SELECT chunk_key, vector FROM ${chunkTables(kb).vectors} WHERE chunk_key IN ($keys)`
      const result = await runWithKeys(connection, sql, { keys })
      for (let index = 0; index < result.chunkCount; index += 1) {
        const batch = columnBatchOf(result.getChunk(index))
        const floats = batch.floats(1)
        for (const [row, key] of batch.keys(0).entries()) {
          vectors.set(key, floats.slice(row * dimensions, (row + 1) * dimensions))
        }
      }
      return vectors
    })
  }
}

function byFirstKey(first: StoredDocument, second: StoredDocument): number {
  return first.firstKey < second.firstKey ? -1 : 1
}

/** Yields the positions of documents in groups, in order. */
function* documentsAtOnce(
  places: readonly ChunkPlace[],
  limit: number,
): Generator<readonly ChunkPlace[], void> {
  const byDocument = [...Map.groupBy(places, ({ documentId }) => documentId).values()]
  for (let start = 0; start < byDocument.length; start += limit) {
    yield byDocument.slice(start, start + limit).flat()
  }
}

/** Examine this many keys per requested row at first. */
const KEYS_PER_ROW = 2
/** The most keys per range. Ranges are fast, because DuckDB skips blocks outside their bounds. */
const RANGE_KEYS_MAX = 262_144

/**
 * Yields conditions for consecutive key ranges, each larger than the last, up to the highest key.
 */
async function* keyRanges(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  { afterKey, limit }: KeyPage,
): AsyncGenerator<string, void> {
  const last = BigInt(
    await countOf(connection, `SELECT coalesce(max(chunk_key), 0) FROM ${chunkTables(kb).chunks}`),
  )
  let width = BigInt(limit * KEYS_PER_ROW)
  for (let from = afterKey; from < last; from += width, width = wider(width)) {
    yield `chunk_key > ${from} AND chunk_key <= ${from + width}`
  }
}

function wider(width: bigint): bigint {
  const twice = width * 2n
  return twice > RANGE_KEYS_MAX ? BigInt(RANGE_KEYS_MAX) : twice
}

/** Range by range. A document may continue in the next range. */
async function* placesAfter(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  page: KeyPage,
): AsyncGenerator<readonly ChunkPlace[], void> {
  for await (const range of keyRanges(connection, kb, page)) {
    const sql = `SELECT chunk_key, document_id, chunk_id FROM ${chunkTables(kb).chunks} WHERE ${range} ORDER BY chunk_key`
    const found = await allRows(connection, sql)
    yield found.map(([key, documentId, chunkId]) => {
      return {
        key: BigInt(String(key)),
        documentId: String(documentId),
        chunkId: String(chunkId),
      }
    })
  }
}

/** Looked up only if the given chunks may be incomplete. */
async function keysOfPlaces(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  places: readonly ChunkPlace[],
): Promise<readonly bigint[]> {
  const { whole, others } = placesByDocument(places, kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS)
  return [...whole, ...(await keysOfDocuments(connection, kb, others))]
}

async function documentsOfKeys(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  keys: readonly bigint[],
): Promise<readonly StoredDocument[]> {
  if (keys.length === 0) return []
  const sql = `SELECT document_id, metadata->>'content_column', min(chunk_key), count(*),
      max((metadata->>'end_char')::BIGINT), arg_min(metadata::VARCHAR, chunk_key)
    FROM ${chunkTables(kb).chunks} WHERE chunk_key IN ($keys) GROUP BY 1, 2 ORDER BY 3`
  const rows = await wholeRows(await runWithKeys(connection, sql, { keys }))
  const documents = new Map<string, StoredDocument>()
  for (const [documentId, column, firstKey, count, endChar, metadata] of rows) {
    const id = String(documentId)
    const known = documents.get(id)
    const own = { name: String(column), endChar: Number(endChar) }
    documents.set(id, {
      id,
      firstKey: known?.firstKey ?? BigInt(String(firstKey)),
      chunkCount: (known?.chunkCount ?? 0) + Number(count),
      columns: [...(known?.columns ?? []), own],
      metadata: known?.metadata ?? ownMetadata(objectOf(metadata)),
    })
  }
  return [...documents.values()]
}

function chunkSelect(kb: KnowledgeBase): string {
  return `SELECT chunk_key, document_id, chunk_id, chunk_content, metadata::VARCHAR
    FROM ${chunkTables(kb).chunks}`
}

async function chunksIn(
  connection: DuckDBConnection,
  sql: string,
  values: Record<string, string> = {},
): Promise<readonly StoredChunk[]> {
  const chunks: StoredChunk[] = []
  for await (const rows of rowBatches(connection, sql, values)) {
    for (const row of rows) chunks.push(chunkOf(row))
    await yieldToEventLoop()
  }
  return chunks
}

function chunkOf([key, documentId, chunkId, content, metadata]: readonly unknown[]): StoredChunk {
  return {
    key: BigInt(String(key)),
    documentId: String(documentId),
    chunkId: String(chunkId),
    content: String(content),
    metadata: objectOf(metadata),
  }
}

/** This program wrote the value, so it is an object. */
function objectOf(metadata: unknown): Row {
  return JSON.parse(String(metadata)) as Row
}

interface ChunkPlace {
  readonly key: bigint
  readonly documentId: string
  readonly chunkId: string
}

/** `<id>:<column>:<n>of<total>:<start>to<end>` */
const PLACE = /^:(.*):(\d+)of(\d+):\d+to\d+$/s

/** And ids of the others: partly updated, continued later, or without text in a column. */
function placesByDocument(
  places: readonly ChunkPlace[],
  contentColumns: readonly string[],
): { readonly whole: readonly bigint[]; readonly others: readonly string[] } {
  const whole: bigint[] = []
  const others: string[] = []
  for (const [documentId, chunks] of Map.groupBy(places, (place) => place.documentId)) {
    if (isWhole(chunks, contentColumns)) whole.push(...chunks.map(({ key }) => key))
    else others.push(documentId)
  }
  return { whole, others }
}

function isWhole(chunks: readonly ChunkPlace[], contentColumns: readonly string[]): boolean {
  const byColumn = new Map<string, { readonly total: number; readonly numbers: Set<number> }>()
  for (const { documentId, chunkId } of chunks) {
    const [, column, number, total] = PLACE.exec(chunkId.slice(documentId.length)) ?? []
    if (column === undefined) return false
    const key = nameKey(column)
    const known = byColumn.get(key) ?? { total: Number(total), numbers: new Set<number>() }
    if (known.total !== Number(total)) return false
    known.numbers.add(Number(number))
    byColumn.set(key, known)
  }
  if (byColumn.size < contentColumns.length) return false
  return [...byColumn.values()].every(({ total, numbers }) => numbers.size === total)
}
