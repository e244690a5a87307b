/** Under which type and in which physical column each metadata column can be compared. Pure. */
import type { Row, RowValue } from '../../domain/document.ts'
import { nameKey } from '../../domain/identifier.ts'
import type { MetadataColumn, MetadataType } from '../../domain/knowledge-base.ts'
import { AppError } from '../../errors.ts'

const METADATA_COLUMNS_MAX = 1000

/** What a table needs before rows with this metadata fit in. */
export interface MetadataPlan {
  /** All columns, as the catalog keeps them afterwards. */
  readonly columns: readonly MetadataColumn[]
  readonly added: readonly MetadataColumn[]
  /** Columns whose type became wider: the values of `from` move to `to`. */
  readonly widened: readonly {
    readonly from: MetadataColumn
    readonly to: MetadataColumn
  }[]
}

/**
 * Columns are never retyped in place, which DuckDB refuses beside a primary key: a wider type gets
 * a new physical column, and numbers of physical columns are never used again.
 * @throws AppError `insert_failed` beyond 1000 columns
 */
export function planMetadata(stored: readonly MetadataColumn[], rows: Iterable<Row>): MetadataPlan {
  const seen = seenTypes(rows)
  const columns = [...stored]
  const added: MetadataColumn[] = []
  const widened: MetadataPlan['widened'][number][] = []
  let nextNumber = Math.max(0, ...stored.map(physicalNumber)) + 1
  const newColumn = (name: string, type: MetadataType) => ({
    name,
    type,
    column: `m${nextNumber++}`,
  })
  const places = new Map(stored.map((column, index) => [nameKey(column.name), index]))
  for (const [key, { name, type }] of seen) {
    const place = places.get(key)
    const old = place === undefined ? undefined : columns[place]
    if (place === undefined || old === undefined) {
      added.push(newColumn(name, type))
      continue
    }
    const wider = widerType(old.type, type)
    if (wider === old.type) continue
    const to = newColumn(old.name, wider)
    widened.push({ from: old, to })
    columns[place] = to
  }
  columns.push(...added)
  if (columns.length > METADATA_COLUMNS_MAX) {
    const limit = `at most ${METADATA_COLUMNS_MAX}; these rows would make it ${columns.length}`
    throw new AppError('insert_failed', `The number of metadata columns is ${limit}`)
  }
  return { columns, added, widened }
}

/**
 * The type that says most about a value; null says nothing. Text stays text, also where it looks
 * like a date.
 */
export function typeOfValue(value: RowValue | undefined): MetadataType | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return 'BOOLEAN'
  if (typeof value === 'string') return 'VARCHAR'
  if (typeof value === 'object') return 'JSON'
  if (Number.isSafeInteger(value)) return 'BIGINT'
  return Number.isFinite(value) ? 'DOUBLE' : null
}

/** The narrowest type that holds values of both. */
export function widerType(one: MetadataType, other: MetadataType): MetadataType {
  if (one === other) return one
  const isNumber = (type: MetadataType) => type === 'BIGINT' || type === 'DOUBLE'
  return isNumber(one) && isNumber(other) ? 'DOUBLE' : 'VARCHAR'
}

/**
 * A row's values by the key of their names; of two spellings in one row, the first that has a
 * value.
 */
export function valuesByKey(row: Row): ReadonlyMap<string, RowValue> {
  const values = new Map<string, RowValue>()
  for (const [name, value] of Object.entries(row)) {
    const key = nameKey(name.toWellFormed())
    if (value !== null && (values.get(key) ?? null) === null) values.set(key, value)
  }
  return values
}

interface SeenColumn {
  readonly name: string
  readonly type: MetadataType
}

function seenTypes(rows: Iterable<Row>): ReadonlyMap<string, SeenColumn> {
  const seen = new Map<string, SeenColumn>()
  for (const row of rows) {
    for (const [rawName, value] of Object.entries(row)) {
      const type = typeOfValue(value)
      if (type === null) continue
      const name = rawName.toWellFormed()
      const known = seen.get(nameKey(name))
      seen.set(nameKey(name), {
        name: known?.name ?? name,
        type: known === undefined ? type : widerType(known.type, type),
      })
    }
  }
  return seen
}

/** `m12` → 12. */
export function physicalNumber(column: MetadataColumn): number {
  return Number(column.column.slice(1))
}
