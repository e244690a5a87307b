/** Rows in and out of DuckDB as columns: no value is converted by itself. */
import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBDataChunk,
  type DuckDBValue,
} from '@duckdb/node-api'
import type { ColumnBatch } from '../../domain/ports/retrieval-ports.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'

/** Batches of rows, each as columns: in the order of the table's, all of one length. */
export type AppendedColumns = Iterable<DuckDBValue[][]>

/**
 * Appends rows to a table: twenty times faster than row by row, a hundred times faster than as SQL text.
 * @param target `catalog` is `temp` for a temporary table, unset for one of the database
 * @param batches made from the table's number of columns where they depend on it
 */
export async function appendColumns(
  {
    connection,
    catalog,
    schema,
    table,
  }: {
    readonly connection: DuckDBConnection
    readonly catalog?: 'temp'
    readonly schema: string
    readonly table: string
  },
  batches: AppendedColumns | ((columnCount: number) => AppendedColumns),
): Promise<void> {
  const appender = await connection.createAppender(table, schema, catalog)
  const { columnCount } = appender
  const types = Array.from({ length: columnCount }, (_, index) => appender.columnType(index))
  try {
    for (const columns of typeof batches === 'function' ? batches(columnCount) : batches) {
      const data = DuckDBDataChunk.create(types, columns[0]?.length ?? 0)
      data.setColumns(columns)
      appender.appendDataChunk(data)
      appender.flushSync()
      await yieldToEventLoop()
    }
    appender.closeSync()
  } catch (error) {
    closeAfterFailure(appender)
    throw error
  }
}

/** Closing tries the same rows again and fails again; the first error is the one to report. */
function closeAfterFailure(appender: DuckDBAppender): void {
  try {
    appender.closeSync()
  } catch {
    // The transaction is rolled back by whoever began it.
  }
}

/** The columns of a chunk as DuckDB holds them: views of its memory, valid until it is let go. */
export function columnBatchOf(chunk: DuckDBDataChunk): ColumnBatch {
  const { rowCount } = chunk
  const itemsOf = (column: number) => partOf(chunk.getColumnVector(column), 'items')
  return {
    rowCount,
    keys: (column) => {
      const items = itemsOf(column)
      if (!(items instanceof BigInt64Array)) throw new Error('the library keeps keys elsewhere now')
      return items.subarray(0, rowCount)
    },
    ints: (column) => {
      const items = itemsOf(column)
      if (!(items instanceof Int32Array)) throw new Error('the library keeps numbers elsewhere now')
      return items.subarray(0, rowCount)
    },
    floats: (column) => {
      const items = partOf(partOf(chunk.getColumnVector(column), 'childData'), 'items')
      if (items instanceof Float32Array) return items
      throw new Error('the library keeps vectors elsewhere now')
    },
  }
}

/** The library's types do not show where it keeps the numbers. */
function partOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
