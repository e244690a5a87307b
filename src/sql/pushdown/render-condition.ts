/**
 * Writes a condition in the source's own SQL. Conditions that may mean something else there are
 * left out, so too many rows may arrive, but never too few.
 */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import { isDate } from '../../core/time.ts'
import { parameterOf } from '../guard/placeholders.ts'
import { type ColumnKind, columnKind, isSameDecimal, type SourceText } from './column-kinds.ts'
import type { CompareOperator, Operand, SourceCondition } from './source-read.ts'

/** `exact`: NULL as in DuckDB. `rows`: the same rows. `wide`: maybe other rows too. */
type Exactness = 'exact' | 'rows' | 'wide'

interface RenderedCondition {
  readonly sql: string
  readonly exactness: Exactness
}

export interface GivenValues {
  get(name: string): unknown
}

export interface Rendering {
  readonly text: SourceText
  readonly params: GivenValues
}

/** Null if the source must return every row. */
export function renderCondition(
  condition: SourceCondition,
  rendering: Rendering,
): RenderedCondition | null {
  const { values } = rendering.text
  const before = values.length
  const rendered = render(condition, rendering)
  // Remove the values of an omitted condition too.
  if (rendered === null) values.length = before
  return rendered
}

function render(condition: SourceCondition, rendering: Rendering): RenderedCondition | null {
  switch (condition.kind) {
    case 'and':
      return allOf(condition.conditions.map((one) => renderCondition(one, rendering)))
    case 'or':
      return anyOf(condition.conditions, rendering)
    case 'not': {
      const inner = renderCondition(condition.condition, rendering)
      return inner?.exactness === 'exact' ? { ...inner, sql: `NOT (${inner.sql})` } : null
    }
    case 'compare': {
      const { column, operator, value } = condition
      return compared(column, operator, value, rendering)
    }
    case 'in':
      return listedCondition(condition, rendering)
    case 'null':
      return isNull(condition, rendering)
    case 'truth': {
      const isKnown = columnKind(condition.column, rendering.text.engine)?.kind === 'truth'
      return isKnown ? exact(rendering.text.name(condition.column.name)) : null
    }
    case 'like':
      return like(condition, rendering)
    case 'certain':
    case 'in_list':
    case 'other':
      return null
  }
}

const NOTHING_SAID: RenderedCondition = { sql: '', exactness: 'exact' }

function allOf(parts: readonly (RenderedCondition | null)[]): RenderedCondition | null {
  const known = parts.filter((part) => part !== null)
  const said = known.filter(({ sql }) => sql !== '')
  const exactness = known.length < parts.length ? 'wide' : worst(known)
  if (said.length === 0) return parts.length === known.length ? NOTHING_SAID : null
  return { sql: said.map(({ sql }) => `(${sql})`).join(' AND '), exactness }
}

function anyOf(
  conditions: readonly SourceCondition[],
  rendering: Rendering,
): RenderedCondition | null {
  const parts: RenderedCondition[] = []
  for (const condition of conditions) {
    const part = renderCondition(condition, rendering)
    if (part === null || part.sql === '') return null
    parts.push(part)
  }
  return { sql: parts.map(({ sql }) => `(${sql})`).join(' OR '), exactness: worst(parts) }
}

function worst(parts: readonly RenderedCondition[]): Exactness {
  if (parts.some(({ exactness }) => exactness === 'wide')) return 'wide'
  return parts.some(({ exactness }) => exactness === 'rows') ? 'rows' : 'exact'
}

function exact(sql: string): RenderedCondition {
  return { sql, exactness: 'exact' }
}

function compared(
  column: SourceColumn,
  operator: CompareOperator,
  value: Operand,
  rendering: Rendering,
): RenderedCondition | null {
  const kind = columnKind(column, rendering.text.engine)
  const given = givenValue(value, rendering.params)
  if (kind === undefined || given === undefined) return null
  const name = rendering.text.name(column.name)
  if (given.kind === 'since')
    return since(name, kind, operator, { ageMs: given.ageMs, text: rendering.text })
  if (kind.kind === 'text') return comparedText(name, operator, given, rendering)
  const sql = comparableValue(kind, given, column, rendering.text)
  if (sql === null || (kind.kind === 'uuid' && operator !== '=' && operator !== '<>')) return null
  const text = `${name} ${operator} ${sql}`
  const exactness = exactnessOf(kind, operator, rendering)
  // In PostgreSQL, NaN is greater than all other numbers. It arrives here as NULL.
  const mayBeNaN = rendering.text.engine === 'postgres' && kind.kind === 'decimal'
  const isCut = mayBeNaN && (operator === '>' || operator === '>=' || operator === '<>')
  return { sql: isCut ? `${text} AND ${name} <> 'NaN'` : text, exactness }
}

