import { requireDatabase } from '../../core/domain/access/catalog-snapshot.ts'
import { mayDo, type Principal, requireScope, sees } from '../../core/domain/access/principal.ts'
import { DEFAULT_PROJECT, nameKey } from '../../core/domain/names.ts'
import type { ExportedRows } from '../../core/domain/ports/engine-ports.ts'
import type { QueryResult, RowEncoding } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { lineAndColumn, variableOf } from '../../core/text/shown-statement.ts'
import { parseStatement, QUERY_WORDS, type Statement } from '../../sql/dialect/parse-statement.ts'
import { type SelectWithOptions, takeUsingOptions } from '../../sql/dialect/source-select.ts'
import { checkStatementSize } from '../../sql/guard/statement-limits.ts'
import type { StringEscapes } from '../../sql/lexer/string-escapes.ts'
import { type Token, tokenize, withoutClosingSemicolons } from '../../sql/lexer/tokens.ts'
import { nativeNamed } from '../select/name-scope.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'
import {
  type Parameters,
  runSelect,
  type SelectRequest,
  withBoundSelect,
} from '../select/run-select.ts'
import { inWhole } from '../select/statement-errors.ts'
import { changeOf, type StatementChange } from '../select/statement-request.ts'
import type { SessionName } from '../sessions.ts'
import { runStatement } from './run-statement.ts'
import { requireScopesOf } from './statement-scopes.ts'

export interface QueryRequest {
  readonly sql: string
  /** The request's `context.db`: a project or `files`. */
  readonly db: string
  readonly params: Parameters
  /**
   * The session whose `@variables` the statement uses. Without one, they last for this statement.
   */
  readonly session?: SessionName | null
  /** Called before the statement runs, with what it changes. */
  readonly onChange?: (change: StatementChange) => void
  /** For formats that keep types which JSON would lose. The result then has `encoded`. */
  readonly encoding?: RowEncoding
  /** Requests `exactBatches`, where the rows have them. */
  readonly isExact?: boolean
  /**
   * Whether the statement comes from a link, which anyone may have written. It may then only read.
   */
  readonly isLink?: boolean
}

/** Only session variables outlive it. @throws AppError for every failure */
export async function runQuery(
  sent: QueryRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const request = inOwnDatabase(sent, deps)
  const { db, params, encoding } = request
  const { statement, select, cut } = parseRequest(request, deps)
  const change = statement === undefined ? undefined : changeOf(statement, db)
  if (change !== undefined) request.onChange?.(change)
  requireScopes(statement, deps.author)
  const own = request.isLink === true ? forLink(statement, deps) : deps
  if (statement !== undefined) {
    const result = await runStatement({ statement, db, params }, own, signal).catch((error) => {
      throw inWhole(error, request.sql)
    })
    return withEncoding(result, encoding, deps)
  }
  const shown = {
    ...select,
    database: db,
    params,
    isShown: encoding === undefined && request.isExact !== true,
  }
  const rows = await runSelect(cut === undefined ? shown : { ...shown, cut }, own, signal)
  return withEncoding({ kind: 'table', rows, context: { db } }, encoding, deps)
}

/** For rows not from the engine: few, with types that follow from their values. */
function withEncoding(
  result: QueryResult,
  encoding: RowEncoding | undefined,
  { engine }: QueryDeps,
): QueryResult {
  if (encoding === undefined || result.kind !== 'table') return result
  const { rows } = result
  return { ...result, rows: rows.encoded === undefined ? engine.withEncoding(rows) : rows }
}

/** Statements other than SELECT that only read. */
const READING: ReadonlySet<Statement['kind']> = new Set([
  'show',
  'show_create',
  'show_indexes',
  'describe',
  'describe_agent',
  'describe_database',
  'describe_knowledge_base',
  'explain',
])

/** @throws AppError `sql_not_a_query`, here or before an agent is asked */
function forLink(statement: Statement | undefined, deps: QueryDeps): QueryDeps {
  const post = 'send it as POST /api/sql/query, without read_only'
  if (statement !== undefined && !READING.has(statement.kind)) {
    const allowed = 'GET runs one SELECT, SHOW, DESCRIBE or EXPLAIN'
    throw new AppError('sql_not_a_query', `${allowed}; ${post}`)
  }
  const ask = async (): Promise<never> => {
    const message =
      'A statement in a link cannot ask an agent, because opening the link would cost money'
    throw new AppError('sql_not_a_query', `${message}; ${post}`)
  }
  return { ...deps, agents: { ...deps.agents, ask } }
}

