/** Runs INSERT, UPDATE, DELETE and TRUNCATE on a project table. */
import { findIn } from '../../core/domain/access/catalog-snapshot.ts'
import {
  nameKey,
  type Project,
  type ProjectTable,
  quote,
  rowIdentity,
} from '../../core/domain/names.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { RowWrite } from '../../core/domain/ports/store-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { Assignment, ConflictAction, RowStatement } from '../../sql/dialect/parse-rows.ts'
import type { StatementOf } from '../../sql/dialect/parse-statement.ts'
import { isName, spliced, tokenize } from '../../sql/lexer/tokens.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'
import { withBoundSelect } from '../select/run-select.ts'
import type { Outcome, StatementRequest } from '../select/statement-request.ts'
import { composing, enclosed } from '../select/views.ts'
import {
  guardedExpression,
  guardedList,
  isDefault,
  literalRows,
  valuesWithDefaults,
} from './assignments.ts'

/** A statement about an existing table. Nothing else writes to the table while it runs. */
interface TableRequest<S extends RowStatement> extends StatementRequest<S> {
  readonly table: ProjectTable
}

/** `affected_rows` counts rows. With RETURNING, the result has these rows. */
export async function changeTableRows(
  { project, ...request }: StatementRequest<RowStatement> & { readonly project: Project },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { statement } = request
  const key = { projectId: project.id, name: statement.table.name }
  return deps.tables.whileLocked(key, runLimits(deps), signal, async (waitedMs) => {
    const own = { ...deps, spentMs: (deps.spentMs ?? 0) + waitedMs }
    const table = findIn(deps.catalog.snapshot().tables, project, key.name)
    if (table === undefined) throw notFound('table', key.name)
    switch (statement.kind) {
      case 'insert':
        return insertRows({ ...request, statement, table }, own, signal)
      case 'update':
        return updateRows({ ...request, statement, table }, own, signal)
      case 'delete':
        return deleteRows({ ...request, statement, table }, own, signal)
      case 'truncate':
        return { affectedRows: await deps.tables.truncateTable(table) }
    }
  })
}

/** Longer values are read before other writes have to wait. */
const CONSTANT_CHARS_MAX = 10_000

async function write(
  given: Omit<RowWrite, 'select' | 'isConstant' | 'returning'> & {
    readonly sql: string
    readonly returning: string | null
  },
  { db, params }: StatementRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { sql, returning, ...change } = given
  const { table, alias } = change
  const scope = { db, params, from: aliased(table, alias) }
  const list = () => guardedList(returning ?? '', scope, deps, signal)
  const returned = returning === null ? null : unqualified(await composing(list), alias)
  const store = (select: BoundSql, isConstant = false) => {
    const whole = { ...change, select, isConstant, returning: returned }
    return deps.tables.writeRows(whole, runLimits(deps), signal)
  }
  const request = { sql, database: db, params }
  const literal = change.kind === 'insert' ? literalRows(sql, params) : null
  const { rowCount, returned: rows } =
    literal === null
      ? await withBoundSelect(request, deps, signal, ({ statement }) => store(statement))
      : await store({ sql: literal, values: {} }, literal.length <= CONSTANT_CHARS_MAX)
  return rows === null ? { affectedRows: rowCount } : { rows }
}

/** In DuckDB 1.5.5 an INSERT without ON CONFLICT allows no alias in RETURNING. */
function unqualified(list: string, alias: string): string {
  const tokens = tokenize(list)
  const qualifiers = tokens.flatMap((token, index) => {
    const [before, dot, next] = [tokens[index - 1], tokens[index + 1], tokens[index + 2]]
    const isAlias = isName(token) && nameKey(token.value) === nameKey(alias) && dot?.text === '.'
    if (!isAlias || before?.text === '.' || next === undefined) return []
    return { start: token.start, end: next.start, text: '' }
  })
  return spliced(list, qualifiers)
}

function aliased({ projectName, name }: ProjectTable, alias: string): string {
  return `${quote(projectName)}.${quote(name)} AS ${quote(alias)}`
}

async function insertRows(
  request: TableRequest<StatementOf<'insert'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { statement, table } = request
  const { columns: named, source, options, ofTable } = statement
  if (Object.keys(options).length > 0) {
    const message = `${table.name} is a table: only an INSERT into a knowledge base has options`
    throw new AppError('sql_not_supported', message)
  }
  const columns =
    named === null
      ? table.columns.map(({ name }) => name)
      : named.map((name) => columnOf(table, name))
  refuseRepeated(columns)
  const alias = ofTable?.alias ?? table.name
  const conflict = await conflictOf(ofTable?.conflict ?? null, { ...request, alias }, deps, signal)
  const defaults = /\bdefault\b/i.test(source)
    ? await deps.tables.defaultsOf(table)
    : new Map<string, string>()
  const { instead = null, returning = null } = ofTable ?? {}
  const sql = valuesWithDefaults(source, columns, defaults)
  const change = { kind: 'insert' as const, table, alias, columns, instead, conflict, returning }
  return write({ ...change, sql }, request, deps, signal)
}

