/** The rows of a result: DuckDB's values as what JSON can say (docs/contract.md 4.11), in batches. */
import type { DuckDBDataChunk, DuckDBType, DuckDBValue } from '@duckdb/node-api'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { converterOf, numberFields } from '../../core/domain/shown-values.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import type { ReadSession } from './read-session.ts'

/** Converting holds the main thread: a batch ends after this time, or with its rows. */
const BATCH_MS = 8
/** Values that are converted between two readings of the clock: some rows, or a part of those of many columns. */
const VALUES_PER_LOOK = 2048

type Batch<T> = readonly (readonly T[])[]

/** Of values that are not null, each becoming what a row of the batch holds. */
type Converter<T> = (value: DuckDBValue) => T

/** `stop` frees the connection; `next` does so after the last chunk. */
export type ChunkSource = Pick<ReadSession, 'next' | 'stop'>

/**
 * The rows of a result in batches, yielding to the event loop after each. Unlike a generator's, its `return` frees the
 * connection even when nothing was read.
 */
export function rowBatches<T>(
  types: readonly DuckDBType[],
  converterFor: (type: DuckDBType) => Converter<T>,
  { source, first }: { readonly source: ChunkSource; readonly first: DuckDBDataChunk | null },
): AsyncIterable<Batch<T | null>> {
  return {
    [Symbol.asyncIterator]: () => {
      const batches = batchesOf(types.map(converterFor), source, first)
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

/** All rows of a result that is over with its first chunk; null: reading them would hold the main thread for too long. */
export function readyRows(
  types: readonly DuckDBType[],
  data: DuckDBDataChunk | null,
): Batch<ResultValue> | null {
  if (data === null) return []
  for (let at = 0; at < types.length; at += 1) numberFields(data.getColumnVector(at).type)
  const rows = batchOf(data, 0, types.map(converterOf))
  return rows.length === data.rowCount ? rows : null
}

async function* batchesOf<T>(
  converters: readonly Converter<T>[],
  source: ChunkSource,
  first: DuckDBDataChunk | null,
): AsyncGenerator<Batch<T | null>, void, void> {
  let hasYielded = false
  for (let data = first; data !== null; data = await source.next()) {
    for (let at = 0; at < converters.length; at += 1) numberFields(data.getColumnVector(at).type)
    for (let start = 0; start < data.rowCount; ) {
      if (hasYielded) await yieldToEventLoop()
      const batch = batchOf(data, start, converters)
      start += batch.length
      yield batch
      hasYielded = true
    }
  }
}

function batchOf<T>(
  data: DuckDBDataChunk,
  start: number,
  converters: readonly Converter<T>[],
): Batch<T | null> {
  const rows: (T | null)[][] = []
  const until = performance.now() + BATCH_MS
  const rowsPerLook = Math.max(1, Math.floor(VALUES_PER_LOOK / converters.length))
  let at = start
  do {
    const end = Math.min(at + rowsPerLook, data.rowCount)
    for (; at < end; at += 1) rows.push(rowOf(data, at, converters))
  } while (at < data.rowCount && performance.now() < until)
  return rows
}

function rowOf<T>(
  data: DuckDBDataChunk,
  rowIndex: number,
  converters: readonly Converter<T>[],
): (T | null)[] {
  return converters.map((convert, columnIndex) => {
    const value = data.getColumnVector(columnIndex).getItem(rowIndex)
    return value === null ? null : convert(value)
  })
}
