/** The tables of information_schema over what must hold for the rows of projects' tables, as DuckDB's catalog knows it. */
import { projectSchema, projectTable } from '../../core/domain/chunk-tables.ts'
import { literal, quote } from '../../core/domain/identifier.ts'
import type { ProjectTable } from '../../core/domain/project.ts'
import {
  rowsSql,
  type SchemaColumn,
  type SchemaSource,
  type SchemaTable,
  schemaColumns,
} from './schema-table.ts'
import { TABLE_CATALOG } from './source-tables.ts'

const TABLE_CONSTRAINTS = `CONSTRAINT_CATALOG CONSTRAINT_SCHEMA CONSTRAINT_NAME TABLE_SCHEMA
  TABLE_NAME CONSTRAINT_TYPE ENFORCED`

const KEY_COLUMN_USAGE = `CONSTRAINT_CATALOG CONSTRAINT_SCHEMA CONSTRAINT_NAME TABLE_CATALOG
  TABLE_SCHEMA TABLE_NAME COLUMN_NAME ORDINAL_POSITION:BIGINT POSITION_IN_UNIQUE_CONSTRAINT:BIGINT
  REFERENCED_TABLE_SCHEMA REFERENCED_TABLE_NAME REFERENCED_COLUMN_NAME`

/** A table's name in DuckDB, which callers never see: `schema.table`. */
export function physicalName({ projectId, id }: Pick<ProjectTable, 'projectId' | 'id'>): string {
  return `${projectSchema(projectId)}.${projectTable(id)}`
}

const VALUES: Readonly<Record<string, string>> = {
  CONSTRAINT_CATALOG: literal(TABLE_CATALOG),
  TABLE_CATALOG: literal(TABLE_CATALOG),
  CONSTRAINT_SCHEMA: 't.schema',
  TABLE_SCHEMA: 't.schema',
  TABLE_NAME: 't.relation',
  // DuckDB's own begins with the name of its table.
  CONSTRAINT_NAME: `CASE c.constraint_type WHEN 'PRIMARY KEY' THEN 'PRIMARY'
    ELSE replace(c.constraint_name, c.table_name, t.relation) END`,
  CONSTRAINT_TYPE: 'c.constraint_type',
  ENFORCED: "'YES'",
  COLUMN_NAME: 'k.name',
  ORDINAL_POSITION: 'k.position',
}

export const CONSTRAINT_TABLES: readonly SchemaTable[] = [
  constraintTable('TABLE_CONSTRAINTS', TABLE_CONSTRAINTS, "('PRIMARY KEY', 'UNIQUE', 'CHECK')"),
  constraintTable('KEY_COLUMN_USAGE', KEY_COLUMN_USAGE, "('PRIMARY KEY', 'UNIQUE')"),
]

function constraintTable(name: string, text: string, types: string): SchemaTable {
  const columns = schemaColumns(text)
  const shown = columns.map((column: SchemaColumn) => {
    return `${VALUES[column.name] ?? `NULL::${column.type}`} AS ${quote(column.name)}`
  })
  const hasColumns = columns.some((column) => column.name === 'COLUMN_NAME')
  const keys = `(SELECT unnest(c.constraint_column_names) AS name,
    generate_subscripts(c.constraint_column_names, 1) AS position) AS k`
  const sql = ({ snapshot }: SchemaSource) => {
    const rows = snapshot.tables.map((table) => {
      const { projectName: schema, name: relation } = table
      return { schema, relation, file: physicalName(table) }
    })
    return `SELECT ${shown.join(', ')}
      FROM (${rowsSql(schemaColumns('schema relation file'), rows)}) AS t
      JOIN duckdb_constraints() AS c ON concat(c.schema_name, '.', c.table_name) = t.file
      ${hasColumns ? `, LATERAL ${keys}` : ''}
      WHERE c.constraint_type IN ${types}`
  }
  return { name, columns, projectColumn: 'TABLE_SCHEMA', sql }
}

/** SQL for the columns that are of a key: `file`, the physical name of their table, `name`, and `key` as MySQL calls it. */
export const KEY_COLUMNS = `SELECT file, name, min(key)[2:] AS key FROM (
    SELECT concat(schema_name, '.', table_name) AS file, unnest(constraint_column_names) AS name,
      CASE WHEN constraint_type = 'PRIMARY KEY' THEN '1PRI'
        WHEN len(constraint_column_names) = 1 THEN '2UNI' ELSE '3MUL' END AS key
    FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE'))
  GROUP BY ALL`
