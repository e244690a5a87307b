import type { DuckDBDataChunk } from '@duckdb/node-api'
import type { ColumnBatch } from '../../domain/retrieval-ports.ts'

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
