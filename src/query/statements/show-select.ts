/**
 * Builds the SELECT over information_schema for a SHOW, with the column names that clients expect.
 */

import {
  type CatalogSnapshot,
  findDataSource,
  findFileTable,
  requireDatabase,
  requireKnowledgeBase,
  seenDataSource,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { DataSource, SourceTableName } from '../../core/domain/flow/source-parameters.ts'
import { FILES_DATABASE, literal, nameKey, quote } from '../../core/domain/names.ts'
import type { DataSources } from '../../core/domain/ports/engine-ports.ts'
import type { Narrowing, ShowRows, ShowStatement } from '../../sql/dialect/parse-show.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import {
  columnRowsSql,
  INFORMATION_SCHEMA,
  informationSchemaSql,
} from '../information-schema/information-schema.ts'
import { tableRowsSql } from '../information-schema/relation-tables.ts'
import { selectsOf } from '../information-schema/schema-table.ts'
import { sourceTableColumns, sourceTableRows } from '../information-schema/source-tables.ts'
import { nameScope } from '../select/name-scope.ts'
import type { GivenRows } from '../select/planning-protocol.ts'
import { enclosed } from '../select/views.ts'
import selects from './show.sql' with { type: 'text' }

export interface ShowScope {
  readonly snapshot: CatalogSnapshot
  readonly db: string
  /** A source whose rows are supplied with the statement instead of by information_schema. */
  readonly source?: ShownSource | null
}

/** @throws AppError `project_not_found`, `sql_unknown_name` */
export function shownSelect(statement: ShowRows, scope: ShowScope): string {
  return narrowedSelect(shownRows(statement, scope), statement.narrowing)
}

/** Returns the rows of a SHOW that pass its LIKE and WHERE. */
export function narrowedSelect(
  { sql, likeColumn }: Shown,
  { like, where, order }: Narrowing,
): string {
  const pattern = like?.endsWith('\\') === true ? `${like}\\` : (like ?? '')
  const conditions = [
    ...(like === null ? [] : [`${quote(likeColumn)} ILIKE ${literal(pattern)} ESCAPE '\\'`]),
    ...(where === null ? [] : [enclosed(where)]),
  ]
  const narrowed = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  return `SELECT * FROM (${sql}) AS shown${narrowed} ${order ?? ''}`
}

/** Finds a relation's columns in information_schema.columns. @throws AppError `sql_unknown_name` */
export function columnsCondition(name: QualifiedName, scope: ShowScope): string {
  if (scope.source) return 'true'
  const database = name.project ?? scope.db
  const relation = nameScope(scope.snapshot, database).resolve([database, name.name])
  const schema = relation.kind === 'query' ? INFORMATION_SCHEMA : schemaNamed(database, scope)
  const isFile = database.toLowerCase() === FILES_DATABASE
  const file = isFile ? findFileTable(scope.snapshot, name.name) : undefined
  const table = file?.name ?? name.name
  return `TABLE_SCHEMA = ${literal(schema)} AND lower(TABLE_NAME) = lower(${literal(table)})`
}

export interface Shown {
  readonly sql: string
  readonly likeColumn: string
}

function shownRows(statement: ShowRows, scope: ShowScope): Shown {
  const { subject, isFull } = statement
  const database = statement.from ?? scope.db
  switch (subject) {
    case 'databases':
      return shown(isFull ? 'full_databases' : 'databases')
    case 'projects':
      return shown('databases', "TYPE = 'project'")
    case 'files':
      return shownTables(FILES_DATABASE, scope, isFull)
    case 'tables':
      return shownTables(database, scope, isFull)
    case 'table_status':
      return shown('table_status', schemaCondition(database, scope))
    case 'columns':
      return shown(isFull ? 'full_columns' : 'columns', shownCondition(statement, scope))
    case 'indexes':
      return shown('indexes', shownCondition(statement, scope))
    case 'agents':
    case 'chatbots':
    case 'jobs':
    case 'knowledge_bases':
    case 'models':
    case 'triggers':
    case 'views':
      return objects(subject, `PROJECT = ${literal(schemaNamed(database, scope))}`)
    case 'sources':
      return objects(subject, sourcesCondition(statement, scope))
    case 'warnings':
      return shown('errors')
    case 'functions':
      return shown('routines', "ROUTINE_TYPE = 'FUNCTION'")
    case 'procedures':
      return shown('routines', "ROUTINE_TYPE = 'PROCEDURE'")
    case 'handlers':
    case 'ml_engines':
      return objects(subject, 'true')
    case 'queries':
      return { ...objects(subject, 'true'), likeColumn: 'SQL' }
    default:
      return shown(subject)
  }
}

