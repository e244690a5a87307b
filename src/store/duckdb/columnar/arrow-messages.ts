/**
 * Builds the messages of an Arrow stream (IPC streaming format, metadata version 5): the schema,
 * and batches of rows. The numbers in the code are field positions in
 * `Schema.fbs` and `Message.fbs`.
 */

import {
  DuckDBArrayType,
  DuckDBDecimalType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api'
import { Builder } from 'flatbuffers'

/** Of a column, or a nested part of one. Parents come before children. */
export interface ArrowNode {
  readonly length: number
  readonly nullCount: number
}

/**
 * The values of some rows, column by column. The buffers may be views of memory that changes later.
 */
export interface ArrowBatch {
  readonly rowCount: number
  readonly nodes: readonly ArrowNode[]
  readonly buffers: readonly Uint8Array[]
}

const CONTINUES = 0xffff_ffff
/** Buffer alignment in bytes, as Arrow recommends. */
const ALIGNED = 64

/** The bytes that mark the stream as complete. */
export const END_OF_STREAM = new Uint8Array([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])

export function schemaMessage(fields: readonly ArrowField[]): Uint8Array {
  const builder = new Builder(1024)
  const made = offsetVector(
    builder,
    fields.map((field) => fieldTable(builder, field)),
  )
  builder.startObject(4)
  builder.addFieldOffset(1, made, 0)
  const header = builder.endObject()
  return message(builder, { header, kind: HEADER.schema, body: NO_BODY })
}

export function batchMessage(batch: ArrowBatch): Uint8Array {
  const builder = new Builder(1024)
  const body = bodyOf(batch.buffers)
  const header = batchTable(builder, batch, body)
  return message(builder, { header, kind: HEADER.batch, body })
}

const HEADER = { schema: 1, batch: 3 } as const
const VERSION_5 = 4

/** The position of each buffer, and their total length. */
interface Body {
  readonly buffers: readonly Uint8Array[]
  readonly places: readonly number[]
  readonly length: number
}

const NO_BODY: Body = { buffers: [], places: [], length: 0 }

function bodyOf(buffers: readonly Uint8Array[]): Body {
  let length = 0
  const places = buffers.map((buffer) => {
    const place = length
    length += aligned(buffer.length, ALIGNED)
    return place
  })
  return { buffers, places, length }
}

function aligned(length: number, to: number): number {
  return Math.ceil(length / to) * to
}

function message(
  builder: Builder,
  { header, kind, body }: { readonly header: number; readonly kind: number; readonly body: Body },
): Uint8Array {
  builder.startObject(5)
  builder.addFieldInt16(0, VERSION_5, 0)
  builder.addFieldInt8(1, kind, 0)
  builder.addFieldOffset(2, header, 0)
  builder.addFieldInt64(3, BigInt(body.length), 0n)
  builder.finish(builder.endObject())
  const metadata = builder.asUint8Array()
  // The body must start at a multiple of eight, and two 4-byte numbers precede the metadata.
  const length = aligned(metadata.length, 8)
  const bytes = new Uint8Array(8 + length + body.length)
  const start = new DataView(bytes.buffer)
  start.setUint32(0, CONTINUES, true)
  start.setInt32(4, length, true)
  bytes.set(metadata, 8)
  for (const [index, buffer] of body.buffers.entries()) {
    bytes.set(buffer, 8 + length + (body.places[index] ?? 0))
  }
  return bytes
}

function batchTable(builder: Builder, { rowCount, nodes, buffers }: ArrowBatch, body: Body) {
  const pairs = (items: readonly (readonly [number, number])[]): number => {
    builder.startVector(16, items.length, 8)
    for (const [first, second] of items.toReversed()) {
      builder.prep(8, 16)
      builder.writeInt64(BigInt(second))
      builder.writeInt64(BigInt(first))
    }
    return builder.endVector()
  }
  const nodesAt = pairs(nodes.map(({ length, nullCount }) => [length, nullCount]))
  const buffersAt = pairs(buffers.map(({ length }, index) => [body.places[index] ?? 0, length]))
  builder.startObject(4)
  builder.addFieldInt64(0, BigInt(rowCount), 0n)
  builder.addFieldOffset(1, nodesAt, 0)
  builder.addFieldOffset(2, buffersAt, 0)
  return builder.endObject()
}

function fieldTable(builder: Builder, field: ArrowField): number {
  const children = field.children.map((child) => fieldTable(builder, child))
  const childrenAt = offsetVector(builder, children)
  const name = builder.createString(field.name)
  const { kind, table } = typeTable(builder, field.type)
  builder.startObject(7)
  builder.addFieldOffset(0, name, 0)
  builder.addFieldInt8(1, Number(field.isNullable), 0)
  builder.addFieldInt8(2, kind, 0)
  builder.addFieldOffset(3, table, 0)
  builder.addFieldOffset(5, childrenAt, 0)
  return builder.endObject()
}

function offsetVector(builder: Builder, offsets: readonly number[]): number {
  builder.startVector(4, offsets.length, 4)
  // FlatBuffers are built from back to front.
  for (const offset of offsets.toReversed()) builder.addOffset(offset)
  return builder.endVector()
}

const UNITS: Readonly<Record<TimeUnit, number>> = {
  second: 0,
  millisecond: 1,
  microsecond: 2,
  nanosecond: 3,
}

/** The number of each type in the `Type` union of `Schema.fbs`. */
const KINDS: Readonly<Record<ArrowType['kind'], number>> = {
  null: 1,
  int: 2,
  float: 3,
  binary: 4,
  utf8: 5,
  bool: 6,
  decimal: 7,
  date: 8,
  time: 9,
  timestamp: 10,
  interval: 11,
  list: 12,
  struct: 13,
  fixed_list: 16,
  map: 17,
}

function typeTable(builder: Builder, type: ArrowType): { kind: number; table: number } {
  const zone = type.kind === 'timestamp' && type.zone !== null ? builder.createString(type.zone) : 0
  builder.startObject(3)
  addTypeFields(builder, type, zone)
  return { kind: KINDS[type.kind], table: builder.endObject() }
}

function addTypeFields(builder: Builder, type: ArrowType, zone: number): void {
  switch (type.kind) {
    case 'int':
      builder.addFieldInt32(0, type.bits, 0)
      builder.addFieldInt8(1, Number(type.isSigned), 0)
      return
    case 'float':
      builder.addFieldInt16(0, type.bits === 32 ? 1 : 2, 0)
      return
    case 'decimal':
      builder.addFieldInt32(0, type.precision, 0)
      builder.addFieldInt32(1, type.scale, 0)
      builder.addFieldInt32(2, 128, 128)
      return
    case 'date':
      // 0 means days; the default would be milliseconds.
      builder.addFieldInt16(0, 0, 1)
      return
    case 'time':
      builder.addFieldInt16(0, UNITS[type.unit], 1)
      builder.addFieldInt32(1, 64, 32)
      return
    case 'timestamp':
      builder.addFieldInt16(0, UNITS[type.unit], 0)
      builder.addFieldOffset(1, zone, 0)
      return
    case 'interval':
      // 2 means months, days and nanoseconds.
      builder.addFieldInt16(0, 2, 0)
      return
    case 'fixed_list':
      builder.addFieldInt32(0, type.length, 0)
      return
    default:
  }
}

// Maps DuckDB types to Arrow types in the same way as DuckDB's own Arrow export.

type TimeUnit = 'second' | 'millisecond' | 'microsecond' | 'nanosecond'

export type ArrowType =
  | { readonly kind: 'null' | 'bool' | 'utf8' | 'binary' | 'date' | 'interval' | 'list' | 'struct' }
  | { readonly kind: 'int'; readonly bits: 8 | 16 | 32 | 64; readonly isSigned: boolean }
  | { readonly kind: 'float'; readonly bits: 32 | 64 }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'time'; readonly unit: 'microsecond' | 'nanosecond' }
  | { readonly kind: 'timestamp'; readonly unit: TimeUnit; readonly zone: string | null }
  | { readonly kind: 'fixed_list'; readonly length: number }
  | { readonly kind: 'map' }

