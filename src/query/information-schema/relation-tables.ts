/** The information_schema tables about everything that FROM can name, with MySQL's columns. */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { sees } from '../../core/domain/access/principal.ts'
import { FILES_SCHEMA, fileTable, projectSchema, projectTable } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE, type ProjectTable, type RelationColumn } from '../../core/domain/names.ts'
import { tablesOfFile } from '../../core/domain/uploaded-file.ts'
import {
  COLLATION,
  columnsOfTable,
  ENGINE,
  liveRowsSql,
  rowsSql,
  type SchemaColumn,
  type SchemaRow,
  type SchemaSource,
  type SchemaTable,
  schemaColumns,
} from './schema-table.ts'
import { TABLE_CATALOG } from './source-tables.ts'

/** A table's name in DuckDB, which clients never see: `schema.table`. */
function physicalName({ projectId, id }: Pick<ProjectTable, 'projectId' | 'id'>): string {
  return `${projectSchema(projectId)}.${projectTable(id)}`
}

/** SQL of the rows in place of each `{name}` in the SELECTs of `tables.sql`. */
export const RELATION_ROWS: Readonly<Record<string, (source: SchemaSource) => string>> = {
  columns: (source) => relationsSql(STORED, 'columns', source),
  schemas: schemasSql,
  tables: storedTablesSql,
}

/** The tables of projects, with the names by which DuckDB's own catalog lists their constraints. */
function storedTablesSql({ snapshot }: SchemaSource): string {
  const rows = snapshot.tables.map((table) => {
    const { projectName: schema, name: relation } = table
    return { schema, relation, file: physicalName(table) }
  })
  return rowsSql(schemaColumns('schema relation file'), rows)
}

function schemasSql({ snapshot }: SchemaSource): string {
  const named = [...snapshot.projects, ...snapshot.dataSources].map(({ name }) => name)
  const files = sees(snapshot.limits?.rights, FILES_DATABASE) ? [FILES_DATABASE] : []
  const all = [...named, ...files, 'information_schema']
  return rowsSql(
    schemaColumns('name'),
    all.map((name) => ({ name })),
  )
}

export function tablesSql(source: SchemaSource): string {
  return relationsSql(columnsOfTable('TABLES'), 'tables', source)
}

/** Rows of the catalog, then those of data sources, requested from these. */
function relationsSql(
  columns: readonly SchemaColumn[],
  table: 'tables' | 'columns',
  { snapshot }: SchemaSource,
): string {
  const rows = liveRowsSql(columns, `catalog_${table}`)
  if (snapshot.dataSources.length === 0) return rows
  return `SELECT * FROM (${rows}) UNION ALL SELECT * FROM (${liveRowsSql(columns, table)})`
}

/**
 * The rows of the catalog. They are bound as a value, because the text of a statement is parsed and
 * printed several times, and thousands of relations have megabytes of rows.
 * @returns undefined if the table is neither `catalog_tables` nor `catalog_columns`
 */
export function relationRows(
  table: string,
  source: SchemaSource,
): readonly SchemaRow[] | undefined {
  if (table === 'catalog_tables') return catalogRelations(source).map(tableRow)
  if (table !== 'catalog_columns') return undefined
  const rows = catalogRelations(source).flatMap(columnRows)
  return rows.map((row, index) => ({ ...row, row: index }))
}

function tableRow(relation: CatalogRelation): SchemaRow {
  const isStored = relation.type === 'BASE TABLE' || relation.type === 'KNOWLEDGE BASE'
  return {
    TABLE_CATALOG,
    TABLE_SCHEMA: relation.schema,
    TABLE_NAME: relation.name,
    TABLE_TYPE: relation.type,
    ENGINE: isStored ? ENGINE : null,
    TABLE_ROWS: relation.rowCount ?? null,
    CREATE_TIME: relation.createdAt ?? null,
    UPDATE_TIME: relation.updatedAt ?? null,
    TABLE_COLLATION: isStored ? COLLATION : null,
    TABLE_COMMENT: relation.comment ?? '',
  }
}

/** What differs from column to column; SQL adds the rest. */
const STORED = schemaColumns(
  'row:BIGINT schema relation name position:BIGINT type nullable comment file',
)

/** The stored facts about columns, for the SELECT of COLUMNS. */
export function columnFactsSql(rows: readonly SchemaRow[]): string {
  return rowsSql(STORED, rows)
}

export function tableRowsSql(rows: readonly SchemaRow[]): string {
  return rowsSql(columnsOfTable('TABLES'), rows)
}

