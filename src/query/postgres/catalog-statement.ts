/** Recognizes queries of PostgreSQL's catalog and rewrites them for `pg-catalog.sql`. */
import { literal } from '../../core/domain/names.ts'
import { closeOf } from '../../sql/lexer/brackets.ts'
import { isName, isWord, type Token, tokenize } from '../../sql/lexer/tokens.ts'
import script from './pg-catalog.sql' with { type: 'text' }

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
/** Keywords that call a function without parentheses. */
const CALLS: Readonly<Record<string, string>> = {
  current_catalog: 'pgc.current_database()',
  current_role: 'pgc."current_user"()',
  current_user: 'pgc."current_user"()',
  session_user: 'pgc."session_user"()',
  user: 'pgc."current_user"()',
}

/** Whether the statement reads only the PostgreSQL catalog, not Eider's data. */
export function isCatalogStatement(sql: string): boolean {
  if (!CATALOG_HINT.test(sql)) return false
  const tokens = tokenize(sql)
  const first = tokens[0]?.text.toLowerCase()
  if (!['select', 'with', '(', 'describe'].includes(first ?? '')) return false
  const hasFrom = tokens.some((token) => isWord(token, 'from'))
  return tokens.some((token, index) => {
    const next = tokens[index + 1]
    const name = token.value.toLowerCase()
    if (!isName(token)) return false
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

/** Words that only such statements contain, so that most others need no parsing. */
const CATALOG_HINT =
  /pg_|information_schema|::\s*reg|version\s*\(|current_|session_user|_privilege|set_config|format_type|description\s*\(|txid|to_reg|inet_/i

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

/** Where a statement names a catalog relation, or casts a name to an OID. */
export interface CatalogPlace {
  readonly kind: 'relation' | 'cast'
  readonly name: string
  readonly start: number
  readonly end: number
}

/** Ignores `information_schema`, which Eider's own engine has. */
export function catalogPlaces(sql: string): readonly CatalogPlace[] {
  const tokens = tokenize(sql)
  return tokens.flatMap((token, index): readonly CatalogPlace[] => {
    const name = token.value.toLowerCase()
    const isQualified = tokens[index - 2]?.value.toLowerCase() === 'pg_catalog'
    const first = isQualified ? index - 2 : index
    if (isName(token) && RELATIONS.has(name) && isRelationPlace(tokens, first)) {
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

/** Replaces schema names, and turns `regclass` casts into look-ups. */
export function overCatalog(sql: string): string {
  const tokens = tokenize(sql)
  let done = ''
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
    text += sql.slice(at, token.start)
    at = token.start
    // Casts search the text so far for their operand, and there may be many.
    if (text.length > OPERAND_CHARS_MAX) {
      done += text.slice(0, -OPERAND_CHARS_MAX / 2)
      text = text.slice(-OPERAND_CHARS_MAX / 2)
    }
    const taken = rewritten({ sql, tokens, index, before: text })
    if (taken === undefined) {
      put(sql.slice(token.start, token.end), token.end)
      index += 1
      continue
    }
    if (taken.before !== undefined) text = taken.before
    const last = tokens[index + taken.count - 1]
    put(taken.text, last?.end ?? token.end)
    index += taken.count
  }
  return done + text + sql.slice(at).replace(/;\s*$/, '')
}

interface Rewritten {
  readonly text: string
  readonly count: number
  /** The text before them, if that changes too. */
  readonly before?: string
}

interface Place {
  readonly sql: string
  readonly tokens: readonly Token[]
  readonly index: number
  readonly before: string
}

function rewritten({ sql, tokens, index, before }: Place): Rewritten | undefined {
  const token = tokens[index]
  const next = tokens[index + 1]
  if (token === undefined) return undefined
  const name = token.value.toLowerCase()
  if (token.text === '0' && isFunctionColumn(tokens[index - 2])) return { text: "'-'", count: 1 }
  if (isWord(token, 'cast') && next?.text === '(') return wordCastAt(sql, tokens, index)
  if (isWord(token, 'collate')) return { text: '', count: nameLength(tokens, index + 1) + 1 }
  if (token.text === '::') return castAt(tokens, index, before)
  if (!isName(token)) return undefined
  if (name === 'pg_catalog' && next?.text === '.') {
    const what = tokens[index + 2]
    const isCall = tokens[index + 3]?.text === '('
    const called = what?.value.toLowerCase() ?? ''
    // DuckDB's own functions and type names have no schema there.
    const isMade = isCall ? FUNCTIONS.has(called) : RELATIONS.has(called)
    return { text: `${isMade ? 'pgc.' : ''}${what?.text ?? ''}`, count: 3 }
  }
  if (name === 'information_schema' && next?.text === '.') {
    return { text: nameAfter(tokens, index).startsWith('_pg_') ? 'pgc' : 'info', count: 1 }
  }
  const isPart = tokens[index - 1]?.text === '.'
  const hidden = SYSTEM_COLUMNS[name]
  if (isPart && hidden !== undefined) {
    // The relation's name was already written, so remove it.
    return { text: hidden, count: 1, before: before.replace(/[\w"]+\.\s*$/, '') }
  }
  // PostgreSQL numbers the elements of these vectors from 0, DuckDB from 1.
  if (next?.text === '[' && VECTOR_COLUMNS.has(name)) return { text: `${token.text}[1 +`, count: 2 }
  const call = CALLS[name]
  const isAlias = isWord(tokens[index - 1], 'as')
  if (call !== undefined && token.kind === 'word' && !isPart && !isAlias && next?.text !== '(') {
    return { text: call, count: 1 }
  }
  return undefined
}

const VECTOR_COLUMNS = new Set(['indclass', 'indcollation', 'indkey', 'indoption', 'proargtypes'])

/** System columns, which every relation has but `*` leaves out. Clients only compare them. */
const SYSTEM_COLUMNS: Readonly<Record<string, string>> = {
  tableoid: '0',
  xmin: '1',
  xmax: '0',
  ctid: "'(0,1)'",
}

/** Whether the column refers to a function. In PostgreSQL, such a column is 0 if there is none. */
function isFunctionColumn(token: Token | undefined): boolean {
  return /^typ(receive|send|input|output|analyze|modin|modout)$/i.test(token?.value ?? '')
}

function nameLength(tokens: readonly Token[], index: number): number {
  return tokens[index + 1]?.text === '.' ? 3 : 1
}

function castAt(tokens: readonly Token[], index: number, before: string): Rewritten | undefined {
  const length = nameLength(tokens, index + 1)
  const type = tokens[index + length]?.value.toLowerCase() ?? ''
  const reg = REG_TYPES[type]
  const isArray = tokens[index + length + 1]?.text === '['
  // Leave a list of names unchanged, because DuckDB cannot look up names inside a list.
  if (isArray && reg !== undefined) return { text: '', count: length + 3 }
  if (FUNCTION_TYPES.has(type)) return functionCastAt(tokens, index, before)
  if (reg !== undefined) {
    const operand = OPERAND.exec(before)?.[0] ?? ''
    const start = before.slice(0, before.length - operand.length)
    const lookUp = operand.startsWith("'") ? reg.oidOf : reg.nameOf
    // If the result is cast to a number, it must stay an OID.
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

/**
 * A function's name stays as it is, or becomes its OID in `pg_proc` if that is cast to a number.
 */
function functionCastAt(tokens: readonly Token[], index: number, before: string): Rewritten {
  const count = nameLength(tokens, index + 1) + 1
  const operand = OPERAND.exec(before)?.[0] ?? ''
  if (!operand.startsWith("'")) return { text: '::VARCHAR', count }
  const start = before.slice(0, before.length - operand.length)
  const plain = `pgc.function_name(${operand})`
  const isNumberWanted = isCast(tokens[index + count])
  return { text: isNumberWanted ? `pgc.function_oid(${plain})` : plain, count, before: start }
}

/** Handles `CAST(x AS regclass)`, as SQLAlchemy writes it. */
function wordCastAt(sql: string, tokens: readonly Token[], index: number): Rewritten | undefined {
  const end = closeOf(tokens, index + 1)
  const close = end === -1 ? tokens.length : end
  const type = tokens[close - 1]
  const as = tokens[close - 2]?.text === '.' ? close - 4 : close - 2
  const reg = REG_TYPES[type?.value.toLowerCase() ?? '']
  if (reg === undefined || !isWord(tokens[as], 'as')) return undefined
  const inner = overCatalog(sql.slice(tokens[index + 2]?.start, tokens[as]?.start))
  const isWithinCast = isWord(tokens[index - 2], 'cast')
  const isNumberWanted = isWithinCast && /^oid$/i.test(tokens[close + 2]?.text ?? '')
  const lookUp = inner.trimStart().startsWith("'") || isNumberWanted ? reg.oidOf : reg.nameOf
  return { text: `${lookUp}(${inner})`, count: close - index + 1 }
}

const OPERAND_CHARS_MAX = 1_000

/** Matches a string, a column, a number or a call at the end of the text so far. */
const OPERAND = /(?:'(?:[^']|'')*'|[\w."]+(?:\([^()]*\))?|\((?:[^()]|\([^()]*\))*\))\s*$/

export const CATALOG_SCRIPT = script
