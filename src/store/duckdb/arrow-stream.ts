/** Converts the rows of a result to an Arrow stream, batch by batch as they are read. */
import type { DuckDBDataChunk, DuckDBType } from '@duckdb/node-api'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { TimeSlice, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { batchOf, type ChunkRows, rowsBytes } from './columnar/arrow-batches.ts'
import {
  type ArrowField,
  type ArrowNode,
  type ArrowType,
  batchMessage,
  END_OF_STREAM,
  fieldsOf,
  schemaMessage,
} from './columnar/arrow-messages.ts'
import type { ChunkSource } from './read-session.ts'

/** Send a batch when it has this many rows or bytes. */
const BATCH_ROWS_MAX = 32_768
const BATCH_BYTES_MAX = 2 ** 20
/** Converting batches may block the main thread for this many milliseconds at a time. */
const SLICE_MS = 4

/** The schema first. If reading fails, an error takes the place of the end. */
export async function* arrowPieces(
  { names, types }: { readonly names: readonly string[]; readonly types: readonly DuckDBType[] },
  source: Pick<ChunkSource, 'next'>,
  first: DuckDBDataChunk | null,
): AsyncGenerator<Uint8Array, void, void> {
  const fields = fieldsOf(names, types)
  let waiting = [schemaMessage(fields)]
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

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

/** Splits a chunk's rows into parts no larger than a batch, because a row may have long values. */
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

// Converts JSON rows to an Arrow stream, in which each column has one type that fits all its
// values.

type Rows = readonly (readonly ResultValue[])[]

export function arrowOfValues(names: readonly string[], rows: Rows): Uint8Array {
  const fields = names.map((name, index): ArrowField => {
    return { name, type: typeOf(rows, index), isNullable: true, children: [] }
  })
  const nodes: ArrowNode[] = []
  const buffers: Uint8Array[] = []
  for (const [index, { type }] of fields.entries()) {
    const values = rows.map((row) => row[index] ?? null)
    const nullCount = values.filter((value) => value === null).length
    nodes.push({ length: rows.length, nullCount })
    buffers.push(bits(values.map((value) => value !== null)), ...buffersOf(values, type))
  }
  const batches = rows.length === 0 ? [] : [batchMessage({ rowCount: rows.length, nodes, buffers })]
  return Buffer.concat([schemaMessage(fields), ...batches, END_OF_STREAM])
}

function typeOf(rows: Rows, index: number): ArrowType {
  const values = rows.map((row) => row[index] ?? null).filter((value) => value !== null)
  if (values.length === 0) return { kind: 'utf8' }
  if (values.every((value) => typeof value === 'boolean')) return { kind: 'bool' }
  if (values.every(Number.isSafeInteger)) return { kind: 'int', bits: 64, isSigned: true }
  const isNumber = values.every((value) => typeof value === 'number')
  return isNumber ? { kind: 'float', bits: 64 } : { kind: 'utf8' }
}

function buffersOf(values: readonly ResultValue[], { kind }: ArrowType): readonly Uint8Array[] {
  if (kind === 'bool') return [bits(values.map((value) => value === true))]
  if (kind === 'int') return [bytes(BigInt64Array.from(values, (value) => BigInt(Number(value))))]
  if (kind === 'float') return [bytes(Float64Array.from(values, Number))]
  const texts = values.map((value) => Buffer.from(textOf(value)))
  const ends = new Int32Array(values.length + 1)
  for (const [index, { length }] of texts.entries()) ends[index + 1] = (ends[index] ?? 0) + length
  return [bytes(ends), Buffer.concat(texts)]
}

function textOf(value: ResultValue): string {
  if (value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function bytes({ buffer }: { readonly buffer: ArrayBufferLike }): Uint8Array {
  return new Uint8Array(buffer)
}

function bits(items: readonly boolean[]): Uint8Array {
  const packed = new Uint8Array(Math.ceil(items.length / 8))
  for (const [index, item] of items.entries()) {
    if (item) packed[index >> 3] = (packed[index >> 3] ?? 0) | (1 << (index & 7))
  }
  return packed
}
