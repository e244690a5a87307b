/** What a change of the embedding model does to the row and the tables of a knowledge base, within the caller's write. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import { chunkTables, type TableIds, withNextVectors } from '../../core/domain/chunk.ts'
import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  ReembeddingTarget,
} from '../../core/domain/knowledge-base.ts'
import { isSameSource, type ModelRef } from '../../core/domain/model-ref.ts'
import { AppError } from '../../core/errors.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import { sealedJson, unsealedOrNull } from '../catalog/catalog-rows.ts'
import { knowledgeBases } from '../catalog/schema.ts'
import type { Secrets } from '../catalog/secrets.ts'
import { createVectorTable } from './chunk-columns.ts'

export type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect

/**
 * Changes the tables. @returns what changes in the row
 * @throws AppError `invalid_knowledge_base` where another model has taken over since `kb` was read
 */
export async function applyEmbeddingChange(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  { embeddingModel, reembedding }: Pick<KnowledgeBaseChanges, 'embeddingModel' | 'reembedding'>,
  secrets: Secrets,
): Promise<Partial<KnowledgeBaseRow>> {
  if (embeddingModel === undefined && reembedding === undefined) return {}
  const row = await reembeddingRow(connection, kb)
  // Whoever updates the row finds out.
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

export async function reembeddingRow(
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
  return (await connection.runAndReadAll(sql)).currentRowCount === 0
}

export async function dropNextVectors(connection: DuckDBConnection, ids: TableIds): Promise<void> {
  await connection.run(`DROP TABLE IF EXISTS ${chunkTables(withNextVectors(ids)).vectors}`)
}

/** What the row says once the next model has taken over. */
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

/** Without chunks there is nothing to wait for. The table's number tells an insert that began before. */
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
