/**
 * Reads the rows of a result in batches and converts DuckDB values to JSON values (docs/contract.md
 * 4.11).
 */
import {
  DuckDBArrayType,
  DuckDBArrayValue,
  type DuckDBDataChunk,
  DuckDBListType,
  DuckDBListValue,
  DuckDBMapType,
  DuckDBMapValue,
  type DuckDBMaterializedResult,
  type DuckDBResult,
  DuckDBStructType,
  DuckDBStructValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from '@duckdb/node-api'
import { type ColumnType, parseColumnType, typeText } from '../../core/domain/column-type.ts'
import { type CellValue, TypedValue } from '../../core/domain/document.ts'
import type { ResultValue, RowEncoding, RowStream } from '../../core/domain/query-result.ts'
import {
  converterOf,
  exactConverterOf,
  numberFields,
  typeName,
} from '../../core/domain/shown-values.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { largeRowCheck } from './columnar/raw-vectors.ts'
import type { ChunkSource } from './read-session.ts'
import { textPieces } from './text-rows.ts'

/** Converting blocks the main thread, so a batch ends after this time even if rows remain. */
const BATCH_MS = 8
/** Check the clock after converting this many values: several rows, or a part of a wide row. */
const VALUES_PER_LOOK = 2048

type Batch<T> = readonly (readonly T[])[]

/** Converts a non-null value for the row of a batch. */
type Converter<T> = (value: DuckDBValue) => T

/** Unlike a generator's, its `return` frees the connection even if nothing was read. */
function stoppable<T>(
  source: ChunkSource,
  start: () => AsyncGenerator<T, void, void>,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => {
      const items = start()
      return {
        next: () => items.next(),
        return: async () => {
          await source.stop()
          await items.return(undefined)
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** Lets other work run. */
export function rowBatches<T>(
  types: readonly DuckDBType[],
  converterFor: (type: DuckDBType) => Converter<T>,
  { source, first }: { readonly source: ChunkSource; readonly first: DuckDBDataChunk | null },
): AsyncIterable<Batch<T | null>> {
  return stoppable(source, () =>
    batchesOf({ types, converters: types.map(converterFor) }, source, first),
  )
}

/** null if not a single chunk, or if converting would block for too long. */
export function readyRows(
  types: readonly DuckDBType[],
  data: DuckDBDataChunk | null,
): Batch<ResultValue> | null {
  if (data === null) return []
  for (let at = 0; at < types.length; at += 1) numberFields(data.getColumnVector(at).type)
  if (largeRowCheck(types, data) !== null) return null
  const rows = batchOf(data, 0, { types, converters: types.map(converterOf) })
  return rows.length === data.rowCount ? rows : null
}

interface ConvertedColumns<T> {
  readonly types: readonly DuckDBType[]
  readonly converters: readonly Converter<T>[]
}

async function* batchesOf<T>(
  columns: ConvertedColumns<T>,
  source: ChunkSource,
  first: DuckDBDataChunk | null,
): AsyncGenerator<Batch<T | null>, void, void> {
  let hasYielded = false
  let tookMs = 0
  for (let data = first; data !== null; data = await source.next()) {
    for (let at = 0; at < columns.types.length; at += 1) numberFields(data.getColumnVector(at).type)
    for (let start = 0; start < data.rowCount; ) {
      if (hasYielded) await yieldToEventLoop(tookMs)
      const startedAt = performance.now()
      const batch = batchOf(data, start, columns)
      tookMs = performance.now() - startedAt
      start += batch.length
      yield batch
      hasYielded = true
    }
  }
}

function batchOf<T>(
  data: DuckDBDataChunk,
  start: number,
  { types, converters }: ConvertedColumns<T>,
): Batch<T | null> {
  const rows: (T | null)[][] = []
  const until = performance.now() + BATCH_MS
  const check = largeRowCheck(types, data)
  const rowsPerLook =
    check === null ? Math.max(1, Math.floor(VALUES_PER_LOOK / converters.length)) : 1
  let at = start
  do {
    const end = Math.min(at + rowsPerLook, data.rowCount)
    for (; at < end; at += 1) {
      check?.(at)
      rows.push(rowOf(data, at, converters))
    }
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

/** Offers the rows of a result in every response format. Only one of them can be read. */
export function resultStream(
  result: DuckDBResult,
  rows: { readonly source: ChunkSource; readonly first: DuckDBDataChunk | null },
): RowStream {
  // Keep only the types: the result object holds the statement's memory, and a client may keep
  // batches for long.
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
      const how = { encoding, names, types, isExact: isExact === true }
      return stoppable(rows.source, () => piecesOf(how, rows.source, rows.first))
    },
  }
}

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

// Encodes the rows of a result as one response body, directly from DuckDB's vectors.

/** The parameters of every encoding. */
export interface Encoding {
  readonly encoding: RowEncoding
  readonly names: readonly string[]
  readonly types: readonly DuckDBType[]
  /** Whether values that JSON numbers cannot represent become texts. */
  readonly isExact: boolean
}

async function* piecesOf(
  { encoding, names, types, isExact }: Encoding,
  source: ChunkSource,
  first: DuckDBDataChunk | null,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    if (encoding !== 'arrow') {
      yield* textPieces(encoding, { names, types, isExact }, { source, first })
      return
    }
    // Imported only when a client requests Arrow.
    const { arrowPieces } = await import('./arrow-stream.ts')
    yield* arrowPieces({ names, types }, source, first)
  } finally {
    await source.stop()
  }
}

/** Like `piecesOf`, for rows of JSON values. */
export async function* encodedValues(
  { encoding, names }: Omit<Encoding, 'types' | 'isExact'>,
  { batches }: RowStream,
): AsyncGenerator<Uint8Array, void, void> {
  if (encoding !== 'arrow') throw new Error('these are written from the values')
  const { arrowOfValues } = await import('./arrow-stream.ts')
  const rows = []
  for await (const batch of batches) rows.push(...batch)
  yield arrowOfValues(names, rows)
}

// Converts values of a result for storage, keeping types and precision that JSON would lose.

/** Values that JSON represents exactly stay as they are; others carry their type. */
function cellConverterOf(type: DuckDBType): (value: DuckDBValue) => CellValue {
  const shown = converterOf(type)
  if (PLAIN.has(type.typeId) && type.alias === undefined) return shown
  if (type.typeId === DuckDBTypeId.BIGINT) {
    return (value) => {
      const number = shown(value)
      return Number.isSafeInteger(number) ? number : new TypedValue('BIGINT', number, value)
    }
  }
  const columnType = columnTypeOf(type)
  // A type that no column can have is stored in its JSON form.
  if (columnType === null) return shown
  const text = typeText(columnType)
  if (text === 'JSON') {
    return (value) => {
      const part = shown(value)
      return part === null ? null : new TypedValue(text, part, value)
    }
  }
  const exact = storedConverterOf(type)
  return (value) => new TypedValue(text, shown(value), exact(value))
}

const PLAIN: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.SQLNULL,
  DuckDBTypeId.BOOLEAN,
  DuckDBTypeId.VARCHAR,
  DuckDBTypeId.ENUM,
])

function columnTypeOf(type: DuckDBType): ColumnType | null {
  if (type instanceof DuckDBListType) {
    const item = columnTypeOf(type.valueType)
    return item && { kind: 'list', item }
  }
  if (type instanceof DuckDBArrayType) {
    const item = columnTypeOf(type.valueType)
    return item && { kind: 'array', item, length: type.length }
  }
  if (type instanceof DuckDBMapType) {
    const [key, value] = [columnTypeOf(type.keyType), columnTypeOf(type.valueType)]
    return key && value && { kind: 'map', key, value }
  }
  if (type instanceof DuckDBStructType) return structTypeOf(type)
  if (type.typeId === DuckDBTypeId.ENUM) return { kind: 'plain', name: 'VARCHAR' }
  return parseColumnType(type.alias ?? type.toString())
}

/** Returns null for a struct without field names, which tables cannot store. */
function structTypeOf({ entryNames, entryTypes }: DuckDBStructType): ColumnType | null {
  const fields: { readonly name: string; readonly type: ColumnType }[] = []
  for (const [index, name] of entryNames.entries()) {
    const inner = entryTypes[index]
    const type = inner === undefined ? null : columnTypeOf(inner)
    if (name === '' || name === '__proto__' || type === null) return null
    fields.push({ name, type })
  }
  return { kind: 'struct', fields }
}

/** DuckDB's results number struct fields; this returns them by name. */
function storedConverterOf(type: DuckDBType): (value: DuckDBValue) => DuckDBValue {
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) {
    const item = storedConverterOf(type.valueType)
    if (item === same) return same
    return (value) => {
      if (value instanceof DuckDBListValue) return new DuckDBListValue(value.items.map(item))
      return value instanceof DuckDBArrayValue ? new DuckDBArrayValue(value.items.map(item)) : null
    }
  }
  if (type instanceof DuckDBMapType) {
    const key = storedConverterOf(type.keyType)
    const item = storedConverterOf(type.valueType)
    if (key === same && item === same) return same
    return (value) => {
      if (!(value instanceof DuckDBMapValue)) return null
      const entries = value.entries.map((one) => ({
        key: key(one.key),
        value: item(one.value),
      }))
      return new DuckDBMapValue(entries)
    }
  }
  if (!(type instanceof DuckDBStructType)) return same
  const fields = type.entryTypes.map(storedConverterOf)
  return (value) => {
    if (!(value instanceof DuckDBStructValue)) return null
    const entries = type.entryNames.map((name, index) => {
      const field = value.entries[index] ?? null
      return [name, fields[index]?.(field) ?? null] as const
    })
    return new DuckDBStructValue(Object.fromEntries(entries))
  }
}

function same(value: DuckDBValue): DuckDBValue {
  return value
}
