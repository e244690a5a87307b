import { AppError } from '../../core/errors.ts'
import { lineAndColumn, variableParameter } from '../../core/text/shown-statement.ts'
import { escapeAt, type StringEscapes } from './string-escapes.ts'

type TokenKind = 'word' | 'name' | 'string' | 'number' | 'symbol' | 'parameter'

/** A token of SQL text. `start` and `end` are offsets in UTF-16 code units. */
export interface Token {
  readonly kind: TokenKind
  readonly text: string
  /** The name without quotes, or the string without quotes and escapes. */
  readonly value: string
  readonly start: number
  readonly end: number
}

/** Whether it is one of these words, given in lower case. */
export function isWord(token: Token | undefined, ...words: readonly string[]): boolean {
  return token?.kind === 'word' && words.includes(token.value.toLowerCase())
}

/** Whether it may be a name, with or without quotes. */
export function isName(token: Token | undefined): token is Token {
  return token?.kind === 'word' || token?.kind === 'name'
}

/** Replaces parts of the text. @param parts in the order of the text */
export function spliced(
  sql: string,
  parts: Iterable<{ readonly start: number; readonly end: number; readonly text: string }>,
): string {
  let text = ''
  let at = 0
  for (const part of parts) {
    text += sql.slice(at, part.start) + part.text
    at = part.end
  }
  return text + sql.slice(at)
}

const WORD = /[\p{L}_][\p{L}\p{N}_$]*/uy
const NUMBER_TOKEN = /(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y
/** White space and line comments. */
const BLANKS = /(?:\s|--[^\n\r]*)+/uy
const COMMENT_MARK = /\/\*|\*\//g
const DOLLAR_QUOTE = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy
const PARAMETER = /[:$]([\p{L}_][\p{L}\p{N}_]*)/uy
/** `@name`, MySQL's `@@name` or `@@session.name`. `@` before a space is an absolute value. */
const VARIABLE = /@(?:@(?:(?:session|global|local)\.)?)?([\p{L}_][\p{L}\p{N}_]*)/iuy
const SYMBOL = /->>|->|::|:=|<=|>=|<>|!=|==|\|\||\*\*|!?~~?\*?|<<|>>|\/\/(?!\*)|=>|[^\s]/uy

/**
 * A value follows these words, so a `:name` there is a parameter, not a slice or a struct field.
 */
const OPERATOR_WORDS = new Set(
  `select distinct all from where and or not in like ilike between is having by limit offset then else when case on
  values set using union except intersect qualify returning as similar escape any some glob question`.split(
    /\s+/,
  ),
)

/** A limit, because the time to parse, check and bind a statement grows with its tokens. */
const TOKENS_MAX = 50_000

/** Without comments and white space. @throws AppError `sql_syntax`, `sql_not_supported` */
export function tokenize(sql: string, escapes: StringEscapes = 'standard'): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < sql.length) {
    const next = gapEnd(sql, at)
    if (next > at) {
      at = next
      continue
    }
    if (tokens.length >= TOKENS_MAX) {
      const limit = `A statement has at most ${TOKENS_MAX} words and signs`
      throw new AppError('sql_not_supported', `${limit}; pass a long list as a parameter`)
    }
    const token = tokenAt(sql, at, { escapes, previous: tokens.at(-1) })
    tokens.push(token)
    at = token.end
  }
  return tokens
}

/** At this position or later; null if there is none. @throws AppError `sql_syntax` */
export function nextToken(sql: string, from: number, previous: Token | undefined): Token | null {
  let at = from
  for (let next = gapEnd(sql, at); next > at; next = gapEnd(sql, at)) at = next
  return at < sql.length ? tokenAt(sql, at, { escapes: 'standard', previous }) : null
}

/** Returns the end of white space, or of the comment that starts here. */
function gapEnd(sql: string, at: number): number {
  const first = sql.charCodeAt(at)
  if (first === SLASH) return sql.startsWith('/*', at) ? commentEnd(sql, at) : at
  if (first > BLANK && first < NOT_ASCII && first !== MINUS) return at
  BLANKS.lastIndex = at
  return BLANKS.test(sql) ? BLANKS.lastIndex : at
}

const BLANK = 0x20
const MINUS = 0x2d
const SLASH = 0x2f
const NOT_ASCII = 0x80

/** Comments nest, as in the SQL standard. */
function commentEnd(sql: string, start: number): number {
  COMMENT_MARK.lastIndex = start
  let depth = 0
  while (COMMENT_MARK.test(sql)) {
    const end = COMMENT_MARK.lastIndex
    depth += sql.charCodeAt(end - 1) === SLASH ? -1 : 1
    if (depth === 0) return end
  }
  throw unterminated('comment', sql, start)
}