/** A column, or a nested part of one. */
export interface ArrowField {
  readonly name: string
  readonly type: ArrowType
  readonly isNullable: boolean
  readonly children: readonly ArrowField[]
  /** Set if common Arrow readers do not support the DuckDB type. The values are sent as text. */
  readonly shown?: DuckDBType
}

export function fieldsOf(
  names: readonly string[],
  types: readonly DuckDBType[],
): readonly ArrowField[] {
  return types.map((type, index) => fieldOf(names[index] ?? '', type))
}

const CHILDLESS: Pick<ArrowField, 'isNullable' | 'children'> = { isNullable: true, children: [] }

function fieldOf(name: string, type: DuckDBType): ArrowField {
  if (type instanceof DuckDBListType) {
    const children = [fieldOf('item', type.valueType)]
    return { name, type: { kind: 'list' }, isNullable: true, children }
  }
  if (type instanceof DuckDBArrayType && !(type.valueType instanceof DuckDBArrayType)) {
    const children = [fieldOf('item', type.valueType)]
    return { name, type: { kind: 'fixed_list', length: type.length }, isNullable: true, children }
  }
  if (type instanceof DuckDBStructType) {
    const children = type.entryTypes.map((inner, index) => {
      return fieldOf(type.entryNames[index] ?? '', inner)
    })
    return { name, type: { kind: 'struct' }, isNullable: true, children }
  }
  if (type instanceof DuckDBMapType) {
    const key = { ...fieldOf('key', type.keyType), isNullable: false }
    const children = [key, fieldOf('value', type.valueType)]
    const entries: ArrowField = {
      name: 'entries',
      type: { kind: 'struct' },
      isNullable: false,
      children,
    }
    return { name, type: { kind: 'map' }, isNullable: true, children: [entries] }
  }
  if (type instanceof DuckDBDecimalType) {
    const { width: precision, scale } = type
    return { ...CHILDLESS, name, type: { kind: 'decimal', precision, scale } }
  }
  const plain = PLAIN[type.typeId]
  if (plain !== undefined) return { ...CHILDLESS, name, type: plain }
  return { ...CHILDLESS, name, type: { kind: 'utf8' }, shown: type }
}

