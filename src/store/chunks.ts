import { BIGINT, type DuckDBConnection, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import type { EmbeddedDocument, StoredChunkText } from '../domain/chunk.ts'
import { chunkTables } from '../domain/chunk-tables.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { ChunkStore, WriteOutcome } from '../domain/ports.ts'
import { timestampOfMillis } from '../domain/timestamp.ts'
import { AppError } from '../errors.ts'
import type { CatalogParts } from './catalog.ts'
import { knowledgeBaseOf } from './catalog-rows.ts'
import { having } from './catalog-state.ts'
import { applyMetadataPlan, createVectorTable } from './chunk-columns.ts'
import { type ChunkRows, chunkRowsOf } from './chunk-rows.ts'
import { appendChunks, appendVectors, type KeyedRow } from './chunk-writer.ts'
import { queriesOver } from './drizzle.ts'
import { yieldToEventLoop } from './event-loop.ts'
import { planMetadata } from './metadata-columns.ts'
import { knowledgeBases } from './schema.ts'

type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect

/** Thrown within a write to undo it; the caller hears `stale`. */
class StaleVectors extends Error {}

/** Chunks and vectors in DuckDB's tables. */
export class StoredChunks implements ChunkStore {
  readonly #parts: CatalogParts

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
    const { database, state, secrets } = this.#parts
    const chunks = await chunkRowsOf(documents)
    try {
      await database.write(
        async (connection) => {
          const row = await this.#replace(connection, kb, chunks)
          return knowledgeBaseOf(row, { projectName: kb.projectName, secrets })
        },
        (changed) => {
          state.change({ knowledgeBases: having(state.snapshot().knowledgeBases, changed) })
        },
      )
      return { kind: 'stored' }
    } catch (error) {
      if (error instanceof StaleVectors) return { kind: 'stale' }
      throw error
    }
  }

  /**
   * One write: tables changed first, then vectors taken over, old rows deleted and new ones
   * appended.
   */
  async #replace(
    connection: DuckDBConnection,
    kb: KnowledgeBase,
    chunks: ChunkRows,
  ): Promise<KnowledgeBaseRow> {
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
    await deleteDocuments(connection, { ...row, dimensions }, chunks.documentIds)
    await appendChunks(connection, row, { keyed, columns: plan.columns })
    await appendVectors(connection, row, keyed)
    const changes = {
      dimensions,
      storedMetadata: plan.columns,
      revision: row.revision + 1,
      nextChunkKey: row.nextChunkKey + keyed.length,
      updatedAt: timestampOfMillis(this.#parts.now()),
    }
    await queries.update(knowledgeBases).set(changes).where(eq(knowledgeBases.id, row.id))
    return { ...row, ...changes }
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
function storedDimensions(row: KnowledgeBaseRow, chunks: ChunkRows): number | null {
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

async function deleteDocuments(
  connection: DuckDBConnection,
  row: KnowledgeBaseRow,
  documentIds: readonly string[],
): Promise<void> {
  const { chunks, vectors } = chunkTables(row)
  const types = { ids: LIST(VARCHAR) }
  const ofDocuments = 'document_id IN (SELECT unnest($ids))'
  if (row.dimensions !== null) {
    const keys = `SELECT chunk_key FROM ${chunks} WHERE ${ofDocuments}`
    const sql = `DELETE FROM ${vectors} WHERE chunk_key IN (${keys})`
    await connection.run(sql, idsValue(documentIds), types)
  }
  await connection.run(`DELETE FROM ${chunks} WHERE ${ofDocuments}`, idsValue(documentIds), types)
}

function idsValue(documentIds: readonly string[]) {
  return { ids: listValue(documentIds.map((id) => id.toWellFormed())) }
}
