import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables, type TableIds } from '../../core/domain/chunk.ts'
import type {
  VectorBatch,
  VectorRows,
  VectorSource,
} from '../../core/domain/ports/retrieval-ports.ts'
import { AppError } from '../../core/errors.ts'
import { columnBatchOf, wholeStream } from '../duckdb/columns.ts'
import type { Database } from '../duckdb/database.ts'

/** The vectors of knowledge bases in their tables. */
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
        count: await vectorCount(connection, vectors),
        batches: vectorBatches(connection, `SELECT chunk_key, vector FROM ${vectors}`),
      })
      await connection.run('COMMIT')
      return result
    })
    // Whoever reads them all keeps them.
    return reading.finally(() => this.#database.trimCache())
  }
}

async function tableDefinition(connection: DuckDBConnection, { id }: TableIds) {
  const reader = await connection.runAndReadAll(
    'SELECT revision, dimensions FROM eider.knowledge_bases WHERE id = $id',
    { id },
  )
  const [revision = null, dimensions = null] = reader.getRows()[0] ?? []
  if (revision === null || dimensions === null) {
    throw new AppError('knowledge_base_not_found', 'The knowledge base has no vectors any more')
  }
  return { revision: Number(revision), dimensions: Number(dimensions) }
}

async function vectorCount(connection: DuckDBConnection, table: string): Promise<number> {
  const reader = await connection.runAndReadAll(`SELECT count(*) FROM ${table}`)
  return Number(reader.getRows()[0]?.[0] ?? 0)
}

/** The vectors from that key on: those that a write has just stored. */
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
