/** The rows of a result as an Arrow stream, in batches that follow each other as they are read. */
import type { DuckDBDataChunk, DuckDBType } from '@duckdb/node-api'
import { TimeSlice, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { batchOf, type ChunkRows, rowsBytes } from './columnar/arrow-batches.ts'
import {
  batchMessage,
  dictionaryMessage,
  END_OF_STREAM,
  schemaMessage,
} from './columnar/arrow-messages.ts'
import { type ArrowField, fieldsOf } from './columnar/arrow-types.ts'
import type { ChunkSource } from './result-rows.ts'

/** A batch is sent when it has so many rows, or bytes. */
const BATCH_ROWS_MAX = 32_768
const BATCH_BYTES_MAX = 2 ** 20
/** Milliseconds that batches may hold the main thread. */
const SLICE_MS = 4

/** Pieces of one stream: the first has its schema, and a failure comes in the place of its end. */
export async function* arrowPieces(
  { names, types }: { readonly names: readonly string[]; readonly types: readonly DuckDBType[] },
  source: Pick<ChunkSource, 'next'>,
  first: DuckDBDataChunk | null,
): AsyncGenerator<Uint8Array, void, void> {
  const fields = fieldsOf(names, types)
  let waiting = [schemaMessage(fields), ...fields.flatMap(dictionariesOf)]
  let batch: ChunkRows[] = []
  let rowCount = 0
  let bytes = 0
  let slice = new TimeSlice(SLICE_MS)
  for (let data = first; data !== null; data = await source.next()) {
    for (const part of partsOf(fields, data)) {
      batch.push(part.rows)
      rowCount += part.rows.count
      bytes += part.bytes
      if (rowCount < BATCH_ROWS_MAX && bytes < BATCH_BYTES_MAX) continue
      yield joined([...waiting, batchMessage(batchOf(fields, batch))])
      waiting = []
      batch = []
      rowCount = 0
      bytes = 0
      if (!slice.isSpent) continue
      await yieldToEventLoop()
      slice = new TimeSlice(SLICE_MS)
    }
  }
  const rest = rowCount === 0 ? [] : [batchMessage(batchOf(fields, batch))]
  yield joined([...waiting, ...rest, END_OF_STREAM])
}

function dictionariesOf({ dictionary, children }: ArrowField): readonly Uint8Array[] {
  const own = dictionary === undefined ? [] : [dictionaryMessage(dictionary.id, dictionary.texts)]
  return [...own, ...children.flatMap(dictionariesOf)]
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

/** The rows of a chunk in parts that are no larger than a batch: all of its rows may have one long value. */
function* partsOf(fields: readonly ArrowField[], data: DuckDBDataChunk) {
  for (let start = 0; start < data.rowCount; ) {
    let rows = { data, start, count: data.rowCount - start }
    let bytes = rowsBytes(fields, rows)
    while (rows.count > 1 && bytes > BATCH_BYTES_MAX) {
      rows = { ...rows, count: Math.ceil(rows.count / 2) }
      bytes = rowsBytes(fields, rows)
    }
    yield { rows, bytes }
    start += rows.count
  }
}
