/**
 * Parses statements as PostgreSQL clients send them: several in one text, `$1` for values, cursors
 * and COPY.
 */
import { literal, quote } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { depthsOf, statementsOf as splitStatements } from '../../sql/lexer/brackets.ts'
import { isName, spliced, type Token, tokenize } from '../../sql/lexer/tokens.ts'

/** Splits a text into statements, without the comments before them. @throws AppError `sql_syntax` */
export function statementsOf(text: string): readonly string[] {
  return splitStatements(text).flatMap((sql) => withoutLeadingComments(sql) ?? [])
}

/** Keeps their place, so that positions in the text stay the same. Null if nothing else is left. */
function withoutLeadingComments(sql: string): string | null {
  if (!/^\s*(--|\/\*)/.test(sql)) return sql
  const start = tokenize(sql)[0]?.start
  return start === undefined ? null : sql.slice(0, start).replaceAll(/\S/g, ' ') + sql.slice(start)
}

/** A SELECT with the columns of `INSERT … RETURNING …` and the like; undefined for others. */
export function returnedColumns(sql: string): string | undefined {
  const tokens = tokenize(sql)
  const depths = depthsOf(tokens)
  const wordAt = (pattern: RegExp, from = 0) => {
    return tokens.findIndex(({ kind, text }, index) => {
      return index >= from && kind === 'word' && depths[index] === 0 && pattern.test(text)
    })
  }
  const returning = wordAt(/^returning$/i)
  if (returning === -1 || wordAt(/^(insert|update|delete)$/i) !== 0) return undefined
  const start = wordAt(/^(into|update|from)$/i) + 1
  const end = wordAt(/^(set|using|where|values|select|with|by|default|on|returning)$/i, start)
  // The list of an INSERT's columns is in brackets.
  const open = tokens.findIndex(({ text }, index) => index >= start && text === '(')
  const last = open === -1 ? end : Math.min(open, end)
  const table = sql.slice(tokens[start]?.start, tokens[last]?.start)
  return `SELECT ${sql.slice(tokens[returning]?.end)} FROM ${table}`
}

/** Returns the highest n of any `$n` in the statement. */
export function parameterCount(sql: string): number {
  return Math.max(0, ...parameterPlaces(sql).map(({ number }) => number))
}

function parameterPlaces(sql: string): readonly {
  /** Counted from 1. */
  readonly number: number
  readonly start: number
  readonly end: number
  /** Whether the value must be a number, as after LIMIT or OFFSET. */
  readonly isCount: boolean
}[] {
  if (!sql.includes('$')) return []
  const tokens = tokenize(sql)
  return tokens.flatMap((token, index) => {
    const next = tokens[index + 1]
    if (token.text !== '$' || next?.kind !== 'number' || next.start !== token.end) return []
    const before = tokens[index - 1]?.text.toLowerCase()
    const isCount = before === 'limit' || before === 'offset'
    return [{ number: Number(next.text), start: token.start, end: next.end, isCount }]
  })
}

const COMPARISONS = new Set(['=', '<', '>', '<=', '>=', '<>', '!='])

/** Returns the columns, and their relations, that determine the types of a statement's `$n`. */
export function parameterColumns(sql: string): {
  readonly columns: readonly {
    readonly number: number
    readonly column: string
    /** Whether the parameter is an array of such values. */
    readonly isArray: boolean
  }[]
  readonly relations: readonly string[]
} {
  const tokens = tokenize(sql)
  const stored = storedColumns(tokens)
  const indexes = new Map(tokens.map((token, index) => [token.start, index]))
  const listed = new Map<number, string | undefined>()
  const columns = parameterPlaces(sql).flatMap(({ number, start }) => {
    const index = indexes.get(start) ?? -1
    const isArray = /^(any|all|some)$/i.test(tokens[index - 2]?.text ?? '')
    const place = isArray ? index - 2 : index
    const column = stored.get(index) ?? comparedColumn(tokens, place, listed)
    return column === undefined ? [] : [{ number, column: column.toLowerCase(), isArray }]
  })
  const relations = tokens.flatMap((token, index) => {
    if (!/^(from|join|into|update)$/i.test(token.text)) return []
    const isQualified = tokens[index + 2]?.text === '.'
    const name = tokens[isQualified ? index + 3 : index + 1]
    return isName(name) ? [name.value.toLowerCase()] : []
  })
  return { columns, relations }
}

