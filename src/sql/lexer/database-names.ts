/**
 * Handles a database's own SQL, in parentheses after its name: `FROM pg (SELECT …)`. Eider and
 * DuckDB may be unable to parse it, so it becomes a quoted name, `pg."…"`, before anything else
 * reads the statement.
 */

import { nameKey } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { NATIVE_DIALECTS, nativeTokens } from '../../core/text/native-sql.ts'
import { lineAndColumn } from '../../core/text/shown-statement.ts'
import { isName, nextToken, spliced, type Token, tokenize } from './tokens.ts'

const MARK = '\u0001native\u0001'

/** Returns the SQL inside such a name; undefined for an ordinary name. */
export function nativeText(name: string): string | undefined {
  return name.startsWith(MARK) ? name.slice(MARK.length) : undefined
}

/** How a database reads string literals. */
type NativeDialect = 'postgres' | 'mysql' | 'sqlite' | 'duckdb'

/** @param isFunction a table function of that name takes precedence @throws AppError */
export function withNativeNames(
  sql: string,
  dialectOf: (name: string) => NativeDialect | undefined,
  isFunction: (name: string) => boolean = () => false,
): string {
  const parts: { start: number; end: number; text: string }[] = []
  let before: Token | undefined
  let name: Token | undefined
  // One token after the other, because the text in the parentheses may not be tokenizable here.
  for (let at = 0; ; ) {
    const token = readToken(sql, at, name)
    if (token === null) return spliced(sql, parts)
    const isOpen = token.text === '(' && /^(?:from|join|lateral|,)$/i.test(before?.text ?? '')
    const database = isOpen && isName(name) ? name : undefined
    const dialect = database && dialectOf(database.value)
    const isQuery = dialect && BEGINS_QUERY.test(sql.slice(token.end, token.end + QUERY_CHARS))
    if (!database || !dialect || (!isQuery && isFunction(database.value))) {
      before = name
      name = token
      at = token.end
      continue
    }
    if (!isQuery) throw notAQuery(database.value)
    const end = nativeEnd(sql, token.end, dialect)
    if (end < 0) {
      const what = `the parenthesis of the SQL for ${database.value} has no end`
      throw new AppError('sql_syntax', `${lineAndColumn(sql, token.start)}: ${what}`)
    }
    const native = MARK + sql.slice(token.end, end).trim()
    at = end + 1
    parts.push({ start: database.end, end: at, text: `."${native.replaceAll('"', '""')}"` })
  }
}

/** Returns the statement as written, with the SQL in place of such names. */
export function withNativeTexts(sql: string): string {
  return sql.replaceAll(WRITTEN, (_name, text: string) => ` (${text.replaceAll('""', '"')})`)
}

function notAQuery(name: string): AppError {
  const form = `FROM ${name.slice(0, 80)} (SELECT …)`
  const message = `${form} takes one SELECT in the SQL of that database, and nothing else: it is read only here`
  return new AppError('sql_not_supported', message)
}

/** Whether the statement contains native SQL as a name, so it differs from what was written. */
export function hasNativeNames(sql: string): boolean {
  return sql.includes(MARK)
}

/** It tries each run of white space once, because a run may be as long as a statement. */
const WRITTEN = new RegExp(`(?<!\\s)\\s*\\.\\s*"${MARK}((?:[^"]|"")*)"`, 'g')

const BEGINS_QUERY = /^(?:\s|--[^\n]*\n|\/\*[^*]*\*\/|\()*(?:select|with|values|table|show)\b/i

/** Look for the start of a query in this many characters. */
const QUERY_CHARS = 1000

/** Null at the end, or for text that cannot be tokenized. The parser reports the latter. */
function readToken(sql: string, at: number, previous: Token | undefined): Token | null {
  try {
    return nextToken(sql, at, previous)
  } catch {
    return null
  }
}

/** Returns where the parenthesis that opened before `start` closes; -1 if it does not. */
function nativeEnd(sql: string, start: number, dialect: NativeDialect): number {
  let depth = 1
  try {
    for (const { kind, text, start: at } of nativeTokens(sql, NATIVE_DIALECTS[dialect], start)) {
      if (kind !== 'sign') continue
      if (text === '(') depth += 1
      if (text === ')') depth -= 1
      if (depth === 0) return at
    }
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'sql_syntax') throw error
  }
  return -1
}

