/** Chooses the type and physical column of each metadata column. No I/O. */

import {
  type ColumnType,
  commonType,
  decimalWith,
  integerRange,
  parseColumnType,
  typeText,
} from '../../core/domain/column-type.ts'
import { type CellValue, type Row, TypedValue } from '../../core/domain/document.ts'
import {
  METADATA_COLUMNS_MAX,
  METADATA_NAME_CHARS_MAX,
  type MetadataColumn,
} from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'

/** The table changes needed to store rows with this metadata. */
export interface MetadataPlan {
  /** All columns, as the catalog stores them afterwards. */
  readonly columns: readonly MetadataColumn[]
  readonly added: readonly MetadataColumn[]
  /** Columns that get a wider type: values move from the column `from` to `to`. */
  readonly widened: readonly {
    readonly from: MetadataColumn
    readonly to: MetadataColumn
  }[]
}

/**
 * The first write with a value decides a column's type: the type of most values. Later values can
 * widen numbers, dates and other types of the same kind; a value of another kind changes nothing.
 * Declared types never change.
 *
 * Columns are not retyped in place, because DuckDB refuses that in a table with a primary key. A
 * wider type gets a new physical column, whose number is never reused.
 * @throws AppError `insert_failed` beyond 1000 columns or 1000 characters of a name
 */
export function planMetadata(stored: readonly MetadataColumn[], seen: SeenColumns): MetadataPlan {
  const columns = [...stored]
  const added: MetadataColumn[] = []
  const widened: MetadataPlan['widened'][number][] = []
  let nextNumber = Math.max(0, ...stored.map(physicalNumber)) + 1
  const places = new Map(stored.map((column, index) => [nameKey(column.name), index]))
  for (const [key, { name, values }] of seen.byKey) {
    const place = places.get(key)
    const old = place === undefined ? undefined : columns[place]
    if (place === undefined || old === undefined) {
      added.push({ name, type: typeText(values.firstType()), column: `m${nextNumber++}` })
      continue
    }
    const type = old.isDeclared === true ? old.type : values.widened(old.type)
    if (type === old.type) continue
    const to = { ...old, type, column: `m${nextNumber++}` }
    widened.push({ from: old, to })
    columns[place] = to
  }
  if (added.some(({ name }) => name.length > METADATA_NAME_CHARS_MAX))
    throw new AppError(
      'insert_failed',
      `Metadata names have at most ${METADATA_NAME_CHARS_MAX} characters`,
    )
  columns.push(...added)
  if (columns.length > METADATA_COLUMNS_MAX) {
    const limit = `at most ${METADATA_COLUMNS_MAX}; these rows would make it ${columns.length}`
    throw new AppError('insert_failed', `The number of metadata columns is ${limit}`)
  }
  return { columns, added, widened }
}

/** The values seen for each metadata column, by name, without nulls. */
export class SeenColumns {
  readonly #byKey = new Map<string, { readonly name: string; readonly values: SeenValues }>()

  /** As if each column had a value of its type, so that the tables get matching columns. */
  static of(columns: readonly { readonly name: string; readonly type: string }[]): SeenColumns {
    const row = columns.map(({ name, type }) => [name, new TypedValue(type, null, null)] as const)
    return new SeenColumns().add(Object.fromEntries(row))
  }

  /** Columns by name key, each spelled as in the first row with a value. */
  get byKey(): ReadonlyMap<string, { readonly name: string; readonly values: SeenValues }> {
    return this.#byKey
  }

  add(row: Row): this {
    for (const [rawName, value] of Object.entries(row)) {
      if (value === null || (typeof value === 'number' && !Number.isFinite(value))) continue
      const name = rawName.toWellFormed()
      const key = nameKey(name)
      let seen = this.#byKey.get(key)
      if (seen === undefined) {
        seen = { name, values: new SeenValues() }
        this.#byKey.set(key, seen)
      }
      seen.values.add(value)
    }
    return this
  }
}

class SeenValues {
  /** By type. JSON numbers are counted in `#numbers` instead. */
  readonly #counts = new Map<string, number>()
  #numbers: SeenNumbers | null = null