/** Handles `column < $1`, `= ANY ($1)`, `BETWEEN $1 AND $2` and `IN ($1, $2)`. */
function comparedColumn(
  tokens: readonly Token[],
  index: number,
  listed: Map<number, string | undefined>,
): string | undefined {
  const before = tokens[index - 1]
  if (COMPARISONS.has(before?.text ?? '')) return nameAt(tokens, index - 2)
  const words = tokens.slice(Math.max(0, index - 5), index).map(({ text }) => text.toLowerCase())
  const between = words.lastIndexOf('between')
  if (between !== -1) return nameAt(tokens, index - words.length + between - 1)
  let at = index - 1
  while (/^[$,\d]+$/.test(tokens[at]?.text ?? '') && !listed.has(at)) at -= 1
  const isList = tokens[at]?.text === '(' && tokens[at - 1]?.text.toLowerCase() === 'in'
  const column = isList ? nameAt(tokens, at - 2) : listed.get(at)
  listed.set(index, column)
  return column
}

function nameAt(tokens: readonly Token[], index: number): string | undefined {
  const token = tokens[index]
  return isName(token) ? token.value : undefined
}

/**
 * For `INSERT INTO t (a, b) VALUES ($1, $2), …`: the column of each value, by token index. Without
 * the list, the column's number.
 */
function storedColumns(tokens: readonly Token[]): ReadonlyMap<number, string> {
  const columns = new Map<number, string>()
  const open = tokens.findIndex(({ text }) => text === '(')
  const close = tokens.findIndex(({ text }) => text === ')')
  const values = tokens.findIndex(({ text }) => text.toLowerCase() === 'values')
  const isInsert = tokens[0]?.text.toLowerCase() === 'insert'
  const isNamed = open < values
  if (!isInsert || values === -1 || (isNamed && close !== values - 1)) return columns
  const names = tokens.slice(open + 1, close).filter(isName)
  let column = -1
  let depth = 0
  tokens.forEach(({ text }, index) => {
    if (index <= values) return
    if (text === '(') depth += 1
    if (text === ')') depth -= 1
    if (text === '(' && depth === 1) column = 0
    else if (text === ',' && depth === 1) column += 1
    const name = isNamed ? names[column]?.value : String(column + 1)
    if (text === '$' && depth === 1 && name !== undefined) columns.set(index, name)
  })
  return columns
}