/** Returns the SQL after ON CONFLICT. */
async function conflictOf(
  action: ConflictAction | null,
  { table, alias, db, params }: TableRequest<StatementOf<'insert'>> & { readonly alias: string },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string | null> {
  if (action === null) return null
  const { columns, update } = action
  const key = columns?.map((name) => quote(columnOf(table, name))) ?? []
  const target = columns === null ? '' : `(${key.join(', ')}) `
  if (update === null) return `${target}DO NOTHING`
  const from = `${aliased(table, alias)}, (SELECT 1) AS excluded`
  const expression = (sql: string) => {
    return composing(() => guardedExpression(sql, { db, params, from }, deps, signal))
  }
  const sets: string[] = []
  const { assignments, where } = update
  for (const { column, value } of assigned(assignments, table, alias)) {
    sets.push(`${quote(column)} = ${await expression(value)}`)
  }
  const only = where === null ? '' : ` WHERE ${await expression(where)}`
  return `${target}DO UPDATE SET ${sets.join(', ')}${only}`
}

async function updateRows(
  request: TableRequest<StatementOf<'update'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { statement, table } = request
  const alias = statement.alias ?? table.name
  const sets = assigned(statement.assignments, table, alias)
  const hasDefaults = sets.some(({ value }) => isDefault(value))
  const defaults = hasDefaults ? await deps.tables.defaultsOf(table) : new Map<string, string>()
  const columns = sets.map(({ column }) => column)
  const values = sets.map(({ column, value }) => {
    const sql = isDefault(value) ? (defaults.get(column) ?? 'NULL') : value
    return `${enclosed(sql)} AS ${quote(column)}`
  })
  const sql = rowsSql(request, alias, values)
  const { returning } = statement
  const change = { kind: 'update' as const, table, alias, columns, returning, sql }
  return composing(() => write(change, request, deps, signal))
}

async function deleteRows(
  request: TableRequest<StatementOf<'delete'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { statement, table } = request
  const { where, from, returning } = statement
  if (where === null && from === null && returning === null) {
    return { affectedRows: await deps.tables.truncateTable(table) }
  }
  const alias = statement.alias ?? table.name
  const sql = rowsSql(request, alias, [])
  const change = { kind: 'delete' as const, table, alias, columns: [], returning, sql }
  return composing(() => write(change, request, deps, signal))
}

function rowsSql(
  { statement, table }: TableRequest<StatementOf<'update' | 'delete'>>,
  alias: string,
  values: readonly string[],
): string {
  if (table.columns.some(({ name }) => nameKey(name) === 'rowid')) {
    const message = `${table.name} has a column rowid, so its rows can be inserted and not changed`
    throw new AppError('sql_not_supported', `${message}; rename the column`)
  }
  const list = [rowIdentity(alias, table), ...values].join(', ')
  const from = [aliased(table, alias), ...(statement.from === null ? [] : [statement.from])]
  const condition = statement.where === null ? '' : `\nWHERE ${enclosed(statement.where)}`
  return `SELECT ${list} FROM ${from.join(', ')}${condition}`
}

/** @throws AppError `sql_unknown_name`, `sql_not_supported` */
function assigned(
  assignments: readonly Assignment[],
  table: ProjectTable,
  alias: string,
): readonly { readonly column: string; readonly value: string }[] {
  const sets = assignments.map(({ column: [first = '', ...rest], value }) => {
    const isQualified = rest.length === 1 && nameKey(first) === nameKey(alias)
    if (rest.length > 0 && !isQualified) {
      const message = `Only whole columns of ${table.name} can be set, not ${[first, ...rest].join('.')}`
      throw new AppError('sql_not_supported', message)
    }
    return { column: columnOf(table, rest[0] ?? first), value }
  })
  refuseRepeated(sets.map(({ column }) => column))
  return sets
}

/** Returns the name as spelled in the table. @throws AppError `sql_unknown_name` */
function columnOf({ name: table, columns }: ProjectTable, name: string): string {
  const found = columns.find((column) => nameKey(column.name) === nameKey(name))
  if (found !== undefined) return found.name
  const has = columns.map((column) => column.name).join(', ')
  throw new AppError('sql_unknown_name', `Table ${table} has no column ${name}; it has ${has}`)
}

/** @throws AppError `sql_not_supported` for a column that appears twice */
function refuseRepeated(columns: readonly string[]): void {
  const repeated = columns.find((name, index) => columns.indexOf(name) !== index)
  if (repeated === undefined) return
  throw new AppError('sql_not_supported', `Column ${repeated} is named twice; name it once`)
}
