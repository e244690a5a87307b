/** DuckDB's types as Arrow's, in the way that DuckDB itself gives them to Arrow. */
import {
  DuckDBArrayType,
  DuckDBDecimalType,
  DuckDBEnumType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api'

export type TimeUnit = 'second' | 'millisecond' | 'microsecond' | 'nanosecond'

export type ArrowType =
  | { readonly kind: 'null' | 'bool' | 'utf8' | 'binary' | 'date' | 'interval' | 'list' | 'struct' }
  | { readonly kind: 'int'; readonly bits: 8 | 16 | 32 | 64; readonly isSigned: boolean }
  | { readonly kind: 'float'; readonly bits: 32 | 64 }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'time'; readonly unit: 'microsecond' | 'nanosecond' }
  | { readonly kind: 'timestamp'; readonly unit: TimeUnit; readonly zone: string | null }
  | { readonly kind: 'fixed_list'; readonly length: number }
  | { readonly kind: 'map' }

/** A column, or a part of one that has parts. */
export interface ArrowField {
  readonly name: string
  readonly type: ArrowType
  readonly isNullable: boolean
  readonly children: readonly ArrowField[]
  /** Its values are indexes into these texts, under a number of its own among the dictionaries of the answer. */
  readonly dictionary?: { readonly id: number; readonly texts: readonly string[] }
  /** DuckDB's type, where its values have no place in Arrow that readers know: what is shown of them, as text. */
  readonly shown?: DuckDBType
}

/** The columns of an answer. */
export function fieldsOf(
  names: readonly string[],
  types: readonly DuckDBType[],
): readonly ArrowField[] {
  const ids = { next: 0 }
  return types.map((type, index) => fieldOf(names[index] ?? '', type, ids))
}

const CHILDLESS: Pick<ArrowField, 'isNullable' | 'children'> = { isNullable: true, children: [] }

function fieldOf(name: string, type: DuckDBType, ids: { next: number }): ArrowField {
  if (type instanceof DuckDBListType) {
    const children = [fieldOf('item', type.valueType, ids)]
    return { name, type: { kind: 'list' }, isNullable: true, children }
  }
  if (type instanceof DuckDBArrayType && !(type.valueType instanceof DuckDBArrayType)) {
    const children = [fieldOf('item', type.valueType, ids)]
    return { name, type: { kind: 'fixed_list', length: type.length }, isNullable: true, children }
  }
  if (type instanceof DuckDBStructType) {
    const children = type.entryTypes.map((inner, index) => {
      return fieldOf(type.entryNames[index] ?? '', inner, ids)
    })
    return { name, type: { kind: 'struct' }, isNullable: true, children }
  }
  if (type instanceof DuckDBMapType) {
    const key = { ...fieldOf('key', type.keyType, ids), isNullable: false }
    const children = [key, fieldOf('value', type.valueType, ids)]
    const entries: ArrowField = {
      name: 'entries',
      type: { kind: 'struct' },
      isNullable: false,
      children,
    }
    return { name, type: { kind: 'map' }, isNullable: true, children: [entries] }
  }
  if (type instanceof DuckDBEnumType) {
    const dictionary = { id: ids.next, texts: type.values }
    ids.next += 1
    return { ...CHILDLESS, name, type: { kind: 'utf8' }, dictionary }
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

/** Digits that a 128 bit decimal of Arrow has: a few HUGEINT have one more. */
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
