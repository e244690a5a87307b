import type { DuckDBDataChunk, DuckDBMaterializedResult, DuckDBResult } from '@duckdb/node-api'
import type { RowStream } from '../../core/domain/query-result.ts'
import { converterOf, exactConverterOf, typeName } from '../../core/domain/shown-values.ts'
import { encodedRows } from './encoded-rows.ts'
import { cellConverterOf } from './exact-cells.ts'
import { type ChunkSource, rowBatches } from './result-rows.ts'

/** The rows of a result in each form that an answer may have; only one of the forms can be read. */
export function resultStream(
  result: DuckDBResult,
  rows: { readonly source: ChunkSource; readonly first: DuckDBDataChunk | null },
): RowStream {
  // Not the result itself: it holds what the statement computed with, and a client may keep these batches for long.
  const types = result.columnTypes()
  const columns = result.columnNames().map((name, index) => {
    const type = types[index]
    return { name, type: type === undefined ? 'VARCHAR' : typeName(type) }
  })
  return {
    columns,
    batches: rowBatches(types, converterOf, rows),
    exactBatches: rowBatches(types, exactConverterOf, rows),
    typedBatches: rowBatches(types, cellConverterOf, rows),
    encoded: (encoding, names, isExact) => {
      return encodedRows({ encoding, names, types, isExact: isExact === true }, rows)
    },
  }
}

/** The rows of a statement that is over. */
export function madeRows(result: DuckDBMaterializedResult): RowStream {
  let read = 0
  const next = () => {
    const chunk = read < result.chunkCount ? result.getChunk(read) : null
    read += 1
    return chunk
  }
  const source: ChunkSource = { next: async () => next(), stop: async () => {} }
  return resultStream(result, { source, first: next() })
}
