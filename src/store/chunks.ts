import { BIGINT, type DuckDBConnection, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import type {
  ChunkChange,
  EmbeddedDocument,
  StoredChunk,
  StoredChunkText,
} from '../domain/chunk.ts'
import { chunkTables } from '../domain/chunk-tables.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { type Language, languageOf } from '../domain/language.ts'
import type { ChunkStore, WriteOutcome } from '../domain/ports.ts'
import { timestampOfMillis } from '../domain/timestamp.ts'
import { AppError } from '../errors.ts'
import { TermReader } from '../search/keyword/term-reader.ts'
import type { CatalogParts } from './catalog.ts'
import { knowledgeBaseOf } from './catalog-rows.ts'
import { having } from './catalog-state.ts'
import { changedRows, readChunks } from './chunk-changes.ts'
import { applyMetadataPlan, createVectorTable } from './chunk-columns.ts'
import { type ChunkRows, chunkRowsOf } from './chunk-rows.ts'
import { appendChunks, appendVectors, type KeyedRow } from './chunk-writer.ts'
import { queriesOver } from './drizzle.ts'
import { yieldToEventLoop } from './event-loop.ts'
import { appendKeywords, needsSorting, sortPostings } from './keyword-index.ts'
import { planMetadata } from './metadata-columns.ts'
import { removeChunkRows } from './remove-chunk-rows.ts'
import { knowledgeBases } from './schema.ts'

type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect

/** Binding keys holds the main thread. */
const KEYS_PER_DELETE = 5_000
const CHANGE_ATTEMPTS = 5

type NewRows = Pick<ChunkRows, 'rows' | 'metadata' | 'dimensions'> & {
  /** Each row takes the place of one that must still be there. */
  readonly isWhole?: boolean
}

type RemovedKeys = (connection: DuckDBConnection) => Promise<readonly bigint[]>

/** Thrown within a write to undo it; the caller hears `stale`. */
class StaleVectors extends Error {}

/** Chunks and vectors in DuckDB's tables. */
export class StoredChunks implements ChunkStore {
  readonly #parts: CatalogParts
  readonly #termReaders = new Map<Language, TermReader>()
  /** Ids of the knowledge bases whose postings are going to be sorted. */
  readonly #sorting = new Set<number>()

  constructor(parts: CatalogParts) {
    this.#parts = parts
  }

  async storedTexts(
    kb: KnowledgeBase,
    documentIds: readonly string[],
  ): Promise<readonly StoredChunkText[]> {
    if (documentIds.length === 0) return []
    const sql = `SELECT chunk_key, document_id, chunk_content FROM ${chunkTables(kb).chunks}
      WHERE document_id IN (SELECT unnest($ids)) ORDER BY chunk_key`
    return this.#read(kb, async (connection) => {
      const texts: StoredChunkText[] = []
      const result = await connection.stream(sql, idsValue(documentIds), { ids: LIST(VARCHAR) })
      for await (const data of result) {
        for (const [chunkKey, documentId, content] of data.getRows()) {
          texts.push({
            chunkKey: BigInt(String(chunkKey)),
            documentId: String(documentId),
            content: String(content),
          })
        }
        await yieldToEventLoop()
      }
      return texts
    })
  }

  /** How many chunks are stored. @throws AppError `knowledge_base_not_found` */
  async chunkCount(kb: KnowledgeBase): Promise<number> {
    return this.#read(kb, async (connection) => {
      const reader = await connection.runAndReadAll(
        `SELECT count(*) FROM ${chunkTables(kb).chunks}`,
      )
      return Number(reader.getRows()[0]?.[0] ?? 0)
    })
  }

  async replaceDocuments(
    kb: KnowledgeBase,
    documents: readonly EmbeddedDocument[],
  ): Promise<WriteOutcome> {
    const rows = await chunkRowsOf(documents, this.#termReader(languageOf(kb)))
    const { documentIds } = rows
    try {
      await this.#write(kb, rows, (connection) => keysOfDocuments(connection, kb, documentIds))
      return { kind: 'stored' }
    } catch (error) {
      if (error instanceof StaleVectors) return { kind: 'stale' }
      throw error
    }
  }

  async storedChunks(
    kb: KnowledgeBase,
    documentIds: readonly string[],
  ): Promise<readonly StoredChunk[]> {
    const where = 'document_id IN (SELECT unnest($ids))'
    return this.#read(kb, (connection) => {
      return readChunks(connection, kb, { where, ids: documentIds })
    })
  }

  removeChunks(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<number> {
    const nothing = { rows: [], metadata: [], dimensions: null }
    return this.#write(kb, nothing, async () => chunkKeys)
  }

  async changeChunks(kb: KnowledgeBase, changes: readonly ChunkChange[]): Promise<number> {
    const byKey = new Map(changes.map((change) => [change.chunkKey, change]))
    const reader = this.#termReader(languageOf(kb))
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.#read(kb, (connection) => {
        const where = 'chunk_key IN (SELECT unnest($ids)::BIGINT)'
        return readChunks(connection, kb, { where, ids: [...byKey.keys()].map(String) })
      })
      const rows = await changedRows(stored, byKey, reader)
      const keys = stored.map(({ chunkKey }) => chunkKey)
      try {
        return await this.#write(kb, { ...rows, isWhole: true }, async () => keys)
      } catch (error) {
        // Some of the chunks were replaced since they were read.
        if (!(error instanceof StaleVectors) || attempt === CHANGE_ATTEMPTS) throw error
      }
    }
  }

  /**
   * One transaction of chunks, vectors and terms: what `removedKeys` names goes, the rows come.
   * @returns how many chunks went. @throws StaleVectors
   */
  async #write(kb: KnowledgeBase, rows: NewRows, removedKeys: RemovedKeys): Promise<number> {
    const { database, state, secrets } = this.#parts
    const { isUnsorted, removedCount } = await database.write(
      async (connection) => {
        const { row, removed } = await this.#replace(connection, kb, { rows, removedKeys })
        const changed = knowledgeBaseOf(row, { projectName: kb.projectName, secrets })
        return {
          changed,
          removedCount: removed,
          isUnsorted: await needsSorting(connection, row),
        }
      },
      ({ changed }) => {
        state.change({ knowledgeBases: having(state.snapshot().knowledgeBases, changed) })
      },
    )
    if (isUnsorted) this.#sortPostings(kb)
    return removedCount
  }

  /**
   * Tables changed first, then vectors taken over, old rows deleted and new ones appended.
   */
  async #replace(
    connection: DuckDBConnection,
    kb: KnowledgeBase,
    { rows: chunks, removedKeys }: { readonly rows: NewRows; readonly removedKeys: RemovedKeys },
  ): Promise<{ readonly row: KnowledgeBaseRow; readonly removed: number }> {
    const queries = queriesOver(connection)
    const [row] = await queries.select().from(knowledgeBases).where(eq(knowledgeBases.id, kb.id))
    if (row === undefined) throw notFound(kb)
    const dimensions = storedDimensions(row, chunks)
    const plan = planMetadata(row.storedMetadata, chunks.metadata)
    await applyMetadataPlan(connection, row, plan)
    if (row.dimensions === null && dimensions !== null) {
      await createVectorTable(connection, row, dimensions)
    }
    const firstKey = BigInt(row.nextChunkKey)
    const keyed = chunks.rows.map((chunk, index) => ({ key: firstKey + BigInt(index), row: chunk }))
    await takeOverVectors(connection, row, keyed)
    const keys = await removedKeys(connection)
    const removed = await removeRows(connection, { ...row, dimensions }, keys)
    if (chunks.isWhole === true && removed < keyed.length) throw new StaleVectors()
    await appendChunks(connection, row, { keyed, columns: plan.columns })
    await appendVectors(connection, row, keyed)
    const terms = keyed.map(({ key, row: chunk }) => ({ key, terms: chunk.terms }))
    await appendKeywords(connection, row, terms)
    const changes = {
      dimensions,
      storedMetadata: plan.columns,
      revision: row.revision + 1,
      nextChunkKey: row.nextChunkKey + keyed.length,
      updatedAt: timestampOfMillis(this.#parts.now()),
    }
    await queries.update(knowledgeBases).set(changes).where(eq(knowledgeBases.id, row.id))
    return { row: { ...row, ...changes }, removed }
  }

  /** After the write, not in it: who has inserted does not wait. */
  #sortPostings(kb: KnowledgeBase): void {
    if (this.#sorting.has(kb.id)) return
    this.#sorting.add(kb.id)
    const sorted = this.#parts.database.write((connection) => sortPostings(connection, kb))
    // Searches only take longer without it: whatever prevents it, the next insert tries again.
    void sorted.catch(() => {}).finally(() => this.#sorting.delete(kb.id))
  }

  #termReader(language: Language): TermReader {
    const known = this.#termReaders.get(language)
    if (known !== undefined) return known
    const reader = new TermReader(language)
    this.#termReaders.set(language, reader)
    return reader
  }

  async #read<T>(
    kb: KnowledgeBase,
    work: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#parts.database.lease(work)
    } catch (error) {
      const isGone = error instanceof Error && /^Catalog Error: Table/.test(error.message)
      throw isGone ? notFound(kb) : error
    }
  }
}

