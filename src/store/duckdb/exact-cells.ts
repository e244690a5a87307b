/** Values of a result as they are stored again: with their types, and nothing lost on the way through JSON. */
import {
  DuckDBArrayType,
  DuckDBArrayValue,
  DuckDBListType,
  DuckDBListValue,
  DuckDBMapType,
  DuckDBMapValue,
  DuckDBStructType,
  DuckDBStructValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from '@duckdb/node-api'
import { type ColumnType, parseColumnType, typeText } from '../../core/domain/column-type.ts'
import { type CellValue, TypedValue } from '../../core/domain/document.ts'
import { converterOf } from '../../core/domain/shown-values.ts'

/** What JSON says exactly stays as it is; every other value carries its type. Chosen once per column. */
export function cellConverterOf(type: DuckDBType): (value: DuckDBValue) => CellValue {
  const shown = converterOf(type)
  if (PLAIN.has(type.typeId) && type.alias === undefined) return shown
  if (type.typeId === DuckDBTypeId.BIGINT) {
    return (value) => {
      const number = shown(value)
      return Number.isSafeInteger(number) ? number : new TypedValue('BIGINT', number, value)
    }
  }
  const columnType = columnTypeOf(type)
  // A type that no column can have is stored as it is shown.
  if (columnType === null) return shown
  const text = typeText(columnType)
  if (text === 'JSON') {
    return (value) => {
      const part = shown(value)
      return part === null ? null : new TypedValue(text, part, value)
    }
  }
  const exact = exactConverterOf(type)
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

/** null for a struct without names, which no table can hold. */
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

/** The fields of structs by their names: the result has them by their numbers. */
function exactConverterOf(type: DuckDBType): (value: DuckDBValue) => DuckDBValue {
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) {
    const item = exactConverterOf(type.valueType)
    if (item === same) return same
    return (value) => {
      if (value instanceof DuckDBListValue) return new DuckDBListValue(value.items.map(item))
      return value instanceof DuckDBArrayValue ? new DuckDBArrayValue(value.items.map(item)) : null
    }
  }
  if (type instanceof DuckDBMapType) {
    const key = exactConverterOf(type.keyType)
    const item = exactConverterOf(type.valueType)
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
  const fields = type.entryTypes.map(exactConverterOf)
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
