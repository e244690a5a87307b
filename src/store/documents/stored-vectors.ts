import type { DuckDBConnection } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import { chunkTables, type TableIds, withNextVectors } from '../../core/domain/document.ts'
import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  ReembeddingTarget,
} from '../../core/domain/knowledge-base.ts'
import { isSameSource, type ModelRef } from '../../core/domain/model-ref.ts'
import type {
  VectorBatch,
  VectorRows,
  VectorSource,
} from '../../core/domain/ports/retrieval-ports.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import { sealedJson, unsealedOrNull } from '../catalog/catalog-rows.ts'
import { knowledgeBases } from '../catalog/schema.ts'
import type { Secrets } from '../catalog/secrets.ts'
import { columnBatchOf, countOf, wholeStream } from '../duckdb/columns.ts'
import type { Database } from '../duckdb/database.ts'
import { createVectorTable } from './chunk-columns.ts'

export class StoredVectors implements VectorSource {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  readAll<T>(ids: TableIds, read: (rows: VectorRows) => Promise<T>): Promise<T> {
    const reading = this.#database.lease(async (connection) => {
      await connection.run('BEGIN TRANSACTION READ ONLY')
      const { vectors } = chunkTables(ids)
      const result = await read({
        ...(await tableDefinition(connection, ids)),
        count: await countOf(connection, `SELECT count(*) FROM ${vectors}`),
        batches: vectorBatches(connection, `SELECT chunk_key, vector FROM ${vectors}`),
      })
      await connection.run('COMMIT')
      return result
    })
    // The reader has copied all vectors, so DuckDB's cached blocks can go.
    return reading.finally(() => this.#database.trimCache())
  }
}

async function tableDefinition(connection: DuckDBConnection, { id }: TableIds) {
  const [[revision = null, dimensions = null] = []] = await allRows(
    connection,
    'SELECT revision, dimensions FROM eider.knowledge_bases WHERE id = $id',
    { id },
  )
  if (revision === null || dimensions === null) {
    throw new AppError('knowledge_base_not_found', 'The knowledge base has no vectors any more')
  }
  return { revision: Number(revision), dimensions: Number(dimensions) }
}

/** Reads the vectors from this key on, which a write has just stored. */
export async function vectorRowsFrom(
  connection: DuckDBConnection,
  ids: TableIds,
  firstKey: number,
): Promise<VectorBatch> {
  const { vectors } = chunkTables(ids)
  const sql = `SELECT chunk_key, vector FROM ${vectors} WHERE chunk_key >= ${firstKey}`
  const parts: VectorBatch[] = []
  for await (const batch of vectorBatches(connection, sql)) {
    parts.push({ keys: batch.keys.slice(), vectors: batch.vectors.slice() })
  }
  return joinedRows(parts)
}

/** @param sql a SELECT of `chunk_key, vector` */
async function* vectorBatches(
  connection: DuckDBConnection,
  sql: string,
): AsyncGenerator<VectorBatch, void, void> {
  for await (const chunk of wholeStream(connection, sql)) {
    const columns = columnBatchOf(chunk)
    yield { keys: columns.keys(0), vectors: columns.floats(1) }
  }
}

function joinedRows(parts: readonly VectorBatch[]): VectorBatch {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return only
  const keys = new BigInt64Array(parts.reduce((sum, part) => sum + part.keys.length, 0))
  const vectors = new Float32Array(parts.reduce((sum, part) => sum + part.vectors.length, 0))
  let keyAt = 0
  let vectorAt = 0
  for (const part of parts) {
    keys.set(part.keys, keyAt)
    vectors.set(part.vectors, vectorAt)
    keyAt += part.keys.length
    vectorAt += part.vectors.length
  }
  return { keys, vectors }
}

// Changes a knowledge base's catalog row and tables for a new embedding model, within the caller's
// write.

export type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect

/** @returns the catalog row's @throws AppError if another model has taken over since */
export async function applyEmbeddingChange(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  { embeddingModel, reembedding }: Pick<KnowledgeBaseChanges, 'embeddingModel' | 'reembedding'>,
  secrets: Secrets,
): Promise<Partial<KnowledgeBaseRow>> {
  if (embeddingModel === undefined && reembedding === undefined) return {}
  const row = await rowOfKnowledgeBase(connection, kb)
  // Without a row, the caller's update fails with the right error.
  if (row === undefined) return {}
  if (row.vectorsNumber !== kb.vectorsNumber) {
    const what = `Another embedding model has just taken over ${kb.name}`
    throw new AppError('invalid_knowledge_base', `${what}: nothing was altered, see what it is now`)
  }
  const own =
    embeddingModel === undefined
      ? {}
      : { sealedEmbeddingModel: sealedJson(embeddingModel, secrets) }
  if (reembedding === undefined) return own
  if (reembedding === null) {
    await dropNextVectors(connection, row)
    return { ...own, sealedNextEmbeddingModel: null }
  }
  if (await hasNoChunks(connection, row))
    return replaceAtOnce(connection, row, reembedding, secrets)
  const before = unsealedOrNull<ModelRef>(row.sealedNextEmbeddingModel, secrets)
  if (before === null || !isSameSource(before, reembedding.model)) {
    await dropNextVectors(connection, row)
  }
  return { ...own, sealedNextEmbeddingModel: sealedJson(reembedding.model, secrets) }
}

export async function rowOfKnowledgeBase(
  connection: DuckDBConnection,
  { id }: Pick<KnowledgeBase, 'id'>,
): Promise<KnowledgeBaseRow | undefined> {
  const rows = await queriesOver(connection)
    .select()
    .from(knowledgeBases)
    .where(eq(knowledgeBases.id, id))
  return rows[0]
}

export async function hasNoChunks(connection: DuckDBConnection, ids: TableIds): Promise<boolean> {
  const sql = `SELECT 1 FROM ${chunkTables(ids).chunks} LIMIT 1`
  return (await allRows(connection, sql)).length === 0
}

export async function dropNextVectors(connection: DuckDBConnection, ids: TableIds): Promise<void> {
  await connection.run(`DROP TABLE IF EXISTS ${chunkTables(withNextVectors(ids)).vectors}`)
}

export function takenOver(
  row: Pick<KnowledgeBaseRow, 'vectorsNumber' | 'revision'>,
  next: { readonly sealedEmbeddingModel: string; readonly dimensions: number | null },
): Partial<KnowledgeBaseRow> {
  return {
    ...next,
    sealedNextEmbeddingModel: null,
    vectorsNumber: row.vectorsNumber + 1,
    revision: row.revision + 1,
  }
}

/** With no chunks to re-embed. Inserts that started earlier notice the new table number. */
async function replaceAtOnce(
  connection: DuckDBConnection,
  row: KnowledgeBaseRow,
  { model, dimensions }: ReembeddingTarget,
  secrets: Secrets,
): Promise<Partial<KnowledgeBaseRow>> {
  await dropNextVectors(connection, row)
  await connection.run(`DROP TABLE IF EXISTS ${chunkTables(row).vectors}`)
  if (dimensions !== null) await createVectorTable(connection, withNextVectors(row), dimensions)
  return takenOver(row, { sealedEmbeddingModel: sealedJson(model, secrets), dimensions })
}
