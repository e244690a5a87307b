import { findIn, requireProject } from '../../core/domain/access/catalog-snapshot.ts'
import { checkedName, FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { NewTable } from '../../core/domain/ports/store-ports.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { rowsJson, unnestSql } from '../information-schema/schema-table.ts'
import type { QueryDeps } from '../select/query-deps.ts'

/** Rows in memory, with the DuckDB type of each column. */
export interface EvaluationTable {
  readonly types: Readonly<Record<string, string>>
  readonly rows: readonly Readonly<Record<string, ResultValue>>[]
}

/** A SELECT of the rows, which are bound as one JSON text. */
export function selectOfRows({ types, rows }: EvaluationTable): BoundSql {
  const columns = Object.entries(types).map(([name, type]) => ({ name, type }))
  const sql = unnestSql(columns, '$eider_rows::VARCHAR')
  return { sql, values: { eider_rows: rowsJson(rows) } }
}

/** A SELECT over these rows, which are named `answers`. */
export function selectOver(table: EvaluationTable, select: string): BoundSql {
  const { sql, values } = selectOfRows(table)
  return { sql: `WITH answers AS MATERIALIZED (${sql}) ${select}`, values }
}

export type TableTarget = Omit<NewTable, 'select'>

/**
 * Finds the project table to write to, or checks that its name is free.
 * @param written as in the statement @param option its name, for messages
 * @throws AppError `project_not_found`, `invalid_name`, `relation_exists`, `invalid_request` for a
 * file
 */
export function tableTarget(
  written: string | QualifiedName,
  option: string,
  db: string,
  deps: QueryDeps,
): TableTarget {
  const named = typeof written === 'string' ? tableName(written, option) : written
  const { project: projectName, name } = named
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
  columns: readonly string[],
  deps: QueryDeps,
): void {
  const table = deps.catalog.snapshot().tables.find(({ projectId, name }) => {
    return projectId === target.projectId && nameKey(name) === nameKey(target.name)
  })
  if (table === undefined) return
  const known = new Set(table.columns.map(({ name }) => nameKey(name)))
  const missing = columns.filter((name) => !known.has(nameKey(name)))
  if (missing.length === 0) return
  const names = missing.join(', ')
  const has = table.columns.map(({ name }) => name).join(', ')
  const message = `save_to: the table ${table.name} has no column ${names}; it has ${has}`
  throw new AppError('invalid_request', message)
}

/** Whether the text is a SELECT, possibly in parentheses, and not a table name. */
export function isSelect(written: string): boolean {
  return /^(?:\(|(?:select|with|from|values)[\s(])/i.test(written)
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