function int(bits: 8 | 16 | 32 | 64, isSigned: boolean): ArrowType {
  return { kind: 'int', bits, isSigned }
}

function timestamp(unit: TimeUnit, zone: string | null = null): ArrowType {
  return { kind: 'timestamp', unit, zone }
}

/** The most digits in Arrow's 128-bit decimal. Some HUGEINT values have one more. */
export const DIGITS_MAX = 38
const HUGE: ArrowType = { kind: 'decimal', precision: DIGITS_MAX, scale: 0 }

const PLAIN: Partial<Record<DuckDBTypeId, ArrowType>> = {
  [DuckDBTypeId.SQLNULL]: { kind: 'null' },
  [DuckDBTypeId.BOOLEAN]: { kind: 'bool' },
  [DuckDBTypeId.TINYINT]: int(8, true),
  [DuckDBTypeId.SMALLINT]: int(16, true),
  [DuckDBTypeId.INTEGER]: int(32, true),
  [DuckDBTypeId.BIGINT]: int(64, true),
  [DuckDBTypeId.UTINYINT]: int(8, false),
  [DuckDBTypeId.USMALLINT]: int(16, false),
  [DuckDBTypeId.UINTEGER]: int(32, false),
  [DuckDBTypeId.UBIGINT]: int(64, false),
  [DuckDBTypeId.HUGEINT]: HUGE,
  [DuckDBTypeId.UHUGEINT]: HUGE,
  [DuckDBTypeId.FLOAT]: { kind: 'float', bits: 32 },
  [DuckDBTypeId.DOUBLE]: { kind: 'float', bits: 64 },
  [DuckDBTypeId.VARCHAR]: { kind: 'utf8' },
  [DuckDBTypeId.BLOB]: { kind: 'binary' },
  [DuckDBTypeId.DATE]: { kind: 'date' },
  [DuckDBTypeId.TIME]: { kind: 'time', unit: 'microsecond' },
  [DuckDBTypeId.TIME_NS]: { kind: 'time', unit: 'nanosecond' },
  [DuckDBTypeId.TIMESTAMP_S]: timestamp('second'),
  [DuckDBTypeId.TIMESTAMP_MS]: timestamp('millisecond'),
  [DuckDBTypeId.TIMESTAMP]: timestamp('microsecond'),
  [DuckDBTypeId.TIMESTAMP_NS]: timestamp('nanosecond'),
  [DuckDBTypeId.TIMESTAMP_TZ]: timestamp('microsecond', 'UTC'),
  [DuckDBTypeId.INTERVAL]: { kind: 'interval' },
}