/** Allows for different clocks, and for the time until DuckDB reads its own. */
const CLOCK_SLACK_MS = 60_000

/** DuckDB reads the clock later and drops rows that are too old by then. */
function since(
  name: string,
  { kind }: ColumnKind,
  operator: CompareOperator,
  { ageMs, text }: { readonly ageMs: number; readonly text: SourceText },
): RenderedCondition | null {
  const isMoment = kind === 'date' || kind === 'timestamp' || kind === 'timestamptz'
  if (!isMoment || (operator !== '>' && operator !== '>=')) return null
  const ms = Date.now() - ageMs - CLOCK_SLACK_MS
  if (!(ms > 0)) return null
  const shown = new Date(ms).toISOString()
  const day = shown.slice(0, 10)
  const written = kind === 'date' ? day : shown.slice(0, 19)
  const moment = momentOf(kind, { kind: 'text', text: written })
  return moment === null
    ? null
    : { sql: `${name} >= ${text.literal(kind, moment)}`, exactness: 'wide' }
}

/** NaN in numeric columns and zero dates arrive here as NULL. */
function exactnessOf(
  { kind }: ColumnKind,
  operator: CompareOperator,
  { text: { engine } }: Rendering,
): Exactness {
  if (engine === 'postgres' && kind === 'decimal') return 'rows'
  if (engine === 'mysql' && (kind === 'date' || kind === 'timestamp')) {
    return operator === '=' ? 'rows' : 'wide'
  }
  return 'exact'
}

/** Equal bytes are equal in every collation: first by index, then by bytes. */
function comparedText(
  name: string,
  operator: CompareOperator,
  given: Given,
  { text }: Rendering,
): RenderedCondition | null {
  if (given.kind !== 'text' || !isPlainText(given.text)) return null
  const first = operator === '=' ? text.indexed(name, [given.text]) : ''
  return exact(`${first}${text.bytes(name)} ${operator} ${text.bytesOf(given.text)}`)
}

/** PostgreSQL cannot store a text with a NUL character. */
function isPlainText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

const IN_VALUES_MAX = 1000

function listedCondition(
  { column, values, isNegated }: Extract<SourceCondition, { kind: 'in' }>,
  rendering: Rendering,
): RenderedCondition | null {
  const { text, params } = rendering
  const kind = columnKind(column, text.engine)
  const given = values.map((value) => givenValue(value, params))
  if (kind === undefined || values.length > IN_VALUES_MAX) return null
  if (!given.every((value) => value !== undefined)) return null
  const name = text.name(column.name)
  const not = isNegated ? 'NOT ' : ''
  if (kind.kind === 'text') {
    const texts = given.map((value) => (value.kind === 'text' ? value.text : '\0'))
    if (!texts.every(isPlainText)) return null
    const first = isNegated ? '' : text.indexed(name, texts)
    const bytes = texts.map((value) => text.bytesOf(value)).join(', ')
    return exact(`${first}${text.bytes(name)} ${not}IN (${bytes})`)
  }
  const items = given.map((value) => comparableValue(kind, value, column, text))
  // DuckDB compares values of several types as one common type.
  const isMixed = new Set(given.map((value) => value.kind)).size > 1
  if (isMixed || !items.every((item) => item !== null)) return null
  const operator = isNegated ? '<>' : '='
  const exactness = exactnessOf(kind, operator, rendering)
  // NaN matches none of these values, and arrives here as NULL.
  const isWide = isNegated && text.engine === 'postgres' && kind.kind === 'decimal'
  return { sql: `${name} ${not}IN (${items.join(', ')})`, exactness: isWide ? 'wide' : exactness }
}

function isNull(
  { column, isNegated }: Extract<SourceCondition, { kind: 'null' }>,
  { text }: Rendering,
): RenderedCondition | null {
  const name = text.name(column.name)
  const kind = columnKind(column, text.engine)?.kind
  const isZeroDate = text.engine === 'mysql' && (kind === 'date' || kind === 'timestamp')
  const holdsNaN = text.engine === 'postgres' && kind === 'decimal'
  const isSame = kind !== undefined && !isZeroDate && !holdsNaN
  if (isNegated) return { sql: `${name} IS NOT NULL`, exactness: isSame ? 'exact' : 'wide' }
  return isSame ? exact(`${name} IS NULL`) : null
}

