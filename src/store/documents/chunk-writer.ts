/** Chunks and vectors → their tables. */
import { DuckDBArrayValue, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api'
import { chunkTableName, projectSchema, type TableIds } from '../../domain/chunk-tables.ts'
import type { RowValue } from '../../domain/document.ts'
import { nameKey } from '../../domain/identifier.ts'
import type { MetadataColumn, MetadataType } from '../../domain/knowledge-base.ts'
import { appendColumns } from '../duckdb/column-appender.ts'
import { type ChunkRow, jsonText } from './chunk-rows.ts'

/** Appending holds the main thread: so many rows at a time keep that under 20 ms. */
const ROWS_PER_APPEND = 64

export interface KeyedRow {
  readonly key: bigint
  readonly row: ChunkRow
}

/** @param columns all metadata columns that the table has values for */
export async function appendChunks(
  connection: DuckDBConnection,
  ids: TableIds,
  rows: { readonly keyed: readonly KeyedRow[]; readonly columns: readonly MetadataColumn[] },
): Promise<void> {
  const columnOf = new Map(rows.columns.map((column) => [column.column, column]))
  await append(connection, { ids, part: 'chunks', rows: rows.keyed }, (batch, columnCount) => {
    // Physical columns are m1, m2, … in the order of the table; those that a wider one replaced
    // stay empty.
    const metadata = Array.from({ length: columnCount - FIXED_COLUMNS }, (_, index) => {
      const column = columnOf.get(`m${index + 1}`)
      if (column === undefined) return batch.map(() => null)
      return batch.map(({ row }) => metadataValue(row.values, column))
    })
    return [
      batch.map(({ key }) => key),
      batch.map(({ row }) => row.documentId),
      batch.map(({ row }) => row.chunkId),
      batch.map(({ row }) => row.content),
      batch.map(({ row }) => row.metadata),
      ...metadata,
    ]
  })
}

/** `chunk_key, document_id, chunk_id, chunk_content, metadata`. */
const FIXED_COLUMNS = 5

/** Stores the vectors of those rows that bring a new one. */
export async function appendVectors(
  connection: DuckDBConnection,
  ids: TableIds,
  rows: readonly KeyedRow[],
): Promise<void> {
  const fresh = rows.filter(({ row }) => row.vector.kind === 'new')
  await append(connection, { ids, part: 'vectors', rows: fresh }, (batch) => [
    batch.map(({ key }) => key),
    batch.map(({ row }) => vectorValue(row)),
  ])
}

interface AppendedRows {
  readonly ids: TableIds
  readonly part: 'chunks' | 'vectors'
  readonly rows: readonly KeyedRow[]
}

async function append(
  connection: DuckDBConnection,
  { ids, part, rows }: AppendedRows,
  columnsOf: (batch: readonly KeyedRow[], columnCount: number) => DuckDBValue[][],
): Promise<void> {
  if (rows.length === 0) return
  const schema = projectSchema(ids.projectId)
  const table = chunkTableName(ids, part)
  await appendColumns({ connection, schema, table }, function* (columnCount) {
    for (let start = 0; start < rows.length; start += ROWS_PER_APPEND) {
      yield columnsOf(rows.slice(start, start + ROWS_PER_APPEND), columnCount)
    }
  })
}

function vectorValue(row: ChunkRow): DuckDBValue {
  if (row.vector.kind !== 'new') throw new Error('a stored vector is copied, not appended')
  // The declared type is a list of values; a view of floats is read the same way and is not copied
  // into one.
  return new DuckDBArrayValue(row.vector.vector as unknown as readonly DuckDBValue[])
}

/** @param values by `nameKey` of their names */
export function metadataValue(
  values: ReadonlyMap<string, RowValue>,
  column: MetadataColumn,
): DuckDBValue {
  const value = values.get(nameKey(column.name))
  return value === undefined || value === null ? null : typedValue(value, column.type)
}

/** The value under its column's type, which is wide enough for it. */
function typedValue(value: Exclude<RowValue, null>, type: MetadataType): DuckDBValue {
  if (type === 'JSON') return jsonText(value)
  if (type === 'VARCHAR') {
    return typeof value === 'string' ? value.toWellFormed() : jsonText(value)
  }
  if (typeof value !== 'number') return typeof value === 'boolean' ? value : null
  if (!Number.isFinite(value)) return null
  return type === 'BIGINT' ? BigInt(value) : value
}
