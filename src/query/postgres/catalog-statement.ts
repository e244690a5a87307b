/** Questions about PostgreSQL's catalog: which statements ask them, and what they are over `pg-catalog.sql`. */
import { literal } from '../../core/domain/names.ts'
import { type Token, tokenize } from '../../sql/lexer/tokens.ts'
import script from './pg-catalog.sql' with { type: 'text' }
import { arrayElements } from './statement-text.ts'

function namesMade(pattern: RegExp): ReadonlySet<string> {
  return new Set([...script.matchAll(pattern)].map(([, name = '']) => name))
}

const RELATIONS = namesMade(/^CREATE (?:TABLE|VIEW) pgc\.(pg_\w+)/gm)
const FUNCTIONS = namesMade(/^CREATE MACRO pgc\.(\w+)/gm)
const STANDARD_VIEWS = namesMade(/^CREATE VIEW info\.(\w+)/gm)

const REG_TYPES: Readonly<Record<string, { readonly oidOf: string; readonly nameOf: string }>> = {
  regclass: { oidOf: 'pgc.relation_oid', nameOf: 'pgc.regclass_name' },
  regtype: { oidOf: 'pgc.type_oid', nameOf: 'pgc.regtype_name' },
  regnamespace: { oidOf: 'pgc.namespace_oid', nameOf: 'pgc.regnamespace_name' },
  regrole: { oidOf: 'pgc.role_oid', nameOf: 'pgc.pg_get_userbyid' },
}
const FUNCTION_TYPES = new Set(['regoper', 'regoperator', 'regproc', 'regprocedure'])
/** Words that are calls without parentheses. */
const CALLS: Readonly<Record<string, string>> = {
  current_catalog: 'pgc.current_database()',
  current_role: 'pgc."current_user"()',
  current_user: 'pgc."current_user"()',
  session_user: 'pgc."session_user"()',
  user: 'pgc."current_user"()',
}

/** Whether the statement is about the catalog, and not about rows of Eider's. */
export function isCatalogStatement(sql: string): boolean {
  if (!CATALOG_HINT.test(sql)) return false
  const tokens = tokenize(sql)
  const first = tokens[0]?.text.toLowerCase()
  if (!['select', 'with', '(', 'describe'].includes(first ?? '')) return false
  const hasFrom = tokens.some((token) => isWord(token, 'from'))
  return tokens.some((token, index) => {
    const next = tokens[index + 1]
    const name = token.value.toLowerCase()
    const isPlace = token.kind === 'word' || token.kind === 'name'
    if (!isPlace) return false
    if (name === 'pg_catalog') return next?.text === '.' || isCast(tokens[index - 1])
    if (name === 'information_schema') return STANDARD_VIEWS.has(nameAfter(tokens, index))
    if (RELATIONS.has(name)) return isRelationPlace(tokens, index)
    if (isCast(tokens[index - 1])) return REG_TYPES[name] !== undefined || FUNCTION_TYPES.has(name)
    const isCall = next?.text === '(' && FUNCTIONS.has(name)
    return (
      (isCall && (!hasFrom || name.startsWith('pg_'))) ||
      (!hasFrom && name !== 'user' && CALLS[name] !== undefined)
    )
  })
}

