/** Keys and vectors as DuckDB holds them, without a JavaScript value for each number. */
import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api'
import { chunkTables, type TableIds } from '../../domain/chunk-tables.ts'

/** Vectors row by row, `keys.length` times their dimensions. */
export interface VectorRows {
  readonly keys: BigInt64Array
  readonly vectors: Float32Array
}

/** `chunk_key, vector` of a chunk. Views of its memory: they are good until it is let go. */
export function vectorRowsOf(chunk: DuckDBDataChunk): VectorRows {
  return { keys: keysOf(chunk), vectors: floatsOf(chunk) }
}

/** The BIGINT column of a chunk. */
export function keysOf(chunk: DuckDBDataChunk, column = 0): BigInt64Array {
  const items = partOf(chunk.getColumnVector(column), 'items')
  if (!(items instanceof BigInt64Array)) throw new Error('the library keeps keys elsewhere now')
  return items.subarray(0, chunk.rowCount)
}

/** An INTEGER column of a chunk, without NULLs. */
export function numbersOf(chunk: DuckDBDataChunk, column: number): Int32Array {
  const items = partOf(chunk.getColumnVector(column), 'items')
  if (!(items instanceof Int32Array)) throw new Error('the library keeps numbers elsewhere now')
  return items.subarray(0, chunk.rowCount)
}

function floatsOf(chunk: DuckDBDataChunk): Float32Array {
  const items = partOf(partOf(chunk.getColumnVector(1), 'childData'), 'items')
  if (!(items instanceof Float32Array)) throw new Error('the library keeps vectors elsewhere now')
  return items
}

/** The library's types do not show where it keeps the numbers. */
function partOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** The vectors from that key on: those that a write has just stored. */
export async function vectorRowsFrom(
  connection: DuckDBConnection,
  ids: TableIds,
  firstKey: number,
): Promise<VectorRows> {
  const { vectors } = chunkTables(ids)
  const sql = `SELECT chunk_key, vector FROM ${vectors} WHERE chunk_key >= ${firstKey}`
  const parts: VectorRows[] = []
  const result = await connection.stream(sql)
  for (let chunk = await result.fetchChunk(); chunk; chunk = await result.fetchChunk()) {
    if (chunk.rowCount === 0) break
    const { keys, vectors: floats } = vectorRowsOf(chunk)
    parts.push({ keys: keys.slice(), vectors: floats.slice() })
  }
  return joinedRows(parts)
}

function joinedRows(parts: readonly VectorRows[]): VectorRows {
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
