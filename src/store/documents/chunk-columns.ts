/** The physical tables of a knowledge base, see domain/chunk-tables.ts. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables, type TableIds } from '../../core/domain/chunk.ts'
import { quote } from '../../core/domain/identifier.ts'
import type { MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { createContextTable } from './chunk-contexts.ts'
import { createKeywordTables } from './keyword-index.ts'
import { type MetadataPlan, physicalNumber } from './metadata-columns.ts'

/** Makes the tables; that of the vectors only once their length is known. */
export async function createChunkTables(
  connection: DuckDBConnection,
  ids: TableIds & { readonly dimensions: number | null },
): Promise<void> {
  await connection.run(`CREATE TABLE ${chunkTables(ids).chunks} (
    chunk_key BIGINT PRIMARY KEY,
    document_id VARCHAR NOT NULL,
    chunk_id VARCHAR NOT NULL,
    chunk_content VARCHAR NOT NULL,
    metadata JSON NOT NULL)`)
  await createKeywordTables(connection, ids)
  await createContextTable(connection, ids)
  if (ids.dimensions !== null) await createVectorTable(connection, ids, ids.dimensions)
}

export async function createVectorTable(
  connection: DuckDBConnection,
  ids: TableIds,
  dimensions: number,
): Promise<void> {
  await connection.run(`CREATE TABLE ${chunkTables(ids).vectors} (
    chunk_key BIGINT PRIMARY KEY, vector FLOAT[${dimensions}] NOT NULL)`)
}

/**
 * Adds the plan's columns and moves widened values. Must come first in its transaction: DuckDB
 * 1.5.5 refuses the commit of an ALTER TABLE after an UPDATE or DELETE of the same table.
 */
export async function applyMetadataPlan(
  connection: DuckDBConnection,
  ids: TableIds,
  plan: MetadataPlan,
): Promise<void> {
  const { chunks } = chunkTables(ids)
  // In the order of their numbers, so that m1, m2, … is the order of the table.
  const fresh = [...plan.added, ...plan.widened.map(({ to }) => to)]
  for (const column of fresh.toSorted((a, b) => physicalNumber(a) - physicalNumber(b))) {
    await connection.run(`ALTER TABLE ${chunks} ADD COLUMN ${quote(column.column)} ${column.type}`)
  }
  if (plan.widened.length === 0) return
  const moves = plan.widened.map(({ from, to }) => `${quote(to.column)} = ${movedValue(from, to)}`)
  await connection.run(`UPDATE ${chunks} SET ${moves.join(', ')}`)
}

function movedValue(from: MetadataColumn, to: MetadataColumn): string {
  const old = quote(from.column)
  if (from.type !== 'DOUBLE' || to.type !== 'VARCHAR') return `CAST(${old} AS ${to.type})`
  // As JSON writes numbers: 1, not 1.0.
  const isWhole = `${old} = trunc(${old}) AND abs(${old}) < 1e15`
  return `CASE WHEN ${isWhole} THEN ${old}::BIGINT::VARCHAR ELSE ${old}::VARCHAR END`
}