  add(value: Exclude<CellValue, null>): void {
    if (typeof value === 'number') {
      this.#numbers = withNumber(this.#numbers, value)
      return
    }
    const type = cellType(value)
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1)
  }

  /** Returns the type for a new column: the one that most values have, otherwise text. */
  firstType(): ColumnType {
    const groups: { type: ColumnType; count: number }[] = []
    for (const [text, count] of this.#counts) joinGroup(groups, knownType(text), count)
    if (this.#numbers !== null) this.#joinNumbers(groups, this.#numbers)
    const total = groups.reduce((sum, { count }) => sum + count, 0)
    return groups.find(({ count }) => count * 2 > total)?.type ?? TEXT_TYPE
  }

  #joinNumbers(groups: { type: ColumnType; count: number }[], numbers: SeenNumbers): void {
    for (const group of groups) {
      const type = withNumbers(group.type, numbers)
      if (type === null) continue
      group.type = type
      group.count += numbers.count
      return
    }
    groups.push({ type: plainType(numbers.isWhole ? 'BIGINT' : 'DOUBLE'), count: numbers.count })
  }

  /** Returns the wider type that a column of type `text` needs for these values. */
  widened(text: string): string {
    if (text === 'VARCHAR' || text === 'JSON') return text
    let type = knownType(text)
    for (const seen of this.#counts.keys()) type = commonType(type, knownType(seen)) ?? type
    if (this.#numbers !== null) type = withNumbers(type, this.#numbers) ?? type
    return typeText(type)
  }
}

const TEXT_TYPE = plainType('VARCHAR')

function plainType(name: 'VARCHAR' | 'BIGINT' | 'DOUBLE'): ColumnType {
  return { kind: 'plain', name }
}

function cellType(value: Exclude<CellValue, null | number>): string {
  if (value instanceof TypedValue) return value.type
  if (typeof value === 'boolean') return 'BOOLEAN'
  return typeof value === 'string' ? 'VARCHAR' : 'JSON'
}

/** @param text a stored type, or the type of a value */
export function knownType(text: string): ColumnType {
  const type = parseColumnType(text)
  if (type === null) throw new Error(`no type of a column: ${text}`)
  return type
}

function joinGroup(
  groups: { type: ColumnType; count: number }[],
  type: ColumnType,
  count: number,
): void {
  for (const group of groups) {
    const common = commonType(group.type, type)
    if (common === null) continue
    group.type = common
    group.count += count
    return
  }
  groups.push({ type, count })
}

/** A summary of JSON numbers, which have no SQL type of their own. */
interface SeenNumbers {
  readonly count: number
  /** Whether all are integers that JavaScript represents exactly. */
  readonly isWhole: boolean
  readonly min: number
  readonly max: number
  /** Digits before and after the decimal point, or null if a number is written with an exponent. */
  readonly digits: { readonly whole: number; readonly scale: number } | null
}

function withNumber(seen: SeenNumbers | null, value: number): SeenNumbers {
  const digits = digitsOf(value)
  const isWhole = Number.isSafeInteger(value)
  if (seen === null) return { count: 1, isWhole, min: value, max: value, digits }
  return {
    count: seen.count + 1,
    isWhole: seen.isWhole && isWhole,
    min: Math.min(seen.min, value),
    max: Math.max(seen.max, value),
    digits: digits &&
      seen.digits && {
        whole: Math.max(seen.digits.whole, digits.whole),
        scale: Math.max(seen.digits.scale, digits.scale),
      },
  }
}

/**
 * `-12.50` has two digits before and one after the point. Null if JSON writes it with an exponent.
 */
function digitsOf(value: number): SeenNumbers['digits'] {
  const match = /^-?(\d+)(?:\.(\d+))?$/.exec(String(value))
  return match && { whole: match[1]?.length ?? 0, scale: match[2]?.length ?? 0 }
}

/** Returns a type that also holds these numbers, or null if `type` is not numeric. */
function withNumbers(type: ColumnType, numbers: SeenNumbers): ColumnType | null {
  if (type.kind === 'decimal') {
    const { digits } = numbers
    if (digits === null) return plainType('DOUBLE')
    return commonType(type, decimalWith(digits.whole, digits.scale, 'narrow'))
  }
  if (type.kind === 'plain' && (type.name === 'FLOAT' || type.name === 'DOUBLE')) return type
  const range = integerRange(type)
  if (range === null) return null
  if (!numbers.isWhole) return plainType('DOUBLE')
  const fits = range.min <= BigInt(numbers.min) && BigInt(numbers.max) <= range.max
  return fits ? type : commonType(type, plainType('BIGINT'))
}

/** A row's values by name key. If two spellings of a name occur, the first with a value wins. */
export function valuesByKey(row: Row): ReadonlyMap<string, CellValue> {
  const values = new Map<string, CellValue>()
  for (const [name, value] of Object.entries(row)) {
    const key = nameKey(name.toWellFormed())
    if (value !== null && (values.get(key) ?? null) === null) values.set(key, value)
  }
  return values
}

/** `m12` → 12. */
export function physicalNumber(column: MetadataColumn): number {
  return Number(column.column.slice(1))
}
