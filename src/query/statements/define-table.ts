/** `CREATE TABLE t (…)` and `ALTER TABLE`: each type and expression is checked as a part of a SELECT. */
import { nameKey, quote } from '../../core/domain/identifier.ts'
import type { ProjectTable } from '../../core/domain/project.ts'
import { AppError } from '../../core/errors.ts'
import type {
  ColumnDefinition,
  TableChange,
  TableDefinition,
} from '../../sql/dialect/table-definition.ts'
import { storedExpression } from '../rows/guarded-expressions.ts'
import { composing } from '../select/composed-select.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { StatementRequest } from '../select/statement-request.ts'
import { describeSelect } from '../select/views.ts'

type Place = Pick<StatementRequest, 'db' | 'params'>

/** DuckDB's SQL for the columns and constraints, in parentheses. @throws AppError those of the planner */
export async function tableSql(
  { columns, keys, checks }: TableDefinition,
  place: Place,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string> {
  const parts = [
    ...(await columnsSql(columns, place, deps, signal)),
    ...keys.map((key) => `${key.kind} (${key.columns.map(quote).join(', ')})`),
  ]
  for (const check of checks) {
    const scope = { ...place, from: '(SELECT 1) AS checked' }
    const sql = await composing(() => storedExpression(check, scope, deps, signal))
    parts.push(`CHECK (${sql})`)
  }
  return `(${parts.join(', ')})`
}

interface ColumnChange {
  readonly change: Exclude<TableChange, { kind: 'rename' }>
  readonly table: ProjectTable
}

/** What follows `ALTER TABLE name`; null: it is so already. @throws AppError those of the planner */
export async function changeSql(
  { change, table }: ColumnChange,
  place: Place,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string | null> {
  const has = (name: string) => table.columns.some((own) => nameKey(own.name) === nameKey(name))
  if (change.kind === 'drop') {
    if (change.ifExists && !has(change.column)) return null
    return `DROP COLUMN ${quote(change.column)}`
  }
  if (change.kind === 'rename_column') {
    refuseRowId(change.to)
    return `RENAME COLUMN ${quote(change.column)} TO ${quote(change.to)}`
  }
  if (change.ifNotExists && has(change.column.name)) return null
  const [column] = await columnsSql([change.column], place, deps, signal)
  return `ADD COLUMN ${column}`
}

async function columnsSql(
  columns: readonly ColumnDefinition[],
  { db, params }: Place,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const nulls = columns.map(({ type, name }) => `CAST(NULL AS ${type}) AS ${quote(name)}`)
  const typed = { sql: `SELECT ${nulls.join(', ')}`, database: db }
  const described = await composing(() => describeSelect(typed, deps, signal))
  const list: string[] = []
  for (const [index, { name, key, isNotNull, default: value }] of columns.entries()) {
    refuseRowId(name)
    const parts = [quote(name), described[index]?.type, ...(isNotNull ? ['NOT NULL'] : [])]
    if (value !== null) {
      const scope = { db, params, from: null }
      const sql = await composing(() => storedExpression(value, scope, deps, signal))
      parts.push(`DEFAULT (${sql})`)
    }
    if (key !== null) parts.push(key)
    list.push(parts.join(' '))
  }
  return list
}

/** DuckDB's own name for the place of a row, by which an UPDATE finds it. @throws AppError `invalid_name` */
function refuseRowId(name: string): void {
  if (nameKey(name) !== 'rowid') return
  throw new AppError('invalid_name', 'A column cannot be called rowid: choose another name')
}