const ENDS_FROM = new Set([
  ...['select', 'where', 'group', 'having', 'qualify', 'window', 'order', 'limit', 'offset'],
  ...['union', 'intersect', 'except', 'on', 'using'],
])
const QUERY_WORDS = new Set(['select', 'with', 'from', 'values'])

/** Keywords before a relation, and those after which a comma leads to another relation. */
const BEFORE_RELATION = new Set([
  ...['from', 'join', 'pivot', 'unpivot', 'table', 'view', 'into', 'update', 'truncate'],
  ...['describe', 'desc', 'summarize', 'agent', 'knowledge_base'],
])
const BEFORE_LIST = new Set(['from', 'join', 'pivot', 'unpivot'])
const BETWEEN = new Set(['lateral', 'if', 'not', 'exists'])

/** Names are in lower case. */
interface NamedRelation {
  /** Null if the name has no database. */
  readonly database: string | null
  readonly name: string
}

/** May return one too many, but outside of quotes misses none. @throws AppError `sql_syntax` */
export function relationsNamed(sql: string): readonly NamedRelation[] {
  const tokens = tokenize(sql)
  const found: NamedRelation[] = []
  const ctes = new Set<string>()
  // For each open parenthesis: whether a relation may come next, and whether a comma leads to one.
  const open = [{ isNext: false, isFrom: false }]
  for (const [index, token] of tokens.entries()) {
    const { kind, text, value } = token
    const state = open.at(-1) ?? { isNext: false, isFrom: false }
    const isNamed = isName(token)
    const word = kind === 'word' ? value.toLowerCase() : ''
    const after = tokens[index + 1]
    if (text === '(') open.push({ isNext: state.isNext, isFrom: state.isNext })
    else if (text === ')') open.pop()
    else if (text === ',') state.isNext = state.isFrom
    else if (text === ';') Object.assign(state, { isNext: false, isFrom: false })
    // This name was already read, together with the part before the dot.
    else if (tokens[index - 1]?.text === '.') continue
    else if (isNamed && state.isNext && isDatabase(index)) {
      const name = after?.text === '.' ? (tokens[index + 2]?.value ?? '') : ''
      found.push({ database: value.toLowerCase(), name: name.toLowerCase() })
      state.isNext = false
    } else if (BETWEEN.has(word)) continue
    else if (BEFORE_RELATION.has(word)) {
      state.isNext = true
      state.isFrom ||= BEFORE_LIST.has(word)
    } else if (ENDS_FROM.has(word)) {
      state.isNext = false
      // After a join condition, a comma can be followed by another relation.
      if (word !== 'on' && word !== 'using') state.isFrom = false
    } else {
      const isRelation = isNamed && state.isNext && after?.text !== '('
      if (isRelation) found.push({ database: null, name: value.toLowerCase() })
      const isCte = after?.value.toLowerCase() === 'as' && tokens[index + 2]?.text === '('
      if (isNamed && isCte) ctes.add(value.toLowerCase())
      state.isNext = false
    }
  }
  return found.filter(({ database, name }) => database !== null || !ctes.has(name))

  function isDatabase(index: number): boolean {
    const [next, afterwards] = [tokens[index + 1], tokens[index + 2]]
    if (next?.text === '.') return true
    return next?.text === '(' && QUERY_WORDS.has(afterwards?.value.toLowerCase() ?? '')
  }
}

/** `shop.orders`, `shop (SELECT …)`, even an alias, or any mention in untokenizable text. */
export function namesDatabase(sql: string, database: string): boolean {
  const key = nameKey(database)
  try {
    const tokens = tokenize(sql)
    return tokens.some((token, index) => {
      if (!isName(token) || nameKey(token.value) !== key) return false
      const [before, after] = [tokens[index - 1]?.text, tokens[index + 1]?.text]
      return before !== '.' && (after === '.' || after === '(')
    })
  } catch {
    return nameKey(sql).includes(key)
  }
}