/** The elements of an array's text, such as `{1,"a b",NULL}`. @throws AppError for other texts */
export function arrayElements(array: string): readonly (string | null)[] {
  const text = array.trim()
  const elements: (string | null)[] = []
  const ELEMENT = /(?:\s*"((?:[^"\\]|\\.)*)"\s*|([^,{}"]*))(?:,|\}$)/gsy
  ELEMENT.lastIndex = text.indexOf('{') + 1
  if (/^\{\s*\}$/.test(text)) return elements
  for (let found = ELEMENT.exec(text); found !== null; found = ELEMENT.exec(text)) {
    const [whole, quoted, bare = ''] = found
    if (quoted !== undefined) elements.push(quoted.replaceAll(/\\(.)/gs, '$1'))
    else elements.push(bare.trim().toUpperCase() === 'NULL' ? null : bare.trim())
    if (whole.endsWith('}')) return elements
  }
  if (/^\{\s*\{/.test(text)) throw arrayOfArrays()
  throw new AppError('invalid_request', `Not an array such as {1,2}: ${text.slice(0, 100)}`)
}

export function arrayOfArrays(): AppError {
  const message = 'An array of arrays cannot be a parameter: write it as SQL, such as [[1], [2]]'
  return new AppError('sql_not_supported', message)
}

/** A value for a parameter `$n`. */
export interface ParameterValue {
  readonly text: string | null
  /**
   * The DuckDB type to cast it to. Null: its type follows from the other operand, as for a literal.
   */
  readonly cast: string | null
  readonly elements?: readonly (string | null)[]
}

/** As literals take the type of the other operand; a text with a backslash is bound. */
export function withParameters(
  sql: string,
  values: readonly ParameterValue[],
): { readonly sql: string; readonly params: Readonly<Record<string, string>> } {
  const params: Record<string, string> = {}
  const parts = parameterPlaces(sql).map(({ number, start, end, isCount }) => {
    const value = values[number - 1]
    if (value === undefined) {
      throw new AppError('sql_missing_parameter', `There is no value for $${number}`)
    }
    return { start, end, text: valueText(value, { isCount, number, params }) }
  })
  return { sql: spliced(sql, parts), params }
}

function valueText(
  { text, cast, elements }: ParameterValue,
  at: {
    readonly isCount: boolean
    readonly number: number
    readonly params: Record<string, string>
  },
): string {
  if (text === null) return cast === null ? 'NULL' : `NULL::${cast}`
  if (elements !== undefined) {
    const parts = elements.map((element) => (element === null ? 'NULL' : quoted(element, at)))
    return cast === null ? `[${parts.join(', ')}]` : `[${parts.join(', ')}]::${cast}`
  }
  if (at.isCount && /^\d{1,18}$/.test(text)) return text
  if (cast !== null && isNumberOf(cast, text)) return text.startsWith('-') ? `(${text})` : text
  const value = quoted(text, at)
  return cast === null || cast === 'VARCHAR' ? value : `${value}::${cast}`
}

/** A number needs no cast, because DuckDB gives it the narrowest type. */
function isNumberOf(cast: string, text: string): boolean {
  if (/INT$|INTEGER$/.test(cast)) return /^-?\d{1,18}$/.test(text)
  return cast.startsWith('DECIMAL') && /^-?\d{1,20}(\.\d{1,17})?$/.test(text)
}

function quoted(
  text: string,
  at: { readonly number: number; readonly params: Record<string, string> },
): string {
  if (!text.includes('\\')) return literal(text)
  const name = `pg_value_${at.number}_${Object.keys(at.params).length}`
  at.params[name] = text
  return `:${name}`
}

export interface CopiedColumn {
  /** The DuckDB type to cast its texts to; null if the table's column determines it. */
  readonly cast: string | null
  /** Whether its texts are JSON lists of texts. */
  readonly isList: boolean
}

/** The statement is the same for all batches of rows, which are one parameter. */
export function insertStatement(
  { table, columns }: Pick<CopyStatement, 'table' | 'columns'>,
  types: readonly CopiedColumn[],
  rows: readonly (readonly (string | null)[])[],
): { readonly sql: string; readonly params: Readonly<Record<string, string>> } {
  const names = columns.length === 0 ? '' : ` (${columns.map(quote).join(', ')})`
  const values = types.map(({ cast, isList }, index) => {
    const value = isList ? `from_json(r[${index + 1}], '["VARCHAR"]')` : `r[${index + 1}]`
    return cast === null ? value : `${value}::${cast}`
  })
  const given = `(SELECT unnest(from_json(:rows, '[["VARCHAR"]]')) AS r)`
  const sql = `INSERT INTO ${table}${names} SELECT ${values.join(', ')} FROM ${given}`
  return { sql, params: { rows: JSON.stringify(rows) } }
}

export interface CopyStatement {
  readonly direction: 'in' | 'out'
  /** The SELECT to copy from. */
  readonly select: string
  /** The table and columns to copy into, for example `t (a, b)`. */
  readonly table: string
  readonly columns: readonly string[]
  readonly format: 'csv' | 'text' | 'binary'
  readonly hasHeader: boolean
  readonly delimiter: string
  readonly nullText: string
}

/** Returns undefined if the statement is not a COPY. @throws AppError for an unsupported form */
export function copyStatement(sql: string): CopyStatement | undefined {
  const tokens = tokenize(sql)
  if (tokens[0]?.text.toLowerCase() !== 'copy') return undefined
  const depths = depthsOf(tokens)
  const at = tokens.findIndex(({ text }, index) => {
    return depths[index] === 0 && index > 0 && /^(to|from)$/i.test(text)
  })
  const target = tokens[at + 1]
  if (at === -1 || !/^(stdin|stdout)$/i.test(target?.text ?? '')) {
    const message =
      'COPY reads from STDIN and writes to STDOUT; the server has no files for clients'
    throw new AppError('sql_not_supported', message)
  }
  const source = sql.slice(tokens[1]?.start ?? 0, tokens[at]?.start).trim()
  const isQuery = tokens[1]?.text === '('
  const open = isQuery ? -1 : tokens.findIndex(({ text }, index) => index < at && text === '(')
  const named = open === -1 ? [] : tokens.slice(open + 1, at - 1).filter(isName)
  const table = open === -1 ? source : sql.slice(tokens[1]?.start ?? 0, tokens[open]?.start).trim()
  const chosen = open === -1 ? '*' : sql.slice(tokens[open + 1]?.start, tokens[at - 1]?.start)
  return {
    direction: tokens[at]?.text.toLowerCase() === 'from' ? 'in' : 'out',
    select: isQuery ? source.slice(1, -1) : `SELECT ${chosen} FROM ${table}`,
    table,
    columns: named.map(({ value }) => value),
    ...copyOptions(tokens.slice(at + 2)),
  }
}

function copyOptions(
  tokens: readonly Token[],
): Pick<CopyStatement, 'format' | 'hasHeader' | 'delimiter' | 'nullText'> {
  // A word may be quoted, as in FORMAT "binary".
  const words = tokens.map(({ value }) => value.toLowerCase())
  const after = (word: string) => {
    const at = words.indexOf(word)
    if (at === -1) return undefined
    return tokens[words[at + 1] === 'as' ? at + 2 : at + 1]
  }
  for (const [option, only] of FIXED_OPTIONS) {
    const { text = '', value = only } = after(option) ?? {}
    if (value.toLowerCase().replace('-', '') === only) continue
    const message = `COPY does not support ${option.toUpperCase()} ${text}, only ${literal(only)}`
    throw new AppError('sql_not_supported', message)
  }
  const isCsv = words.includes('csv')
  const format = words.includes('binary') ? 'binary' : isCsv ? 'csv' : 'text'
  const header = words.indexOf('header')
  return {
    format,
    hasHeader: header !== -1 && !/^(false|off|0)$/.test(words[header + 1] ?? ''),
    delimiter: after('delimiter')?.value ?? (isCsv ? ',' : '\t'),
    nullText: after('null')?.value ?? (isCsv ? '' : '\\N'),
  }
}

/** Options of COPY with the only value that they can have. */
const FIXED_OPTIONS = [
  ['quote', '"'],
  ['escape', '"'],
  ['encoding', 'utf8'],
] as const

/** The position of the error given in an Eider message, counted from 1; null if there is none. */
export function positionOf(message: string, sql: string): number | null {
  const [, line, column] = /^line (\d+), column (\d+)/.exec(message) ?? []
  if (line === undefined || column === undefined) return null
  const before = sql.split('\n').slice(0, Number(line) - 1)
  const chars = before.reduce((sum, one) => sum + [...one].length + 1, 0)
  return chars + Number(column)
}
