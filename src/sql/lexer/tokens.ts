import { AppError } from '../../errors.ts'
import { escapeAt, type StringEscapes } from './string-escapes.ts'
import { variableParameter } from './variable-names.ts'

export type TokenKind = 'word' | 'name' | 'string' | 'number' | 'symbol' | 'parameter'

/** A piece of SQL text. `start` and `end` are code units into the statement. */
export interface Token {
  readonly kind: TokenKind
  /** The text as written. */
  readonly text: string
  /** What it says: the name without quotes, the string without quotes and escapes. */
  readonly value: string
  readonly start: number
  readonly end: number
}

const WORD = /[\p{L}_][\p{L}\p{N}_$]*/uy
const NUMBER = /(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y
/** White space and comments to the end of a line. */
const SPACE = /(?:\s|--[^\n\r]*)+/uy
const COMMENT_MARK = /\/\*|\*\//g
const DOLLAR_QUOTE = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy
const PARAMETER = /[:$]([\p{L}_][\p{L}\p{N}_]*)/uy
/** `@name`, and MySQL's `@@name` or `@@session.name`. Before a space, `@` is DuckDB's operator for the absolute value. */
const VARIABLE = /@(?:@(?:(?:session|global|local)\.)?)?([\p{L}_][\p{L}\p{N}_]*)/iuy
const SYMBOL = /->>|->|::|:=|<=|>=|<>|!=|==|\|\||\*\*|!?~~?\*?|<<|>>|\/\/(?!\*)|=>|[^\s]/uy

/** After these words a value is expected, so that a `:name` there is a parameter and not a slice or a struct's colon. */
const OPERATOR_WORDS = new Set(
  `select distinct all from where and or not in like ilike between is having by limit offset then else when case on
  values set using union except intersect qualify returning as similar escape any some glob question`.split(
    /\s+/,
  ),
)

/**
 * Cuts a statement into tokens; comments and white space are left out.
 * @throws AppError `sql_syntax` for a string, name or comment without an end
 */
export function tokenize(sql: string, escapes: StringEscapes = 'standard'): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < sql.length) {
    const next = gapEnd(sql, at)
    if (next > at) {
      at = next
      continue
    }
    const token = tokenAt(sql, at, { escapes, previous: tokens.at(-1) })
    tokens.push(token)
    at = token.end
  }
  return tokens
}

/** Where white space, or the comment that begins here, ends. */
function gapEnd(sql: string, at: number): number {
  if (sql.startsWith('/*', at)) return commentEnd(sql, at)
  return at + (matchAt(SPACE, sql, at)?.length ?? 0)
}

/** Comments stand within comments, as in the standard. */
function commentEnd(sql: string, start: number): number {
  COMMENT_MARK.lastIndex = start
  let depth = 0
  for (let mark = COMMENT_MARK.exec(sql); mark !== null; mark = COMMENT_MARK.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.index + mark[0].length
  }
  throw unterminated('comment', sql, start)
}

/**
 * The statement's text with its `:name` as DuckDB's `$name`, `` `name` `` as `"name"`, and no closing semicolon. Comments are
 * spaces: DuckDB's own reading of comments within comments takes time by the square of their number.
 */
export function toDuckDB(sql: string, tokens: readonly Token[]): string {
  let text = ''
  let at = 0
  for (const token of withoutClosingSemicolons(tokens)) {
    text += blank(sql.slice(at, token.start)) + duckDBTextOf(token)
    at = token.end
  }
  return parenthesizeMetadataArrows(text, tokens)
}

/** As many characters, so that places stay where they are. */
function blank(gap: string): string {
  return gap === '' || gap === ' ' ? gap : gap.replaceAll(/[^\n\r\t]/gu, ' ')
}

/** @throws AppError `sql_syntax` where a semicolon is followed by another statement */
export function withoutClosingSemicolons(tokens: readonly Token[]): readonly Token[] {
  let length = tokens.length
  while (length > 0 && tokens[length - 1]?.text === ';') length -= 1
  const statement = tokens.slice(0, length)
  const semicolon = statement.find((token) => token.text === ';')
  if (semicolon !== undefined) {
    throw new AppError('sql_not_supported', 'Only one statement per request is allowed')
  }
  return statement
}

/** The names of the statement's parameters, each once. */
export function parameterNamesOf(tokens: readonly Token[]): readonly string[] {
  return [...new Set(tokens.filter((token) => token.kind === 'parameter').map((t) => t.value))]
}

/** `line 2, column 5` of a place in a text, both from 1, counted in characters. */
export function placeOf(text: string, at: number): string {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = [...before.slice(before.lastIndexOf('\n') + 1)].length + 1
  return `line ${line}, column ${column}`
}

interface Context {
  readonly escapes: StringEscapes
  readonly previous: Token | undefined
}

function tokenAt(sql: string, start: number, context: Context): Token {
  const first = sql[start]
  if (first === "'") return stringAt(sql, start, context.escapes)
  if (first === '"' || first === '`') return nameAt(sql, start, first)
  const isEscapeString = (first === 'e' || first === 'E') && sql[start + 1] === "'"
  if (isEscapeString) {
    const token = stringAt(sql, start + 1, 'all')
    return { ...token, text: sql.slice(start, token.end), start }
  }
  const dollarQuote = matchAt(DOLLAR_QUOTE, sql, start)
  if (dollarQuote !== undefined) return dollarStringAt(sql, start, dollarQuote)
  const word = matchAt(WORD, sql, start)
  if (word !== undefined) return plain('word', word, start)
  const number = matchAt(NUMBER, sql, start)
  if (number !== undefined) return plain('number', number, start)
  const parameter = matchAt(PARAMETER, sql, start)
  if (parameter !== undefined && (first === '$' || !isOperand(context.previous))) {
    return { ...plain('parameter', parameter, start), value: parameter.slice(1) }
  }
  if (first === '@' && !isWithinOperator(context.previous, start)) {
    const variable = variableAt(sql, start)
    if (variable !== undefined) return variable
  }
  return plain('symbol', matchAt(SYMBOL, sql, start) ?? first ?? '', start)
}