/** `:name` becomes `$name`; no closing semicolons, no comments, for which DuckDB takes long. */
export function toDuckDB(sql: string, tokens: readonly Token[]): string {
  const statement = withoutClosingSemicolons(tokens)
  const arrows = metadataArrows(statement)
  let text = ''
  let at = 0
  statement.forEach((token, index) => {
    text += blank(sql.slice(at, token.start))
    if (arrows.firsts.has(index)) text += '('
    text += duckDBTextOf(token)
    if (arrows.lasts.has(index)) text += ')'
    at = token.end
  })
  return text
}

/** Anything but plain white space. */
const COMMENT_TEXT = /[^\n\r\t ]/

/** Returns as many spaces, so that positions stay the same. */
function blank(gap: string): string {
  return COMMENT_TEXT.test(gap) ? gap.replaceAll(/[^\n\r\t]/gu, ' ') : gap
}

/** @param holdsOthers whether it may contain semicolons @throws AppError for more statements */
export function withoutClosingSemicolons(
  tokens: readonly Token[],
  holdsOthers = false,
): readonly Token[] {
  let length = tokens.length
  while (length > 0 && tokens[length - 1]?.text === ';') length -= 1
  const statement = tokens.slice(0, length)
  const semicolon = statement.find((token) => token.text === ';')
  if (semicolon !== undefined && !holdsOthers) {
    throw new AppError('sql_not_supported', 'Only one statement per request is allowed')
  }
  return statement
}

/** Returns the names of the statement's parameters without duplicates. */
export function parameterNamesOf(tokens: readonly Token[]): readonly string[] {
  return [...new Set(tokens.filter((token) => token.kind === 'parameter').map((t) => t.value))]
}

interface Context {
  readonly escapes: StringEscapes
  readonly previous: Token | undefined
}

function tokenAt(sql: string, start: number, context: Context): Token {
  const first = sql[start] ?? ''
  if (SINGLE_SIGNS.has(first)) return plainToken('symbol', first, start)
  if (first === "'") return stringAt(sql, start, context.escapes)
  if (first === '"' || first === '`') return nameAt(sql, start, first, context.escapes)
  const isEscapeString = (first === 'e' || first === 'E') && sql[start + 1] === "'"
  if (isEscapeString) {
    const token = stringAt(sql, start + 1, 'all')
    return { ...token, text: sql.slice(start, token.end), start }
  }
  const dollarQuote = first === '$' ? matchAt(DOLLAR_QUOTE, sql, start) : undefined
  if (dollarQuote !== undefined) return dollarStringAt(sql, start, dollarQuote)
  const word = matchAt(WORD, sql, start)
  if (word !== undefined) return plainToken('word', word, start)
  const number = matchAt(NUMBER_TOKEN, sql, start)
  if (number !== undefined) return plainToken('number', number, start)
  const parameter = matchAt(PARAMETER, sql, start)
  if (parameter !== undefined && (first === '$' || !isOperand(context.previous))) {
    return { ...plainToken('parameter', parameter, start), value: parameter.slice(1) }
  }
  if (first === '@' && !isWithinOperator(context.previous, start)) {
    const variable = variableAt(sql, start)
    if (variable !== undefined) return variable
  }
  return plainToken('symbol', matchAt(SYMBOL, sql, start) ?? first, start)
}

/** Symbols that are never the start of a longer one. */
const SINGLE_SIGNS: ReadonlySet<string> = new Set('()[]{},;+')

function variableAt(sql: string, start: number): Token | undefined {
  VARIABLE.lastIndex = start
  const [text, name = ''] = VARIABLE.exec(sql) ?? []
  if (text === undefined) return undefined
  const kind = text.startsWith('@@') ? 'system' : 'user'
  return { ...plainToken('parameter', text, start), value: variableParameter(kind, name) }
}

/** Recognizes DuckDB's operators `<@` and `^@`. */
function isWithinOperator(previous: Token | undefined, start: number): boolean {
  return previous?.end === start && (previous.text === '<' || previous.text === '^')
}

function plainToken(kind: TokenKind, text: string, start: number): Token {
  return { kind, text, value: text, start, end: start + text.length }
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? text.slice(at, pattern.lastIndex) : undefined
}

function isOperand(token: Token | undefined): boolean {
  if (token === undefined) return false
  if (token.kind === 'symbol')
    return token.text === ')' || token.text === ']' || token.text === '::'
  return token.kind !== 'word' || !OPERATOR_WORDS.has(token.value.toLowerCase())
}

function stringAt(sql: string, start: number, escapes: StringEscapes): Token {
  if (escapes !== 'standard') return escapedStringAt(sql, start, escapes)
  const end = quotedEnd(sql, start, "'")
  if (end < 0) throw unterminated('string', sql, start)
  const text = sql.slice(start, end)
  return { kind: 'string', text, value: text.slice(1, -1).replaceAll("''", "'"), start, end }
}

