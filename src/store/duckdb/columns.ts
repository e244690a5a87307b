/** Reads and writes DuckDB rows as columns, without converting single values. */
import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBDataChunk,
  type DuckDBType,
  type DuckDBValue,
  type DuckDBVector,
} from '@duckdb/node-api'
import type { ColumnBatch } from '../../core/domain/ports/retrieval-ports.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { TimeSlice, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'

/** Typed arrays hold no NULL and are copied; for FLOAT[n], all rows in sequence. */
type AppendedColumn = readonly DuckDBValue[] | BigInt64Array | Int32Array | Float32Array

/** At most `APPENDED_ROWS_MAX` rows, as columns in table order, each with an item per row. */
export type AppendedColumns = Iterable<readonly AppendedColumn[]>

/** The number of rows in a DuckDB vector. */
export const APPENDED_ROWS_MAX = 2048

/** Appending may block the main thread for this many milliseconds at a time. */
const SLICE_MS = 4

/**
 * Appends rows to a table, twenty times faster than row by row and a hundred times faster than as
 * SQL text.
 * @param target `catalog`: `temp` for a temporary table, otherwise unset; `batchesPerFlush`: stores
 * at most this many batches at once, because that blocks the main thread
 * @param batches can be a function of the table's number of columns
 */
export async function appendColumns(
  given: {
    readonly connection: DuckDBConnection
    readonly catalog?: 'temp'
    readonly schema: string
    readonly table: string
    readonly batchesPerFlush?: number
  },
  batches: AppendedColumns | ((columnCount: number) => AppendedColumns),
): Promise<void> {
  const { connection, catalog, schema, table, batchesPerFlush = 1 } = given
  const appender = await connection.createAppender(table, schema, catalog)
  const { columnCount } = appender
  const types = Array.from({ length: columnCount }, (_, index) => appender.columnType(index))
  let slice = new TimeSlice(SLICE_MS)
  let waiting = 0
  try {
    for (const columns of typeof batches === 'function' ? batches(columnCount) : batches) {
      appender.appendDataChunk(dataChunkOf(types, columns))
      waiting += 1
      if (waiting >= batchesPerFlush) {
        appender.flushSync()
        waiting = 0
      }
      if (!slice.isSpent) continue
      await yieldToEventLoop()
      slice = new TimeSlice(SLICE_MS)
    }
    appender.closeSync()
  } catch (error) {
    closeAfterFailure(appender)
    throw error
  }
}

function dataChunkOf(
  types: readonly DuckDBType[],
  columns: readonly AppendedColumn[],
): DuckDBDataChunk {
  if (columns.length !== types.length) {
    throw new Error(`${columns.length} columns for a table of ${types.length}`)
  }
  const rowCount = columns[0]?.length ?? 0
  const data = DuckDBDataChunk.create(types, rowCount)
  for (const [index, column] of columns.entries()) {
    if (Array.isArray(column)) data.setColumnValues(index, column)
    else setNumbers(data.getColumnVector(index), column)
  }
  return data
}

function setNumbers(vector: DuckDBVector, numbers: AppendedColumn): void {
  const items = partOf(
    numbers instanceof Float32Array ? partOf(vector, 'childData') : vector,
    'items',
  )
  if (partOf(items, 'length') !== numbers.length) throw new Error('a column of another length')
  if (items instanceof BigInt64Array && numbers instanceof BigInt64Array) items.set(numbers)
  else if (items instanceof Int32Array && numbers instanceof Int32Array) items.set(numbers)
  else if (items instanceof Float32Array && numbers instanceof Float32Array) items.set(numbers)
  else throw new Error('the numbers of a column of another type')
  vector.flush()
}

/**
 * Closing the appender retries the same rows and fails again; ignore that and keep the first error.
 */
function closeAfterFailure(appender: DuckDBAppender): void {
  try {
    appender.closeSync()
  } catch {
    // The caller rolls the transaction back.
  }
}

/** The columns of a DuckDB chunk as views of its memory, valid until the chunk is released. */
export function columnBatchOf(chunk: DuckDBDataChunk): ColumnBatch {
  const { rowCount } = chunk
  const vectorOf = (column: number) => chunk.getColumnVector(column)
  return {
    rowCount,
    keys: (column) => itemsOf(vectorOf(column), BigInt64Array).subarray(0, rowCount),
    ints: (column) => itemsOf(vectorOf(column), Int32Array).subarray(0, rowCount),
    doubles: (column) => itemsOf(vectorOf(column), Float64Array).subarray(0, rowCount),
    floats: (column) => itemsOf(partOf(vectorOf(column), 'childData'), Float32Array),
  }
}

function itemsOf<T>(vector: unknown, kind: abstract new (length: number) => T): T {
  const items = partOf(vector, 'items')
  if (items instanceof kind) return items
  throw new Error('the library keeps numbers elsewhere now')
}

/** Reads a property that the library's types do not declare. */
function partOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** Fails if the last statement did: a stream ends alike after an error, and COMMIT rolls back. */
export const PROBE = 'SELECT 1'

/** In an open transaction. @throws an error if reading stopped before the end */
export async function* wholeStream(
  connection: DuckDBConnection,
  sql: string,
): AsyncGenerator<DuckDBDataChunk, void, void> {
  const result = await connection.stream(sql)
  for (let data = await result.fetchChunk(); data; data = await result.fetchChunk()) {
    if (data.rowCount === 0) break
    yield data
  }
  await connection.run(PROBE)
}

/** Returns the single number that a SELECT yields, 0 for NULL. */
export async function countOf(connection: DuckDBConnection, sql: string): Promise<number> {
  const found = await allRows(connection, sql)
  return Number(found[0]?.[0] ?? 0)
}