function notFound(kb: KnowledgeBase): AppError {
  const message = `Knowledge Base with name ${kb.name} does not exist`
  return new AppError('knowledge_base_not_found', message)
}

/** @throws AppError `dimension_mismatch` naming both numbers */
function storedDimensions(row: KnowledgeBaseRow, chunks: NewRows): number | null {
  if (row.dimensions === null || chunks.dimensions === null) {
    return row.dimensions ?? chunks.dimensions
  }
  if (row.dimensions === chunks.dimensions) return row.dimensions
  const sizes = `the model gives ${chunks.dimensions}, ${row.name} holds ${row.dimensions}`
  throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
}

/**
 * Copies vectors of stored chunks to the new rows with the same text. @throws StaleVectors when one
 * is gone
 */
async function takeOverVectors(
  connection: DuckDBConnection,
  row: KnowledgeBaseRow,
  keyed: readonly KeyedRow[],
): Promise<void> {
  const newKeys: bigint[] = []
  const oldKeys: bigint[] = []
  for (const { key, row: chunk } of keyed) {
    if (chunk.vector.kind === 'new') continue
    newKeys.push(key)
    oldKeys.push(chunk.vector.chunkKey)
  }
  if (newKeys.length === 0) return
  if (row.dimensions === null) throw new StaleVectors()
  const { vectors } = chunkTables(row)
  const result = await connection.run(
    `INSERT INTO ${vectors} SELECT taken.new_key, v.vector
      FROM (SELECT unnest($new_keys) AS new_key, unnest($old_keys) AS old_key) AS taken
      JOIN ${vectors} AS v ON v.chunk_key = taken.old_key`,
    { new_keys: listValue(newKeys), old_keys: listValue(oldKeys) },
    { new_keys: LIST(BIGINT), old_keys: LIST(BIGINT) },
  )
  if (result.rowsChanged < newKeys.length) throw new StaleVectors()
}

async function keysOfDocuments(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  documentIds: readonly string[],
): Promise<readonly bigint[]> {
  const sql = `SELECT chunk_key FROM ${chunkTables(kb).chunks}
    WHERE document_id IN (SELECT unnest($ids))`
  const types = { ids: LIST(VARCHAR) }
  const reader = await connection.runAndReadAll(sql, idsValue(documentIds), types)
  return reader.getRows().map(([key]) => BigInt(String(key)))
}

async function removeRows(
  connection: DuckDBConnection,
  row: KnowledgeBaseRow,
  keys: readonly bigint[],
): Promise<number> {
  let removed = 0
  for (let start = 0; start < keys.length; start += KEYS_PER_DELETE) {
    const some = keys.slice(start, start + KEYS_PER_DELETE)
    removed += await removeChunkRows(connection, row, some)
    await yieldToEventLoop()
  }
  return removed
}

function idsValue(documentIds: readonly string[]) {
  return { ids: listValue(documentIds.map((id) => id.toWellFormed())) }
}