/** Words that no other statement contains: most are recognized without parsing. */
const CATALOG_HINT =
  /pg_|information_schema|::\s*reg|version\s*\(|current_|session_user|_privilege|set_config|format_type|description\s*\(|quote_|txid|to_reg|inet_/i

function isWord({ kind, text }: Token, word: string): boolean {
  return kind === 'word' && text.toLowerCase() === word
}

function isCast(token: Token | undefined): boolean {
  return token?.text === '::'
}

function nameAfter(tokens: readonly Token[], index: number): string {
  return tokens[index + 1]?.text === '.' ? (tokens[index + 2]?.value.toLowerCase() ?? '') : ''
}

function isRelationPlace(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text.toLowerCase() ?? ''
  return ['from', 'join', ',', '('].includes(before)
}

/** Where a statement names a catalog relation, or casts a name to the number of one. */
export interface CatalogPlace {
  readonly kind: 'relation' | 'cast'
  /** The relation, or what the cast is over the catalog. */
  readonly name: string
  readonly start: number
  readonly end: number
}

/** Without `information_schema`, which the engine has itself. */
export function catalogPlaces(sql: string): readonly CatalogPlace[] {
  const tokens = tokenize(sql)
  return tokens.flatMap((token, index): readonly CatalogPlace[] => {
    const name = token.value.toLowerCase()
    const isName = token.kind === 'word' || token.kind === 'name'
    const isQualified = tokens[index - 2]?.value.toLowerCase() === 'pg_catalog'
    const first = isQualified ? index - 2 : index
    if (isName && RELATIONS.has(name) && isRelationPlace(tokens, first)) {
      const start = tokens[first]?.start ?? token.start
      return [{ kind: 'relation', name, start, end: token.end }]
    }
    const type = tokens[index + 1 + nameLength(tokens, index + 2)]
    const reg = REG_TYPES[type?.value.toLowerCase() ?? '']
    const isNameCast = token.kind === 'string' && isCast(tokens[index + 1])
    if (!isNameCast || reg === undefined) return []
    const call = `${reg.oidOf}(${literal(token.value)})`
    return [{ kind: 'cast', name: call, start: token.start, end: type?.end ?? token.end }]
  })
}

/**
 * Rewrites the statement for the DuckDB with the catalog: its schema names, `regclass` as look-ups, and `~` as a search
 * within the text, where DuckDB would match the whole.
 */
export function overCatalog(sql: string): string {
  const tokens = tokenize(sql)
  const added = setFunctionParts(tokens)
  let text = ''
  let at = 0
  let index = 0
  const put = (replacement: string, end: number) => {
    text += replacement
    at = end
  }
  while (index < tokens.length) {
    const token = tokens[index]
    if (token === undefined) break
    text += sql.slice(at, token.start) + (added.before.get(index) ?? '')
    at = token.start
    const taken = rewritten({ sql, tokens, index, before: text })
    if (taken === undefined) {
      put(sql.slice(token.start, token.end) + (added.after.get(index) ?? ''), token.end)
      index += 1
      continue
    }
    if (taken.before !== undefined) text = taken.before
    const last = tokens[index + taken.count - 1]
    put(taken.text, last?.end ?? token.end)
    index += taken.count
  }
  return text + sql.slice(at).replace(/;\s*$/, '')
}

/** Functions in FROM, with the text to put around those that are not table functions in DuckDB. */
const SET_FUNCTIONS: Readonly<Record<string, readonly [string, string]>> = {
  generate_series: ['(SELECT unnest(', '))'],
  generate_subscripts: ['', ''],
  string_to_array: ['(SELECT ', ')'],
  unnest: ['', ''],
}
const NO_ALIAS = /^(where|on|join|left|right|inner|cross|full|group|order|union|limit|with|using)$/i

/**
 * Text before and after tokens, by index: a function in FROM becomes a SELECT, because DuckDB's takes no subquery, and its
 * alias also names its column.
 */
function setFunctionParts(tokens: readonly Token[]) {
  const before = new Map<number, string>()
  const after = new Map<number, string>()
  for (const [index, token] of tokens.entries()) {
    const around = SET_FUNCTIONS[token.value.toLowerCase()]
    const first = tokens[index - 1]?.text === '.' ? index - 2 : index
    if (around === undefined || tokens[index + 1]?.text !== '(') continue
    const close = closingOf(tokens, index + 1)
    if (!isInFrom(tokens, first)) {
      if (!isWord(token, 'generate_series')) continue
      before.set(first, 'unnest(')
      after.set(close, ')')
      continue
    }
    before.set(first, around[0])
    after.set(close, around[1])
    const at = isWord(tokens[close + 1] ?? token, 'as') ? close + 2 : close + 1
    const alias = tokens[at]
    const isName = alias?.kind === 'word' || alias?.kind === 'name'
    if (!isName || NO_ALIAS.test(alias.text) || tokens[at + 1]?.text === '(') continue
    after.set(at, `(${alias.text})`)
  }
  return { before, after }
}

function isInFrom(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text ?? ''
  if (/^(from|join|lateral)$/i.test(before)) return true
  if (before !== ',') return false
  let depth = 0
  for (let at = index - 1; at >= 0 && depth >= 0; at -= 1) {
    const text = tokens[at]?.text.toLowerCase() ?? ''
    if (text === ')') depth += 1
    if (text === '(') depth -= 1
    if (depth === 0 && (text === 'from' || text === 'select')) return text === 'from'
  }
  return false
}

function closingOf(tokens: readonly Token[], open: number): number {
  let depth = 0
  for (let at = open; at < tokens.length; at += 1) {
    if (tokens[at]?.text === '(') depth += 1
    if (tokens[at]?.text === ')') depth -= 1
    if (depth === 0) return at
  }
  return tokens.length
}

interface Rewritten {
  readonly text: string
  /** Number of tokens replaced. */
  readonly count: number
  /** The text so far, if that changes too. */
  readonly before?: string
}

interface Place {
  readonly sql: string
  readonly tokens: readonly Token[]
  readonly index: number
  /** The text so far. */
  readonly before: string
}

function rewritten({ sql, tokens, index, before }: Place): Rewritten | undefined {
  const token = tokens[index]
  const next = tokens[index + 1]
  if (token === undefined) return undefined
  const name = token.value.toLowerCase()
  if (token.kind === 'string') return patternAt(sql, tokens, index) ?? arrayAt(tokens, index)
  if (token.text === '0' && isFunctionColumn(tokens[index - 2])) return { text: "'-'", count: 1 }
  if (isWord(token, 'cast') && next?.text === '(') return wordCastAt(sql, tokens, index)
  if (isWord(token, 'operator') && next?.text === '(') return operatorAt(tokens, index)
  if (isWord(token, 'collate')) return { text: '', count: nameLength(tokens, index + 1) + 1 }
  if (token.text === '::') return castAt(tokens, index, before)
  if (token.kind === 'symbol' && MATCHES.has(token.text)) return matchAt(tokens, index, token.text)
  if (token.kind !== 'word' && token.kind !== 'name') return undefined
  if (name === 'pg_catalog' && next?.text === '.') {
    const what = tokens[index + 2]
    const isCall = tokens[index + 3]?.text === '('
    const called = what?.value.toLowerCase() ?? ''
    const other = isCall ? RENAMED[called] : undefined
    if (other !== undefined) return { text: other, count: 3 }
    // A function of DuckDB's own has no schema there, and a type's name is its own.
    const isMade = isCall ? FUNCTIONS.has(called) : RELATIONS.has(called)
    return { text: `${isMade ? 'pgc.' : ''}${what?.text ?? ''}`, count: 3 }
  }
  if (name === 'information_schema' && next?.text === '.') {
    return { text: nameAfter(tokens, index).startsWith('_pg_') ? 'pgc' : 'info', count: 1 }
  }
  const isPart = tokens[index - 1]?.text === '.'
  const hidden = SYSTEM_COLUMNS[name]
  if (isPart && hidden !== undefined) {
    // The name of its relation is written already.
    return { text: hidden, count: 1, before: before.replace(/[\w"]+\.\s*$/, '') }
  }
  // PostgreSQL counts the elements of these from 0.
  if (next?.text === '[' && VECTOR_COLUMNS.has(name)) return { text: `${token.text}[1 +`, count: 2 }
  const renamed = RENAMED[name]
  if (renamed !== undefined && next?.text === '(') return { text: renamed, count: 1 }
  const call = CALLS[name]
  const isAlias = isWord(tokens[index - 1] ?? END_TOKEN, 'as')
  if (call !== undefined && token.kind === 'word' && !isPart && !isAlias && next?.text !== '(') {
    return { text: call, count: 1 }
  }
  return undefined
}

/** DuckDB's names of the same functions. */
const RENAMED: Readonly<Record<string, string>> = {
  json_build_object: 'json_object',
  jsonb_build_object: 'json_object',
  json_agg: 'json_group_array',
  jsonb_agg: 'json_group_array',
  string_to_array: 'string_split',
}

const VECTOR_COLUMNS = new Set(['indclass', 'indcollation', 'indkey', 'indoption', 'proargtypes'])

/** Columns that every relation has and `*` leaves out: clients only compare them. */
const SYSTEM_COLUMNS: Readonly<Record<string, string>> = {
  tableoid: '0',
  xmin: '1',
  xmax: '0',
  ctid: "'(0,1)'",
}

/** Columns with the name of a function, which are 0 in PostgreSQL without one. */
function isFunctionColumn(token: Token | undefined): boolean {
  return /^typ(receive|send|input|output|analyze|modin|modout)$/i.test(token?.value ?? '')
}

/** In PostgreSQL, a backslash in a LIKE pattern escapes the next character. */
function patternAt(sql: string, tokens: readonly Token[], index: number): Rewritten | undefined {
  const { value, start, end } = tokens[index] ?? END_TOKEN
  // `E'…'` is the word E and a text.
  const before = isWord(tokens[index - 1] ?? END_TOKEN, 'e') ? index - 2 : index - 1
  const isPattern = /^i?like$/i.test(tokens[before]?.text ?? '') && value.includes('\\')
  if (!isPattern || isWord(tokens[index + 1] ?? END_TOKEN, 'escape')) return undefined
  return { text: `${sql.slice(start, end)} ESCAPE '\\'`, count: 1 }
}

/** `ANY ('{r,v}')` and `'{r,v}'::text[]` as DuckDB's lists. */
function arrayAt(tokens: readonly Token[], index: number): Rewritten | undefined {
  const { value } = tokens[index] ?? END_TOKEN
  if (!/^\{.*\}$/s.test(value)) return undefined
  const isQuantified = /^(any|all|some)$/i.test(tokens[index - 2]?.text ?? '')
  const castEnd = isCast(tokens[index + 1]) ? index + 1 + nameLength(tokens, index + 2) : index
  const isArray = tokens[castEnd + 1]?.text === '[' && castEnd > index
  if (!isQuantified && !isArray) return undefined
  const elements = arrayElements(value).map((one) => (one === null ? 'NULL' : literal(one)))
  return { text: `[${elements.join(', ')}]`, count: castEnd - index + (isArray ? 3 : 1) }
}

const MATCHES = new Set(['~', '!~', '~*', '!~*'])

function operatorAt(tokens: readonly Token[], index: number): Rewritten | undefined {
  const close = tokens.findIndex(({ text }, at) => at > index && text === ')')
  const sign = tokens.slice(index + 2, close).filter(({ kind }) => kind === 'symbol')
  const operator = sign
    .map(({ text }) => text)
    .filter((text) => text !== '.')
    .join('')
  if (MATCHES.has(operator)) {
    const match = matchAt(tokens, close, operator)
    const count = close - index
    return match === undefined
      ? { text: operator, count: count + 1 }
      : { ...match, count: match.count + count }
  }
  return { text: operator, count: close - index + 1 }
}

/** PostgreSQL searches the pattern within the text. */
function matchAt(tokens: readonly Token[], index: number, sign: string): Rewritten | undefined {
  const pattern = tokens[index + 1]
  const operator = sign.startsWith('!') ? '!~' : '~'
  if (pattern?.kind !== 'string')
    return sign === operator ? undefined : { text: operator, count: 1 }
  const flags = sign.endsWith('*') ? '(?is)' : '(?s)'
  return { text: `${operator} ${literal(`${flags}.*?(?:${pattern.value}).*`)}`, count: 2 }
}

/** How many tokens a name with its schema takes. */
function nameLength(tokens: readonly Token[], index: number): number {
  return tokens[index + 1]?.text === '.' ? 3 : 1
}

function castAt(tokens: readonly Token[], index: number, before: string): Rewritten | undefined {
  const length = nameLength(tokens, index + 1)
  const type = tokens[index + length]?.value.toLowerCase() ?? ''
  const reg = REG_TYPES[type]
  const isArray = tokens[index + length + 1]?.text === '['
  // A list of numbers stays one: DuckDB looks nothing up within a list.
  if (isArray && reg !== undefined) return { text: '', count: length + 3 }
  if (FUNCTION_TYPES.has(type)) return functionCastAt(tokens, index, before)
  if (reg !== undefined) {
    const operand = OPERAND.exec(before)?.[0] ?? ''
    const start = before.slice(0, before.length - operand.length)
    const lookUp = operand.startsWith("'") ? reg.oidOf : reg.nameOf
    // Cast to a number, a name keeps the number it has.
    const after = tokens.slice(index + length + 1, index + length + 4).map(({ value }) => value)
    const isNumberWanted =
      after[0] === '::' && /^(oid|int|int4|int8|bigint)$/i.test(after.at(1) ?? '')
    const isKept = isNumberWanted && !operand.startsWith("'")
    const text = isKept ? operand : `${lookUp}(${operand})`
    return { text, count: length + 1, before: start }
  }
  if (type === 'jsonb') return { text: '::JSON', count: length + 1 }
  if (type === 'char' || type === 'name') return { text: '::VARCHAR', count: length + 1 }
  return length === 3 ? { text: `::${tokens[index + length]?.text ?? ''}`, count: 4 } : undefined
}

/** A function is its name here; cast on to a number, its number in `pg_proc`. */
function functionCastAt(tokens: readonly Token[], index: number, before: string): Rewritten {
  const count = nameLength(tokens, index + 1) + 1
  const operand = OPERAND.exec(before)?.[0] ?? ''
  if (!operand.startsWith("'")) return { text: '::VARCHAR', count }
  const start = before.slice(0, before.length - operand.length)
  const plain = `pgc.function_name(${operand})`
  const isNumberWanted = isCast(tokens[index + count])
  return { text: isNumberWanted ? `pgc.function_oid(${plain})` : plain, count, before: start }
}

/** `CAST(x AS regclass)`, as SQLAlchemy writes it. */
function wordCastAt(sql: string, tokens: readonly Token[], index: number): Rewritten | undefined {
  const close = closingOf(tokens, index + 1)
  const type = tokens[close - 1]
  const as = tokens[close - 2]?.text === '.' ? close - 4 : close - 2
  const reg = REG_TYPES[type?.value.toLowerCase() ?? '']
  if (reg === undefined || !isWord(tokens[as] ?? type ?? END_TOKEN, 'as')) return undefined
  const inner = overCatalog(sql.slice(tokens[index + 2]?.start, tokens[as]?.start))
  const isWithinCast = isWord(tokens[index - 2] ?? END_TOKEN, 'cast')
  const isNumberWanted = isWithinCast && /^oid$/i.test(tokens[close + 2]?.text ?? '')
  const lookUp = inner.trimStart().startsWith("'") || isNumberWanted ? reg.oidOf : reg.nameOf
  return { text: `${lookUp}(${inner})`, count: close - index + 1 }
}

const END_TOKEN: Token = { kind: 'symbol', text: '', value: '', start: 0, end: 0 }

/** A text, a column, a number or a call at the end of the text so far. */
const OPERAND = /(?:'(?:[^']|'')*'|[\w."]+(?:\([^()]*\))?|\((?:[^()]|\([^()]*\))*\))\s*$/

/** Statements that create the catalog's views. */
export const CATALOG_SCRIPT = script
