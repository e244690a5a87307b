/** Splits the SQL of other databases into tokens, using a table of dialect differences. */
import { AppError } from '../errors.ts'

export interface NativeDialect {
  /** Whether `$$…$$` quotes a string. */
  readonly hasDollarQuotes: boolean
  /** Whether `'it\'s'` is one string and `#` starts a comment. */
  readonly hasBackslashes: boolean
  readonly hasNestedComments: boolean
  /** Whether `[a name]` is a quoted name. */
  readonly hasBracketNames: boolean
}

const PLAIN: NativeDialect = {
  hasDollarQuotes: false,
  hasBackslashes: false,
  hasNestedComments: false,
  hasBracketNames: false,
}

export const POSTGRES_DIALECT = { ...PLAIN, hasDollarQuotes: true, hasNestedComments: true }
export const MYSQL_DIALECT = { ...PLAIN, hasBackslashes: true }
export const SQLITE_DIALECT = { ...PLAIN, hasBracketNames: true }

/** DuckDB uses PostgreSQL's parser. */
export const DUCKDB_DIALECT = POSTGRES_DIALECT

interface NativeToken {
  readonly kind: 'word' | 'name' | 'text' | 'placeholder' | 'sign'
  /** For a quoted name, the text without quotes. */
  readonly text: string
  readonly start: number
  readonly end: number
}

export const NATIVE_DIALECTS = {
  postgres: POSTGRES_DIALECT,
  mysql: MYSQL_DIALECT,
  sqlite: SQLITE_DIALECT,
  duckdb: DUCKDB_DIALECT,
} as const

/** @throws AppError `sql_syntax` if unclosed, `sql_forbidden` for what could hide that */
export function* nativeTokens(
  sql: string,
  dialect: NativeDialect,
  start = 0,
): Generator<NativeToken, void> {
  for (let at = start; at < sql.length; ) {
    const after = skipped(sql, at, dialect)
    if (after > at) {
      at = after
      continue
    }
    const token = tokenAt(sql, at, dialect)
    yield token
    at = token.end
  }
}

const SPACE = /\s+/y
const WORD = /[\p{L}_\u0080-\uffff][\p{L}\p{N}_$\u0080-\uffff]*/uy
const NUMBER = /\d[\w.]*/y
const PLACEHOLDER = /\$\d+/y
const DOLLAR_QUOTE = /\$(?:[\p{L}_\u0080-\uffff][\p{L}\p{N}_\u0080-\uffff]*)?\$/uy

function matchAt(pattern: RegExp, sql: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(sql)?.[0] ?? null
}

/** The position of the next token at or after `at`, after white space and comments. */
function skipped(sql: string, at: number, dialect: NativeDialect): number {
  const space = matchAt(SPACE, sql, at)
  if (space !== null) return at + space.length
  const isLine = sql.startsWith('--', at) || (dialect.hasBackslashes && sql[at] === '#')
  if (isLine) {
    // In MySQL, `--1` is a number, not a comment, so the rest is read as tokens.
    if (dialect.hasBackslashes && sql[at] === '-' && /\S/.test(sql[at + 2] ?? ' ')) return at
    const end = sql.slice(at).search(/[\n\r]/)
    return end === -1 ? sql.length : at + end
  }
  if (!sql.startsWith('/*', at)) return at
  if (dialect.hasBackslashes && /^\/\*M?!/.test(sql.slice(at, at + 4))) {
    throw forbidden('Comments that a server runs are not allowed in native SQL')
  }
  return commentEnd(sql, at, dialect)
}

function commentEnd(sql: string, at: number, { hasNestedComments }: NativeDialect): number {
  let depth = 1
  for (let index = at + 2; index < sql.length; index += 1) {
    if (hasNestedComments && sql.startsWith('/*', index)) {
      depth += 1
      index += 1
    } else if (sql.startsWith('*/', index)) {
      depth -= 1
      index += 1
      if (depth === 0) return index + 1
    }
  }
  throw new AppError('sql_syntax', 'The native SQL does not close a comment')
}

function tokenAt(sql: string, at: number, dialect: NativeDialect): NativeToken {
  const token = (kind: NativeToken['kind'], end: number, text = sql.slice(at, end)) => {
    return { kind, text, start: at, end }
  }
  const char = sql[at] ?? ''
  if (char === "'") return token('text', quotedEnd(sql, at, dialect.hasBackslashes))
  if (char === '"' || char === '`') {
    const end = quotedEnd(sql, at, dialect.hasBackslashes && char === '"')
    return token('name', end, sql.slice(at + 1, end - 1).replaceAll(char + char, char))
  }
  if (char === '[' && dialect.hasBracketNames) {
    const end = sql.indexOf(']', at)
    if (end === -1) throw notClosed()
    return token('name', end + 1, sql.slice(at + 1, end))
  }
  if (dialect.hasDollarQuotes) {
    // E'…' contains backslash escapes; U&"…" is refused, because it can spell any name.
    if (/^e'/i.test(sql.slice(at, at + 2))) return token('text', quotedEnd(sql, at + 1, true))
    if (/^u&["']/i.test(sql.slice(at, at + 3))) {
      throw forbidden('Names and texts with Unicode escapes (U&) are not allowed in native SQL')
    }
    const placeholder = matchAt(PLACEHOLDER, sql, at)
    if (placeholder !== null) return token('placeholder', at + placeholder.length)
    const tag = matchAt(DOLLAR_QUOTE, sql, at)
    if (tag !== null) {
      const end = sql.indexOf(tag, at + tag.length)
      if (end === -1) throw notClosed()
      return token('text', end + tag.length)
    }
  } else if (char === '?') return token('placeholder', at + 1)
  const word = matchAt(WORD, sql, at) ?? matchAt(NUMBER, sql, at)
  return word === null ? token('sign', at + 1) : token('word', at + word.length)
}

function quotedEnd(sql: string, at: number, hasBackslashes: boolean): number {
  const quote = sql[at]
  for (let index = at + 1; index < sql.length; index += 1) {
    if (hasBackslashes && sql[index] === '\\') index += 1
    else if (sql[index] === quote) {
      if (sql[index + 1] !== quote) return index + 1
      index += 1
    }
  }
  throw notClosed()
}

function notClosed(): AppError {
  return new AppError('sql_syntax', 'The native SQL does not close a quote')
}

function forbidden(message: string): AppError {
  return new AppError('sql_forbidden', message)
}