/** Runs a SELECT and writes its rows to a Parquet file. @throws AppError like running it */
export async function exportRows(
  sent: QueryRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<ExportedRows> {
  const request = inOwnDatabase(sent, deps)
  const { statement, select } = parseRequest(request, deps)
  const own = request.isLink === true ? forLink(statement, deps) : deps
  if (statement !== undefined) {
    throw new AppError('sql_not_supported', 'Only the rows of a SELECT can be answered as Parquet')
  }
  requireScopes(statement, deps.author)
  const { db: database, params } = request
  return withBoundSelect({ ...select, database, params }, own, signal, (bound) => {
    return deps.engine.exportParquet(bound.statement, runLimits(deps), signal)
  })
}

/** Checks that a statement to be run later can be parsed. @throws AppError like running it */
export function checkStatement(request: QueryRequest, deps: QueryDeps): void {
  const { select } = parseRequest(request, deps)
  const [first] = select === undefined ? [] : tokenize(select.sql)
  if (first?.kind !== 'word' || QUERY_WORDS.has(first.text.toLowerCase())) return
  const message = `No statement begins with "${first.text.slice(0, 40)}"`
  throw new AppError('sql_syntax', message)
}

/** What a SELECT reads is checked when its names are resolved. @throws AppError `forbidden` */
function requireScopes(statement: Statement | undefined, author: Principal | undefined): void {
  if (author === undefined) return
  if (statement !== undefined) requireScopesOf(statement, author)
  const isSelect = statement === undefined || statement.kind === 'explain'
  if (isSelect && !mayDo(author, 'ask')) requireScope(author, 'read')
}

/** The default one, or the first that they may use. */
function inOwnDatabase(request: QueryRequest, { rights }: QueryDeps): QueryRequest {
  const [first] = rights?.namespaces ?? []
  const isDefault = nameKey(request.db) === DEFAULT_PROJECT && !sees(rights, request.db)
  return isDefault && first !== undefined ? { ...request, db: first } : request
}

type ParsedRequest = (
  | { readonly statement: Statement; readonly select?: undefined }
  | { readonly statement?: undefined; readonly select: SelectWithOptions }
) &
  Pick<SelectRequest, 'cut'>

/** @throws AppError `project_not_found` if `db` does not exist; errors of the parser */
function parseRequest({ sql: sent, db, params }: QueryRequest, deps: QueryDeps): ParsedRequest {
  checkStatementSize(sent, deps.statementBytesMax)
  const snapshot = deps.catalog.snapshot()
  requireDatabase(snapshot, db)
  const named = nativeNamed(sent, snapshot)
  const isList = (name: string): boolean => {
    const variable = variableOf(name)
    if (variable?.kind === 'user') return Array.isArray(deps.variables.get(variable.name))
    return Object.hasOwn(params, name) && Array.isArray(params[name])
  }
  const parse = (escapes: StringEscapes): ParsedRequest => {
    const read = tokenize(named, escapes)
    const sql = listsOpened(named, read, isList)
    const tokens = sql === named ? read : tokenize(sql, escapes)
    const statement = parseStatement(sql, tokens)
    const cut = escapes === 'standard' ? { cut: { sql, tokens } } : {}
    if (statement !== undefined) return { statement, ...cut }
    return { select: takeUsingOptions(sql, withoutClosingSemicolons(tokens)), ...cut }
  }
  try {
    return parse('standard')
  } catch (error) {
    // A statement with backslash escapes may not tokenize in the standard way.
    if (!named.includes("\\'") && !named.includes('\\"')) throw error
    return parse('backslash')
  }
}

/**
 * Rewrites `id IN (:ids)` for a list to `id IN :ids`. DuckDB would compare with the list as one
 * text, which never matches. Parentheses become spaces, so that error positions stay right.
 * @param isList whether the parameter of that name is a list
 * @throws AppError `sql_not_supported` for a list next to other values
 */
function listsOpened(
  sql: string,
  tokens: readonly Token[],
  isList: (name: string) => boolean,
): string {
  let text = sql
  tokens.forEach((token, index) => {
    if (token.kind !== 'word' || token.value.toLowerCase() !== 'in') return
    const open = tokens[index + 1]
    // In a search, each text or vector stays a separate parameter.
    if (open?.text !== '(' || isSearch(tokens, index)) return
    const items = listItems(tokens, index + 2)
    const list = items?.find(({ kind, value }) => kind === 'parameter' && isList(value))
    if (items === undefined || list === undefined) return
    const close = tokens[index + 3]
    if (items.length > 1 || close === undefined) throw listAmongValues(sql, list)
    text = blanked(blanked(text, open.start), close.start)
  })
  return text
}

/** Returns the single tokens between commas; undefined if the parentheses contain anything else. */
function listItems(tokens: readonly Token[], first: number): readonly Token[] | undefined {
  const items: Token[] = []
  for (let index = first; ; index += 2) {
    const [item, next] = [tokens[index], tokens[index + 1]]
    if (item === undefined || next === undefined) return undefined
    items.push(item)
    if (next.text === ')') return items
    if (next.text !== ',') return undefined
  }
}

export function isSearch(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]
  const column = before?.value.toLowerCase() === 'not' ? tokens[index - 2] : before
  return column?.value.toLowerCase() === 'content'
}

function blanked(text: string, at: number): string {
  return `${text.slice(0, at)} ${text.slice(at + 1)}`
}

function listAmongValues(sql: string, { text, start }: Token): AppError {
  const message = `${lineAndColumn(sql, start)}: ${text} is a list and must be the only value: IN ${text}`
  return new AppError('sql_not_supported', message)
}