/** A parameter whose name says which variable is meant. */
function variableAt(sql: string, start: number): Token | undefined {
  VARIABLE.lastIndex = start
  const [text, name = ''] = VARIABLE.exec(sql) ?? []
  if (text === undefined) return undefined
  const kind = text.startsWith('@@') ? 'system' : 'user'
  return { ...plain('parameter', text, start), value: variableParameter(kind, name) }
}

/** DuckDB's `<@` and `^@`. */
function isWithinOperator(previous: Token | undefined, start: number): boolean {
  return previous?.end === start && (previous.text === '<' || previous.text === '^')
}

function plain(kind: TokenKind, text: string, start: number): Token {
  return { kind, text, value: text, start, end: start + text.length }
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

function isOperand(token: Token | undefined): boolean {
  if (token === undefined) return false
  if (token.kind === 'symbol')
    return token.text === ')' || token.text === ']' || token.text === '::'
  return token.kind !== 'word' || !OPERATOR_WORDS.has(token.value.toLowerCase())
}

function stringAt(sql: string, start: number, escapes: StringEscapes): Token {
  let value = ''
  for (let at = start + 1; at < sql.length; at += 1) {
    const char = sql[at] ?? ''
    const escaped = char === '\\' ? escapeAt(sql, at, escapes) : undefined
    if (escaped !== undefined) {
      if (escaped.value === null) throw wrongEscape(sql, at)
      at += escaped.length - 1
      value += escaped.value
    } else if (char === "'" && sql[at + 1] === "'") {
      at += 1
      value += "'"
    } else if (char === "'") {
      return { kind: 'string', text: sql.slice(start, at + 1), value, start, end: at + 1 }
    } else value += char
  }
  throw unterminated('string', sql, start)
}

function wrongEscape(sql: string, at: number): AppError {
  return new AppError('sql_syntax', `${placeOf(sql, at)}: this escape stands for no character`)
}

function nameAt(sql: string, start: number, mark: string): Token {
  let value = ''
  for (let at = start + 1; at < sql.length; at += 1) {
    if (sql[at] !== mark) value += sql[at]
    else if (sql[at + 1] === mark) {
      at += 1
      value += mark
    } else return { kind: 'name', text: sql.slice(start, at + 1), value, start, end: at + 1 }
  }
  throw unterminated('name', sql, start)
}

function dollarStringAt(sql: string, start: number, mark: string): Token {
  const close = sql.indexOf(mark, start + mark.length)
  if (close < 0) throw unterminated('string', sql, start)
  const end = close + mark.length
  const value = sql.slice(start + mark.length, close)
  return { kind: 'string', text: sql.slice(start, end), value, start, end }
}

function unterminated(what: string, sql: string, at: number): AppError {
  return new AppError('sql_syntax', `${placeOf(sql, at)}: this ${what} has no end`)
}

function duckDBTextOf(token: Token): string {
  if (token.kind === 'parameter') return `$${token.value}`
  if (token.kind === 'name') return `"${token.value.replaceAll('"', '""')}"`
  // Also one between dollars: there DuckDB 1.5.5 makes wide spaces plain, and after `$$$$`, or a quote between dollars, in
  // other texts as well.
  if (token.kind === 'string') {
    return `'${token.value.replaceAll("'", "''")}'`
  }
  return token.text
}

/**
 * In DuckDB `->>` binds less tightly than `AND` and `=`: `a AND metadata->>'k' = 'v'` is read as
 * `((a AND metadata)->>'k') = 'v'`. Existing clients write it without parentheses, so they are added here.
 */
function parenthesizeMetadataArrows(text: string, tokens: readonly Token[]): string {
  if (!tokens.some((token) => token.text === '->>' || token.text === '->')) return text
  const again = tokenize(text)
  const edits: { readonly at: number; readonly text: string }[] = []
  for (let index = 0; index < again.length; index += 1) {
    if (!isMetadata(again[index]) || again[index + 1]?.text[0] !== '-') continue
    const first = chainStart(again, index)
    const last = chainEnd(again, index)
    if (last === index || again[first - 1]?.text === '(') continue
    edits.push(
      { at: again[first]?.start ?? 0, text: '(' },
      { at: again[last]?.end ?? 0, text: ')' },
    )
  }
  return edits.reduceRight((edited, edit) => {
    return edited.slice(0, edit.at) + edit.text + edited.slice(edit.at)
  }, text)
}

function isMetadata(token: Token | undefined): boolean {
  return (
    (token?.kind === 'word' || token?.kind === 'name') && token.value.toLowerCase() === 'metadata'
  )
}

/** From `metadata` back over `alias.` and `project.kb.`. */
function chainStart(tokens: readonly Token[], index: number): number {
  let first = index
  while (tokens[first - 1]?.text === '.' && first >= 2) first -= 2
  return first
}

/** From `metadata` on over `-> 'a' ->> 'b'`. */
function chainEnd(tokens: readonly Token[], index: number): number {
  let last = index
  for (;;) {
    const arrow = tokens[last + 1]?.text
    const key = tokens[last + 2]
    const isStep = (arrow === '->' || arrow === '->>') && key !== undefined
    if (!isStep || !['string', 'number', 'parameter'].includes(key.kind)) return last
    last += 2
  }
}
