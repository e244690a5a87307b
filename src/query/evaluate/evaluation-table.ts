import { findIn, requireProject } from '../../core/domain/access/catalog-snapshot.ts'
import { checkedName, FILES_DATABASE, nameKey, quote } from '../../core/domain/names.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { NewTable } from '../../core/domain/ports/store-ports.ts'
import type { ResultColumn, ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import type { QueryDeps } from '../select/query-deps.ts'

/** Rows in memory with DuckDB types, to return and to store. */
export interface EvaluationTable {
  readonly columns: readonly ResultColumn[]
  readonly rows: readonly (readonly ResultValue[])[]
}

/** With a column per entry of `types`. @param types DuckDB types by column name */
export function evaluationTable<Name extends string>(
  types: Readonly<Record<Name, string>>,
  rows: readonly Readonly<Record<Name, ResultValue>>[],
): EvaluationTable {
  const columns = Object.entries<string>(types).map(([name, type]) => ({ name, type }))
  const values = rows.map((row) => {
    const byName = new Map<string, ResultValue>(Object.entries(row))
    return columns.map(({ name }) => byName.get(name) ?? null)
  })
  return { columns, rows: values }
}

/** For each column, its DuckDB type name and a function that gives a row's value. */
export type Columns<Row> = Readonly<
  Record<string, readonly [type: string, value: (row: Row) => ResultValue]>
>

export function tableOf<Row>(columns: Columns<Row>, rows: readonly Row[]): EvaluationTable {
  const entries = Object.entries(columns)
  return {
    columns: entries.map(([name, [type]]) => ({ name, type })),
    rows: rows.map((row) => entries.map(([, [, value]]) => value(row))),
  }
}

export function rowStreamOf({ columns, rows }: EvaluationTable): RowStream {
  async function* batches() {
    if (rows.length > 0) yield rows
  }
  return { columns, batches: batches() }
}

export type TableTarget = Omit<NewTable, 'select'>

/**
 * Finds the project table to write to, or checks that its name is free.
 * @param option the option's name, for messages
 * @throws AppError `project_not_found`, `invalid_name`, `relation_exists`, `invalid_request` for a
 * file
 */
export function tableTarget(
  { project: projectName, name }: QualifiedName,
  option: string,
  db: string,
  deps: QueryDeps,
): TableTarget {
  if ((projectName ?? db).toLowerCase() === FILES_DATABASE) {
    const message = `${option} is written and must be a table of a project; files are uploaded`
    throw new AppError('invalid_request', message)
  }
  const snapshot = deps.catalog.snapshot()
  const project = requireProject(snapshot, projectName ?? db)
  checkedName('table', name)
  const { knowledgeBases, views, agents } = snapshot
  const isOther = findIn([...knowledgeBases, ...views, ...agents], project, name) !== undefined
  if (isOther) {
    const message = `${option}: ${project.name}.${name} is there already and is not a table`
    throw new AppError('relation_exists', message)
  }
  const stored = findIn(snapshot.tables, project, name)
  return { projectId: project.id, name: stored?.name ?? name }
}

/** Fails early. @throws AppError `invalid_request` */
export function checkTargetColumns(
  target: TableTarget,
  columns: readonly ResultColumn[],
  deps: QueryDeps,
): void {
  const table = deps.catalog.snapshot().tables.find(({ projectId, name }) => {
    return projectId === target.projectId && nameKey(name) === nameKey(target.name)
  })
  if (table === undefined) return
  const known = new Set(table.columns.map(({ name }) => nameKey(name)))
  const missing = columns.filter(({ name }) => !known.has(nameKey(name)))
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(', ')
  const has = table.columns.map(({ name }) => name).join(', ')
  const message = `save_to: the table ${table.name} has no column ${names}; it has ${has}`
  throw new AppError('invalid_request', message)
}

export function selectOfRows({ columns, rows }: EvaluationTable): BoundSql {
  const list = columns.map(({ name, type }, index) => {
    return `unnest($column_${index}::${type}[]) AS ${quote(name)}`
  })
  const values = columns.map((_, index) => {
    return [`column_${index}`, rows.map((row) => scalar(row[index]))] as const
  })
  return { sql: `SELECT ${list.join(', ')}`, values: Object.fromEntries(values) }
}

function scalar(value: ResultValue | undefined): string | number | boolean | null {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : value
}

const NAME_PART = '(?:`([^`]+)`|"([^"]+)"|([^.`"]+))'
const TABLE_NAME = new RegExp(`^(?:${NAME_PART}\\.)?${NAME_PART}$`)

/** A quoted name may contain any character. @param option its name, for messages */
export function tableName(text: string, option: string): QualifiedName {
  const found = TABLE_NAME.exec(text)
  const [first, second] = [found?.slice(1, 4), found?.slice(4, 7)].map((parts) => {
    return parts?.find((part) => part !== undefined)?.trim()
  })
  if (second !== undefined && second !== '' && first !== '') {
    return { project: first ?? null, name: second }
  }
  const message = `Option "${option}" must name a table, as in project.table; it is '${text}'`
  throw new AppError('invalid_request', message)
}