/** The end of a quoted text in which a doubled quote means one quote; -1 if it is not closed. */
function quotedEnd(sql: string, start: number, mark: string): number {
  let at = sql.indexOf(mark, start + 1)
  while (at >= 0 && sql[at + 1] === mark) at = sql.indexOf(mark, at + 2)
  return at < 0 ? -1 : at + 1
}

function escapedStringAt(sql: string, start: number, escapes: StringEscapes): Token {
  const parts: string[] = []
  let from = start + 1
  QUOTE_OR_BACKSLASH.lastIndex = from
  while (QUOTE_OR_BACKSLASH.test(sql)) {
    const at = QUOTE_OR_BACKSLASH.lastIndex - 1
    parts.push(sql.slice(from, at))
    if (sql[at] === '\\') {
      // A backslash at the end of a text is literal.
      const { value, length } = escapeAt(sql, at, escapes) ?? { value: '\\', length: 1 }
      if (value === null) throw wrongEscape(sql, at)
      parts.push(value)
      from = at + length
    } else if (sql[at + 1] === "'") {
      parts.push("'")
      from = at + 2
    } else {
      const end = at + 1
      return { kind: 'string', text: sql.slice(start, end), value: parts.join(''), start, end }
    }
    QUOTE_OR_BACKSLASH.lastIndex = from
  }
  throw unterminated('string', sql, start)
}

const QUOTE_OR_BACKSLASH = /['\\]/g

function wrongEscape(sql: string, at: number): AppError {
  return new AppError('sql_syntax', `${lineAndColumn(sql, at)}: this escape means no character`)
}

function nameAt(sql: string, start: number, mark: string, escapes: StringEscapes): Token {
  const isEscaped = mark === '"' && escapes === 'backslash'
  const end = isEscaped ? escapedEnd(sql, start) : quotedEnd(sql, start, mark)
  if (end < 0) throw unterminated('name', sql, start)
  const text = sql.slice(start, end)
  const inner = isEscaped ? text.replaceAll('\\"', '"') : text
  return { kind: 'name', text, value: inner.slice(1, -1).replaceAll(mark + mark, mark), start, end }
}

/**
 * Like `quotedEnd`, for double quotes in which `\"` is a quote, as in JSON; -1 if it is not closed.
 */
function escapedEnd(sql: string, start: number): number {
  for (let at = start + 1; at < sql.length; at += 1) {
    const isDoubled = sql[at] === '"' && sql[at + 1] === '"'
    if (sql[at] === '\\' || isDoubled) at += 1
    else if (sql[at] === '"') return at + 1
  }
  return -1
}

function dollarStringAt(sql: string, start: number, mark: string): Token {
  const close = sql.indexOf(mark, start + mark.length)
  if (close < 0) throw unterminated('string', sql, start)
  const end = close + mark.length
  const value = sql.slice(start + mark.length, close)
  return { kind: 'string', text: sql.slice(start, end), value, start, end }
}

function unterminated(what: string, sql: string, at: number): AppError {
  return new AppError('sql_syntax', `${lineAndColumn(sql, at)}: this ${what} has no end`)
}

function duckDBTextOf(token: Token): string {
  if (token.kind === 'parameter') return `$${token.value}`
  if (token.kind === 'name') return `"${token.value.replaceAll('"', '""')}"`
  // Also for dollar-quoted strings, in which DuckDB 1.5.5 replaces wide spaces. After `$$$$` or a
  // quote in a dollar-quoted string, it does so in other strings too.
  if (token.kind === 'string') {
    return `'${token.value.replaceAll("'", "''")}'`
  }
  return token.text
}

/**
 * Finds where to add parentheses around `metadata->>'k'`, which existing clients omit. In DuckDB
 * `->>` binds less tightly than `AND` and `=`, so `a AND metadata->>'k' = 'v'` would mean `((a AND
 * metadata)->>'k') = 'v'`.
 * @returns the tokens before and after which to add a parenthesis
 */
function metadataArrows(tokens: readonly Token[]) {
  const firsts = new Set<number>()
  const lasts = new Set<number>()
  tokens.forEach((token, index) => {
    if (tokens[index + 1]?.text[0] !== '-' || !isMetadata(token)) return
    const first = chainStart(tokens, index)
    const last = chainEnd(tokens, index)
    if (last === index || tokens[first - 1]?.text === '(') return
    firsts.add(first)
    lasts.add(last)
  })
  return { firsts, lasts }
}

function isMetadata(token: Token | undefined): boolean {
  return isName(token) && token.value.toLowerCase() === 'metadata'
}

/** Goes back from `metadata` over `alias.` and `project.kb.`. */
function chainStart(tokens: readonly Token[], index: number): number {
  let first = index
  while (tokens[first - 1]?.text === '.' && first >= 2) first -= 2
  return first
}

/** Goes forward from `metadata` over `-> 'a' ->> 'b'`. */
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
