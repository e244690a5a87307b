import type { DuckDBDataChunk, DuckDBResult } from '@duckdb/node-api'
import type { ResultValue } from '../../domain/query-result.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import { converterOf, type ValueConverter } from './result-values.ts'

/** Converting holds the main thread: a batch ends after this time, or with its rows. */
const BATCH_MS = 8
/** Rows that are converted between two looks at the clock. */
const ROWS_PER_LOOK = 64

export type Batch = readonly (readonly ResultValue[])[]

/** Where chunks come from. `stop` frees the connection; `next` does so after the last chunk. */
export interface ChunkSource {
  next(): Promise<DuckDBDataChunk | null>
  stop(): Promise<void>
}

/**
 * The rows of a result in batches, with a pause for the event loop after each. Unlike a
 * generator's, its `return` frees the connection also when nothing has been read.
 */
export function rowBatches(
  result: DuckDBResult,
  source: ChunkSource,
  first: DuckDBDataChunk | null,
): AsyncIterable<Batch> {
  return {
    [Symbol.asyncIterator]: () => {
      const batches = batchesOf(result, source, first)
      return {
        next: () => batches.next(),
        return: async () => {
          await source.stop()
          await batches.return(undefined)
          return { done: true, value: undefined }
        },
      }
    },
  }
}

async function* batchesOf(
  result: DuckDBResult,
  source: ChunkSource,
  first: DuckDBDataChunk | null,
): AsyncGenerator<Batch, void, void> {
  const converters = result.columnTypes().map(converterOf)
  let hasYielded = false
  for (let data = first; data !== null; data = await source.next()) {
    for (let start = 0; start < data.rowCount; ) {
      if (hasYielded) await yieldToEventLoop()
      const batch = batchOf(data, start, converters)
      start += batch.length
      yield batch
      hasYielded = true
    }
  }
}

function batchOf(
  data: DuckDBDataChunk,
  start: number,
  converters: readonly ValueConverter[],
): Batch {
  const rows: ResultValue[][] = []
  const until = performance.now() + BATCH_MS
  let at = start
  do {
    const end = Math.min(at + ROWS_PER_LOOK, data.rowCount)
    for (; at < end; at += 1) rows.push(rowOf(data, at, converters))
  } while (at < data.rowCount && performance.now() < until)
  return rows
}

function rowOf(
  data: DuckDBDataChunk,
  rowIndex: number,
  converters: readonly ValueConverter[],
): ResultValue[] {
  return converters.map((convert, columnIndex) => {
    const value = data.getColumnVector(columnIndex).getItem(rowIndex)
    return value === null ? null : convert(value)
  })
}
