/**
 * Converts row values to the types of their columns. DuckDB casts the values that do not already
 * fit.
 */

import {
  type DuckDBConnection,
  DuckDBDecimalValue,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api'
import {
  type ColumnType,
  integerRange,
  isNumberType,
  typeText,
} from '../../core/domain/column-type.ts'
import { type CellValue, shownValue, TypedValue } from '../../core/domain/document.ts'
import { METADATA_CHARS_MAX, type MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { shortened } from '../../core/short-text.ts'
import { appendColumns } from '../duckdb/columns.ts'
import { jsonText } from './chunk-rows.ts'
import { knownType } from './metadata-columns.ts'

type CellsByKey = ReadonlyMap<string, CellValue>

/** Yield to other work after this many rows. */
const ROWS_PER_TURN = 256

/** DuckDB casts this many values per statement. */
const CAST_MAX = 4_096

/** null where a value does not fit. @throws AppError `insert_failed` for declared types */
export async function fitValues(
  connection: DuckDBConnection,
  columns: readonly MetadataColumn[],
  rows: Iterable<{
    readonly values: CellsByKey
    /** The position in its insert, from 0, for messages; null if not part of one. */
    readonly rowIndex: number | null
  }>,
): Promise<{
  of(values: CellsByKey): readonly DuckDBValue[]
  /** The number of values that did not fit, by physical column name. */
  readonly strays: ReadonlyMap<string, number>
}> {
  const fitters = columns.map((column) => new ColumnFitter(column))
  const fitted = new Map<CellsByKey, DuckDBValue[]>()
  let order = 0
  for (const { values, rowIndex } of rows) {
    if (fitted.has(values)) continue
    const row: DuckDBValue[] = new Array(columns.length).fill(null)
    fitted.set(values, row)
    for (const [index, fitter] of fitters.entries()) {
      const value = values.get(fitter.key)
      if (value === undefined || value === null) continue
      row[index] = fitter.fit(value, { row, index, rowIndex, order })
    }
    order += 1
    if (order % ROWS_PER_TURN === 0) await yieldToEventLoop()
  }
  for (const fitter of fitters) await fitter.castPending(connection)
  refuseUndeclared(fitters)
  const strays = fitters
    .filter(({ strayCount }) => strayCount > 0)
    .map(({ column, strayCount }) => [column.column, strayCount] as const)
  return {
    strays: new Map(strays),
    of: (values) => fitted.get(values) ?? notFitted(),
  }
}

function notFitted(): never {
  throw new Error('a row that was not fitted')
}

/** Where a converted value goes. */
interface Place {
  readonly row: DuckDBValue[]
  readonly index: number
  readonly rowIndex: number | null
  readonly order: number
}

interface Misfit {
  readonly value: CellValue
  readonly column: MetadataColumn
  readonly rowIndex: number | null
  readonly order: number
}

function refuseUndeclared(fitters: readonly ColumnFitter[]): void {
  const misfits = fitters
    .filter(({ column }) => column.isDeclared === true)
    .flatMap(({ firstMisfit }) => firstMisfit ?? [])
  const [first] = misfits.toSorted((one, other) => one.order - other.order)
  if (first !== undefined) throw new AppError('insert_failed', misfitMessage(first))
}

const SHOWN_VALUE_CHARS_MAX = 60

function misfitMessage({ value, column, rowIndex }: Misfit): string {
  const shown = shownValue(value)
  const text = typeof shown === 'string' ? shown : jsonText(shown)
  const part = shortened(text, SHOWN_VALUE_CHARS_MAX)
  const quoted = typeof shown === 'string' ? `'${part}'` : part
  const article = /^[AEIO]/.test(column.type) ? 'an' : 'a'
  const row = rowIndex === null ? '' : `row ${rowIndex + 1}, `
  if (text.length > METADATA_CHARS_MAX) {
    return `${row}column ${column.name}: a metadata column holds up to ${METADATA_CHARS_MAX} characters, not ${text.length}; make longer texts content`
  }
  return `${row}column ${column.name}: ${quoted} is not ${article} ${column.type}`
}

type Fit = { readonly value: DuckDBValue } | 'unfit' | { readonly ask: Question }

/** A value that DuckDB should cast. */
interface Question {
  /** Equal keys mean equal values. Null if the value cannot be compared. */
  readonly key: string | null
  /** The type of the value to cast. */
  readonly source: string
  readonly value: DuckDBValue
}

/** Converts the values of one column: some at once, the others in a later cast by DuckDB. */
class ColumnFitter {
  readonly column: MetadataColumn
  readonly key: string
  readonly #type: ColumnType
  readonly #pending = new Map<string, { readonly question: Question; readonly places: Asked[] }>()
  strayCount = 0
  firstMisfit: Misfit | null = null

  constructor(column: MetadataColumn) {
    this.column = column
    this.key = nameKey(column.name)
    this.#type = knownType(column.type)
  }

  /** Returns the converted value, or null for now if DuckDB has to cast it. */
  fit(value: Exclude<CellValue, null>, place: Place): DuckDBValue {
    const fit = fitOf(value, this.#type, this.column.type)
    if (fit === 'unfit' || ('value' in fit && isTooLong(fit.value))) {
      this.#misfit(value, place)
      return null
    }
    if ('value' in fit) return fit.value
    const { ask: question } = fit
    const key = `${question.source} ${question.key ?? place.order}`
    const known = this.#pending.get(key)
    if (known === undefined) this.#pending.set(key, { question, places: [{ value, place }] })
    else known.places.push({ value, place })
    return null
  }

  async castPending(connection: DuckDBConnection): Promise<void> {
    const bySource = Map.groupBy(this.#pending.values(), ({ question }) => question.source)
    for (const [source, asked] of bySource) {
      for (let start = 0; start < asked.length; start += CAST_MAX) {
        const some = asked.slice(start, start + CAST_MAX)
        const values = some.map(({ question }) => question.value)
        const cast = await castValues(connection, { source, target: this.#type }, values)
        for (const [index, { places }] of some.entries()) {
          const result = cast[index] ?? null
          for (const { value, place } of places) {
            if (result === null) this.#misfit(value, place)
            else place.row[place.index] = result
          }
        }
        await yieldToEventLoop()
      }
    }
  }

  #misfit(value: CellValue, { rowIndex, order }: Place): void {
    this.strayCount += 1
    if (this.firstMisfit !== null && this.firstMisfit.order <= order) return
    this.firstMisfit = { value, column: this.column, rowIndex, order }
  }
}

interface Asked {
  readonly value: CellValue
  readonly place: Place
}

function isTooLong(value: DuckDBValue): boolean {
  return typeof value === 'string' && value.length > METADATA_CHARS_MAX
}

function fitOf(value: Exclude<CellValue, null>, type: ColumnType, text: string): Fit {
  if (value instanceof TypedValue) {
    // The store only puts values from the DuckDB library into this field.
    const exact = value.exact as DuckDBValue
    if (value.type === text) return { value: exact }
    if (isNumberType(type) && value.shown !== null) {
      const fit = numberFit(String(exact), type)
      if (fit !== null) return fit
    }
    const isExactNumber = typeof exact === 'bigint' || exact instanceof DuckDBDecimalValue
    if (text === 'VARCHAR' && isExactNumber) return { value: String(exact) }
    if (text !== 'VARCHAR' && text !== 'JSON') {
      return { ask: { key: null, source: value.type, value: exact } }
    }
  }
  const shown = shownValue(value)
  if (text === 'JSON') return { value: jsonText(shown) }
  if (text === 'VARCHAR') {
    return { value: typeof shown === 'string' ? shown.toWellFormed() : jsonText(shown) }
  }
  if (text === 'BOOLEAN') return truthFit(shown)
  if (isNumberType(type)) {
    const isNumber = typeof shown === 'number' || typeof shown === 'string'
    if (!isNumber) return 'unfit'
    return numberFit(String(shown).trim(), type) ?? 'unfit'
  }
  if (typeof shown === 'string') {
    const key = shown.toWellFormed()
    return { ask: { key, source: 'VARCHAR', value: key } }
  }
  if (typeof shown !== 'object' || !NESTED.has(type.kind)) return 'unfit'
  const json = jsonText(shown)
  return { ask: { key: json, source: 'JSON', value: json } }
}

const NESTED: ReadonlySet<ColumnType['kind']> = new Set(['list', 'array', 'struct', 'map'])

function truthFit(shown: unknown): Fit {
  if (typeof shown === 'boolean') return { value: shown }
  const word = typeof shown === 'string' ? shown.trim().toLowerCase() : ''
  return word === 'true' || word === 'false' ? { value: word === 'true' } : 'unfit'
}

/** Reading longer ones would take time that grows with the square of their length. */
const NUMBER_CHARS_MAX = 1_000
const DECIMAL = /^([+-]?)0*(?!0)(\d*)(?:\.(\d*?)0*)?$/
const NUMBER_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const SMALL_INTEGERS: ReadonlySet<string> = new Set([
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
])

/** null if not a number or if the type cannot hold it. */
function numberFit(text: string, type: ColumnType): Fit | null {
  if (text.length > NUMBER_CHARS_MAX || !NUMBER_TEXT.test(text)) return null
  const range = integerRange(type)
  if (range === null && type.kind !== 'decimal') return { value: Number(text) }
  const match = DECIMAL.exec(text) ?? DECIMAL.exec(wholeNumberText(text))
  if (match === null) return null
  const [, sign = '', whole = '', fraction = ''] = match
  const scale = type.kind === 'decimal' ? type.scale : 0
  if (fraction.length > scale) return null
  const digits = BigInt(`${whole}${fraction.padEnd(scale, '0')}` || '0')
  const value = sign === '-' ? -digits : digits
  if (type.kind === 'decimal') {
    if (whole.length > type.width - scale) return null
    return { value: new DuckDBDecimalValue(value, type.width, scale) }
  }
  if (range === null || value < range.min || value > range.max) return null
  const isSmall = type.kind === 'plain' && SMALL_INTEGERS.has(type.name)
  return { value: isSmall ? Number(value) : value }
}

/** Writes a number without exponent: `1e21` → `1000000000000000000000`. */
function wholeNumberText(text: string): string {
  const number = Number(text)
  return Number.isInteger(number) && Math.abs(number) < 1e40 ? BigInt(number).toString() : text
}

interface Cast {
  readonly source: string
  readonly target: ColumnType
}

/** null if it fails or loses information, as for `10:30` cast to DATE. */
async function castValues(
  connection: DuckDBConnection,
  cast: Cast,
  values: readonly DuckDBValue[],
): Promise<readonly DuckDBValue[]> {
  const isText = cast.source === 'VARCHAR' || cast.source === 'JSON'
  const found = isText
    ? await allRows(
        connection,
        `SELECT ${castSql(cast)} FROM (SELECT unnest($values) AS source)`,
        { values: listValue([...values]) },
        { values: LIST(VARCHAR) },
      )
    : await castTyped(connection, cast, values)
  return found.map(([value]) => value ?? null)
}

/** In a temporary table: the driver cannot infer a list's type. */
async function castTyped(connection: DuckDBConnection, cast: Cast, values: readonly DuckDBValue[]) {
  await connection.run(`CREATE TEMP TABLE cast_values (place INTEGER, source ${cast.source})`)
  const target = { connection, catalog: 'temp', schema: 'main', table: 'cast_values' } as const
  await appendColumns(target, [[values.map((_, index) => index), [...values]]])
  const sql = `SELECT ${castSql(cast)} FROM temp.main.cast_values ORDER BY place`
  const found = await allRows(connection, sql)
  await connection.run('DROP TABLE temp.main.cast_values')
  return found
}

function castSql({ source, target }: Cast): string {
  const type = typeText(target)
  const cast = `TRY_CAST(source AS ${type})`
  if (source === 'JSON') {
    const list = `TRY_CAST(source::JSON AS ${type})`
    if (target.kind !== 'list' && target.kind !== 'array') return list
    // List items that do not fit are dropped.
    const items = `list_filter(${list}::${typeText(target.item)}[], item -> item IS NULL)`
    const nulls = `list_filter(source::JSON::JSON[], item -> item IS NULL OR item = 'null'::JSON)`
    return `CASE WHEN len(${items}) = len(${nulls}) THEN ${list} END`
  }
  if (source !== 'VARCHAR') {
    return `CASE WHEN TRY_CAST(${cast} AS ${source}) IS NOT DISTINCT FROM source THEN ${cast} END`
  }
  // JSON results show binary data as base64.
  if (type === 'BLOB') return 'TRY(from_base64(source))'
  if (type !== 'DATE') return cast
  return `CASE WHEN coalesce(TRY_CAST(source AS TIMESTAMP) = ${cast}, true) THEN ${cast} END`
}
