/** The rows of a result as an Arrow stream, in batches that follow each other as they are read. */
import type { DuckDBDataChunk, DuckDBType } from '@duckdb/node-api'
import { TimeSlice, yieldToEventLoop } from '../../core/runtime/scheduling.ts'
import type { ArrowColumn, ArrowParts, RowRange } from './columnar/arrow-column.ts'
import { columnFor } from './columnar/arrow-columns.ts'
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
/** Milliseconds that collecting rows may hold the main thread. */
const SLICE_MS = 4

/** Pieces of one stream: the first has its schema, and a failure comes in the place of its end. */
export async function* arrowPieces(
  { names, types }: { readonly names: readonly string[]; readonly types: readonly DuckDBType[] },
  source: Pick<ChunkSource, 'next'>,
  first: DuckDBDataChunk | null,
): AsyncGenerator<Uint8Array, void, void> {
  const fields = fieldsOf(names, types)
  const head = [schemaMessage(fields), ...fields.flatMap(dictionariesOf)]
  const collector = new BatchCollector(fields.map(columnFor))
  let waiting: readonly Uint8Array[] = head
  let slice = new TimeSlice(SLICE_MS)
  for (let data = first; data !== null; data = await source.next()) {
    for (const rows of collector.partsOf(data)) {
      collector.append(data, rows)
      if (collector.isFull) {
        yield joined([...waiting, collector.take()])
        waiting = []
      }
      if (!slice.isSpent) continue
      await yieldToEventLoop()
      slice = new TimeSlice(SLICE_MS)
    }
  }
  const rest = collector.rowCount === 0 ? [] : [collector.take()]
  yield joined([...waiting, ...rest, END_OF_STREAM])
}

function dictionariesOf({ dictionary, children }: ArrowField): readonly Uint8Array[] {
  const own = dictionary === undefined ? [] : [dictionaryMessage(dictionary.id, dictionary.texts)]
  return [...own, ...children.flatMap(dictionariesOf)]
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

/** The columns of the batch that is being made. */
class BatchCollector {
  readonly #columns: readonly ArrowColumn[]
  rowCount = 0
  #bytes = 0

  constructor(columns: readonly ArrowColumn[]) {
    this.#columns = columns
  }

  get isFull(): boolean {
    return this.rowCount >= BATCH_ROWS_MAX || this.#bytes >= BATCH_BYTES_MAX
  }

  /** The rows of a chunk in parts that are no larger than a batch: one value may stand in all of its rows. */
  *partsOf(data: DuckDBDataChunk): Generator<RowRange, void, void> {
    const { rowCount } = data
    for (let start = 0; start < rowCount; ) {
      let count = rowCount - start
      while (count > 1 && this.#bytesOf(data, { start, count }) > BATCH_BYTES_MAX) {
        count = Math.ceil(count / 2)
      }
      yield { start, count }
      start += count
    }
  }

  #bytesOf(data: DuckDBDataChunk, rows: RowRange): number {
    let bytes = 0
    for (const [index, column] of this.#columns.entries()) {
      bytes += column.bytesOf(data.getColumnVector(index), rows)
    }
    return bytes
  }

  append(data: DuckDBDataChunk, rows: RowRange): void {
    this.#bytes += this.#bytesOf(data, rows)
    for (const [index, column] of this.#columns.entries()) {
      column.append(data.getColumnVector(index), rows)
    }
    this.rowCount += rows.count
  }

  /** The batch as a message; the next one begins empty. */
  take(): Uint8Array {
    const parts: ArrowParts = { nodes: [], buffers: [] }
    for (const column of this.#columns) column.finish(parts)
    const message = batchMessage({ rowCount: this.rowCount, ...parts })
    for (const column of this.#columns) column.clear()
    this.rowCount = 0
    this.#bytes = 0
    return message
  }
}