function like(
  { column, pattern, isNegated }: Extract<SourceCondition, { kind: 'like' }>,
  { text, params }: Rendering,
): RenderedCondition | null {
  const given = givenValue(pattern, params)
  if (columnKind(column, text.engine)?.kind !== 'text' || given?.kind !== 'text') return null
  if (given.text.includes('\\') || !isPlainText(given.text)) return null
  const name = text.name(column.name)
  const word = isNegated ? 'NOT LIKE' : 'LIKE'
  switch (text.engine) {
    case 'postgres':
      return exact(`${text.plain(name)} COLLATE "C" ${word} ${text.text(given.text)}`)
    case 'mysql':
      return exact(
        `CONVERT(${name} USING utf8mb4) COLLATE utf8mb4_bin ${word} ${text.text(given.text)}`,
      )
    case 'duckdb':
      return exact(`${name} ${word} ${text.text(given.text)}`)
    default:
      return null
  }
}

/** An operand with its parameter replaced by a value. */
type Given = Exclude<Operand, { readonly kind: 'parameter' }>

/** Undefined for a type that is not sent, such as NULL. */
export function givenValue(operand: Operand, params: GivenValues): Given | undefined {
  if (operand.kind !== 'parameter') return operand
  if (operand.cast !== undefined) return undefined
  const value = params.get(parameterOf(operand.name))
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (typeof value === 'boolean') return { kind: 'truth', value }
  if (typeof value !== 'number') return undefined
  const isInteger = Number.isSafeInteger(value) && !Object.is(value, -0)
  return isInteger ? { kind: 'number', digits: String(value) } : { kind: 'double', value }
}

function comparableValue(
  kind: ColumnKind,
  given: Given,
  column: SourceColumn,
  text: SourceText,
): string | null {
  switch (kind.kind) {
    case 'integer':
      return given.kind === 'number' ? exactNumber(given.digits, kind.digits, 0) : null
    case 'decimal': {
      const { precision, scale } = kind
      if (given.kind !== 'number' || !isSameDecimal(column, precision, scale)) return null
      return exactNumber(given.digits, precision - scale, scale)
    }
    case 'double':
      return doubleOf(given, text)
    case 'truth':
      return given.kind === 'truth' ? String(given.value) : null
    case 'uuid': {
      const isUuid = given.kind === 'text' && UUID.test(given.text)
      return isUuid ? text.literal('uuid', given.text) : null
    }
    case 'date':
    case 'timestamp':
    case 'timestamptz': {
      const moment = momentOf(kind.kind, given)
      return moment === null ? null : text.literal(kind.kind, moment)
    }
    default:
      return null
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Only digits that DuckDB compares without conversion: at most 38 with the column's. */
function exactNumber(digits: string, wholeDigits: number, scale: number): string | null {
  const [, whole = '', fraction = ''] = /^-?(\d+)(?:\.(\d+))?$/.exec(digits) ?? []
  if (whole === '' || whole.length + fraction.length > 18) return null
  const width = Math.max(whole.length, wholeDigits) + Math.max(fraction.length, scale)
  return width <= 38 ? digits : null
}

/** Returns numbers that are exactly the same DOUBLE in every database. */
function doubleOf(given: Given, text: SourceText): string | null {
  if (given.kind === 'double') return Number.isFinite(given.value) ? text.double(given.value) : null
  if (given.kind !== 'number' || given.digits.replaceAll(/\D/g, '').length > 15) return null
  return text.double(Number(given.digits))
}

const TIMESTAMP_TEXT = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?))?$/

/** Returns a date or time that every source reads alike. Time zones are UTC. */
function momentOf(kind: 'date' | 'timestamp' | 'timestamptz', given: Given): string | null {
  const isText = given.kind === 'text' || given.kind === kind
  if (!isText || !('text' in given)) return null
  if (kind === 'date') return isDate(given.text) ? given.text : null
  const [, date = '', time = '00:00:00'] = TIMESTAMP_TEXT.exec(given.text) ?? []
  if (!isDate(date) || !isTime(time)) return null
  return kind === 'timestamptz' ? `${date} ${time}+00` : `${date} ${time}`
}

function isTime(text: string): boolean {
  const [hours = 24, minutes = 60, seconds = 60] = text.split(':').map(Number)
  return hours < 24 && minutes < 60 && seconds < 60
}