/** Limits to the sources of one knowledge base, or of all in the project. */
function sourcesCondition({ table }: ShowRows, scope: ShowScope): string {
  const project = schemaNamed(table?.project ?? scope.db, scope)
  const ofProject = `PROJECT = ${literal(project)}`
  if (table === null) return ofProject
  const kb = requireKnowledgeBase(scope.snapshot, project, table.name)
  return `${ofProject} AND KNOWLEDGE_BASE = ${literal(kb.name)}`
}

function objects(table: string, condition: string): Shown {
  const sql = `SELECT * FROM information_schema.${table} WHERE ${condition}`
  return { sql, likeColumn: 'NAME' }
}

const named = selectsOf(selects)

function shown(name: string, condition?: string): Shown {
  const all = named(name)
  const likeColumn = / AS "([^"]+)"/.exec(all)?.[1] ?? ''
  return { sql: condition === undefined ? all : `${all} WHERE ${condition}`, likeColumn }
}

/** Clients expect the column `Tables_in_<database>`, spelled as they wrote it. */
function shownTables(database: string, scope: ShowScope, isFull: boolean): Shown {
  const likeColumn = `Tables_in_${database}`
  const columns = `TABLE_NAME AS ${quote(likeColumn)}${isFull ? ', TABLE_TYPE AS "Table_type"' : ''}`
  const condition = schemaCondition(database, scope)
  const sql = `SELECT ${columns} FROM information_schema.tables WHERE ${condition}`
  return { sql, likeColumn }
}

function schemaCondition(database: string, scope: ShowScope): string {
  return `TABLE_SCHEMA = ${literal(schemaNamed(database, scope))}`
}

function shownCondition({ table, from }: ShowRows, scope: ShowScope): string {
  if (table === null) throw new Error('columns and indexes are those of a table')
  return columnsCondition({ ...table, project: table.project ?? from }, scope)
}

/**
 * The name of a project or other namespace, spelled as stored. @throws AppError `project_not_found`
 */
function schemaNamed(database: string, { snapshot }: ShowScope): string {
  if (database.toLowerCase() === INFORMATION_SCHEMA) return INFORMATION_SCHEMA
  return requireDatabase(snapshot, database)
}

interface StatementScope {
  readonly snapshot: CatalogSnapshot
  /** The request's `context.db`. */
  readonly db: string
}

interface ShownSource {
  readonly source: DataSource
  /** Null: all tables. */
  readonly table: SourceTableName | null
}

/** Null if the statement is about the catalog. */
export function shownSource(statement: ShowStatement, scope: StatementScope): ShownSource | null {
  switch (statement.kind) {
    case 'describe':
    case 'show_create':
      return tableIn(statement.name, scope)
    case 'show': {
      const { subject, table, from } = statement
      if (table !== null) return tableIn({ ...table, project: table.project ?? from }, scope)
      if (subject !== 'tables' && subject !== 'table_status') return null
      const source = findDataSource(scope.snapshot, from ?? scope.db)
      return source === undefined ? null : { source, table: null }
    }
  }
}

export function tableIn(
  { project, schema, name }: QualifiedName,
  { snapshot, db }: StatementScope,
): ShownSource | null {
  const source = seenDataSource(snapshot, project ?? db)
  if (source !== undefined) return { source, table: { schema: schema ?? null, name } }
  // `schema.table` in the request's own database.
  const own = findDataSource(snapshot, db)
  const isSchema = !snapshot.projects.some((one) => nameKey(one.name) === nameKey(project ?? ''))
  if (own === undefined || project === null || !isSchema) return null
  return { source: own, table: { schema: project, name } }
}

/** The rows to supply as information_schema: only those of the data source, or all others. */
export async function givenRows(
  shown: ShownSource | null,
  snapshot: CatalogSnapshot,
  sources: DataSources,
  signal: AbortSignal,
): Promise<{ readonly given: GivenRows; readonly warnings: readonly string[] }> {
  if (shown === null) {
    if (snapshot.dataSources.length === 0) return { given: {}, warnings: [] }
    const local = { ...snapshot, dataSources: [] }
    const tables = informationSchemaSql(local, 'tables') ?? ''
    return {
      given: { tables, columns: informationSchemaSql(local, 'columns') ?? '' },
      warnings: [],
    }
  }
  const { source, table } = shown
  if (table === null) {
    const { rows, warnings = [] } = await sourceTableRows(source, sources, signal)
    return { given: { tables: tableRowsSql(rows) }, warnings }
  }
  const columns = await sourceTableColumns(source, table, sources, signal)
  return { given: { columns: columnRowsSql(columns) }, warnings: [] }
}
