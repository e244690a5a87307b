/**
 * Presents the catalog as tables, for clients and editors that read it through SQL. Secrets are
 * masked.
 */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { literal, type Project, quote } from '../../core/domain/names.ts'
import { SYSTEM_VARIABLES, shownVariable } from '../sessions.ts'
import { OBJECT_ROWS } from './object-tables.ts'
import { columnFactsSql, RELATION_ROWS, relationRows, tablesSql } from './relation-tables.ts'
import {
  askedCondition,
  DEFINITIONS,
  type Definition,
  liveRowsSql,
  rowsSql,
  type SchemaRow,
  type SchemaSource,
  type SchemaTable,
  settledCondition,
} from './schema-table.ts'

export const INFORMATION_SCHEMA = 'information_schema'

/** Tables whose rows come from `LiveTables`. */
const LIVE: ReadonlySet<string> = new Set(['JOBS', 'JOBS_HISTORY', 'SOURCES'])

/** For each table with a project column, its name. Such tables also exist in each project. */
const PROJECT_COLUMNS: Readonly<Record<string, string>> = {
  TABLES: 'TABLE_SCHEMA',
  COLUMNS: 'TABLE_SCHEMA',
  TABLE_CONSTRAINTS: 'TABLE_SCHEMA',
  KEY_COLUMN_USAGE: 'TABLE_SCHEMA',
}

const TABLES: readonly SchemaTable[] = [...DEFINITIONS].map(([name, definition]) => {
  const isOfProject = definition.select === undefined && hasColumn(definition, 'PROJECT')
  return {
    name,
    columns: definition.columns,
    projectColumn: PROJECT_COLUMNS[name] ?? (isOfProject ? 'PROJECT' : null),
    sql: sqlOf(name, definition),
  }
})

function hasColumn({ columns }: Definition, name: string): boolean {
  return columns.some((column) => column.name === name)
}

function sqlOf(name: string, definition: Definition): (source: SchemaSource) => string {
  const { columns, select } = definition
  if (name === 'TABLES') return tablesSql
  if (select !== undefined) return (source) => selectSql(name, { ...definition, select }, source)
  if (LIVE.has(name)) return () => liveRowsSql(columns, name)
  const rows = OBJECT_ROWS[name] ?? (name.endsWith('_VARIABLES') ? systemVariableRows : () => [])
  return (source) => rowsSql(columns, rows(source))
}

/** Returns the SELECT with these column names, without rows that the caller may not see. */
function selectSql(
  name: string,
  { columns, select }: Definition & { readonly select: string },
  source: SchemaSource,
): string {
  if (!/\{(asked|settled)\}/.test(select)) {
    const rows = select.replace(/\{(\w+)\}/, (_, kind) => RELATION_ROWS[kind]?.(source) ?? '')
    return typedSelect({ columns, select: rows })
  }
  const rows = select
    .replace('{asked}', () => askedCondition(name))
    .replace('{settled}', () => settledCondition(name))
  const visible = visibleCondition(source.snapshot, hasColumn({ columns, select }, 'PROJECT'))
  return `SELECT * FROM (${rows}${visible}) AS t (${columnNames(columns)})`
}

function typedSelect({ columns, select }: Definition): string {
  const typed = columns.map(({ name, type }) => `${quote(name)}::${type} AS ${quote(name)}`)
  return `SELECT ${typed.join(', ')} FROM (${select}) AS t (${columnNames(columns)})`
}

function columnNames(columns: Definition['columns']): string {
  return columns.map((column) => quote(column.name)).join(', ')
}

/** Returns SQL for rows of COLUMNS from the stored facts about columns. */
export function columnRowsSql(rows: readonly SchemaRow[]): string {
  const { columns = [], select = '' } = DEFINITIONS.get('COLUMNS') ?? {}
  return typedSelect({ columns, select: select.replace('{columns}', () => columnFactsSql(rows)) })
}

function systemVariableRows(): readonly SchemaRow[] {
  return Object.entries(SYSTEM_VARIABLES).map(([name, value]) => {
    return { VARIABLE_NAME: name, VARIABLE_VALUE: shownVariable(value) }
  })
}

/** Traces show what an agent can read, so only callers who may ask the agent see them. */
function visibleCondition(
  { limits, projects }: Pick<CatalogSnapshot, 'limits' | 'projects'>,
  hasProject: boolean,
): string {
  if (limits === undefined) return ''
  const { read, ask, namespaces } = limits.rights
  if (!read || !ask) return ' AND false'
  if (namespaces === null) return ''
  const names = ["''", ...projects.map(({ name }) => literal(name))].join(', ')
  if (hasProject) return ` AND project_name IN (${names})`
  return ` AND trace_id IN (SELECT trace_id FROM eider.traces WHERE project_name IN (${names}))`
}

export const INFORMATION_SCHEMA_TABLES = TABLES.map(({ name }) => name.toLowerCase())

/** Returns a SELECT of the table's rows, or undefined if there is no such table. */
export function informationSchemaSql(snapshot: CatalogSnapshot, name: string): string | undefined {
  return named(name)?.sql({ snapshot, tables: TABLES })
}

/** Returns the rows that `LiveTables` supplies of the catalog, or undefined for another table. */
export function catalogRows(
  table: string,
  snapshot: CatalogSnapshot,
): readonly SchemaRow[] | undefined {
  return relationRows(table, { snapshot, tables: TABLES })
}

/** For one project, because existing clients read tables such as `models` there. */
export function projectSchemaSql(
  snapshot: CatalogSnapshot,
  project: Project,
  name: string,
): string | undefined {
  const table = named(name)
  if (table === undefined || !isOfProjects(table)) return undefined
  const rows = table.sql({ snapshot: { ...snapshot, dataSources: [] }, tables: TABLES })
  const { projectColumn } = table
  if (projectColumn === null) return rows
  return `SELECT * FROM (${rows}) AS t WHERE ${quote(projectColumn)} = ${literal(project.name)}`
}

/** Background queries do not belong to a project. */
function isOfProjects({ name, projectColumn }: SchemaTable): boolean {
  return projectColumn !== null || name === 'QUERIES'
}

function named(name: string): SchemaTable | undefined {
  const key = name.toUpperCase()
  return TABLES.find((table) => table.name === key)
}