function columnRows(relation: CatalogRelation): readonly SchemaRow[] {
  return relation.columns.map(({ name, type, comment = null }, index) => ({
    schema: relation.schema,
    relation: relation.name,
    name,
    position: index + 1,
    type,
    comment,
    file: relation.physicalTable ?? null,
  }))
}

interface CatalogRelation {
  /** The project, `files` or `information_schema`. */
  readonly schema: string
  readonly name: string
  readonly type: 'BASE TABLE' | 'VIEW' | 'KNOWLEDGE BASE' | 'AGENT' | 'SYSTEM VIEW'
  readonly columns: readonly DescribedColumn[]
  readonly rowCount?: number
  readonly createdAt?: string
  readonly updatedAt?: string
  readonly comment?: string
  /** DuckDB's name of a stored table, with its schema. */
  readonly physicalTable?: string
}

interface DescribedColumn extends RelationColumn {
  readonly comment?: string
}

/** Lists relations by project, then files, then information_schema itself. */
function catalogRelations({ snapshot, tables }: SchemaSource): readonly CatalogRelation[] {
  const byProject = Map.groupBy(projectRelations(snapshot), ({ schema }) => schema)
  const ofProjects = snapshot.projects.flatMap(({ name }) => byProject.get(name) ?? [])
  return [...ofProjects, ...fileRelations(snapshot), ...tables.map(systemRelation)]
}

function projectRelations(snapshot: CatalogSnapshot): readonly CatalogRelation[] {
  const knowledgeBases = snapshot.knowledgeBases.map((kb): CatalogRelation => {
    return { ...kb, schema: kb.projectName, type: 'KNOWLEDGE BASE', columns: columnsOf(kb) }
  })
  const tables = snapshot.tables.map((table): CatalogRelation => {
    const physicalTable = physicalName(table)
    return { ...table, schema: table.projectName, type: 'BASE TABLE', physicalTable }
  })
  const views = snapshot.views.map((view): CatalogRelation => {
    return { ...view, schema: view.projectName, type: 'VIEW' }
  })
  const agents = snapshot.agents.map((agent): CatalogRelation => {
    return { ...agent, schema: agent.projectName, type: 'AGENT', columns: AGENT_COLUMNS }
  })
  return [...knowledgeBases, ...tables, ...views, ...agents]
}

const AGENT_COLUMNS: readonly DescribedColumn[] = [
  { name: 'answer', type: 'VARCHAR' },
  { name: 'question', type: 'VARCHAR', comment: "What is asked: WHERE question = '…'" },
  { name: 'trace_id', type: 'VARCHAR', comment: 'Not shown by *' },
  { name: 'citations', type: 'VARCHAR', comment: 'JSON; not shown by *' },
]

const CHUNK_COLUMNS: readonly DescribedColumn[] = [
  { name: 'id', type: 'VARCHAR', comment: 'The document' },
  { name: 'chunk_id', type: 'VARCHAR' },
  { name: 'chunk_content', type: 'VARCHAR' },
  { name: 'metadata', type: 'JSON' },
  { name: 'relevance', type: 'DOUBLE', comment: '0 to 1; null without a search' },
  { name: 'distance', type: 'DOUBLE', comment: '0 to 2; null without a search' },
]

/** Those that `*` shows, then metadata columns and the one to search by. */
function columnsOf(kb: KnowledgeBase): readonly DescribedColumn[] {
  const columns = new Map(CHUNK_COLUMNS.map((column) => [column.name, column]))
  const comment = 'Metadata; not shown by *'
  const declared = (kb.metadataColumns ?? []).map((name) => ({ name, type: 'VARCHAR' }))
  for (const { name, type } of [...kb.storedMetadata, ...declared]) {
    const key = name.toLowerCase()
    if (!columns.has(key) && key !== 'content') columns.set(key, { name, type, comment })
  }
  const search = { comment: "Searched by meaning: WHERE content = '…'; not shown by *" }
  return [...columns.values(), { name: 'content', type: 'VARCHAR', ...search }]
}

function fileRelations(snapshot: CatalogSnapshot): readonly CatalogRelation[] {
  return snapshot.files.flatMap(tablesOfFile).map(({ file, index, name, columns, rowCount }) => ({
    schema: FILES_DATABASE,
    name,
    type: 'BASE TABLE',
    columns: columns.map((column) => ({ name: column, type: 'VARCHAR' })),
    rowCount,
    createdAt: file.createdAt,
    comment: file.originalName,
    physicalTable: `${FILES_SCHEMA}.${fileTable(file.id, index)}`,
  }))
}

function systemRelation({ name, columns }: SchemaTable): CatalogRelation {
  return { schema: 'information_schema', name, type: 'SYSTEM VIEW', columns }
}
