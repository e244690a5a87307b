/** The catalog as tables, for clients and editors that read it in SQL. Secrets are masked. */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { literal, quote } from '../../core/domain/identifier.ts'
import type { Project } from '../../core/domain/project.ts'
import { OBJECT_TABLES } from './object-tables.ts'
import { RELATION_TABLES } from './relation-tables.ts'
import type { SchemaTable } from './schema-table.ts'
import { SERVER_TABLES } from './server-tables.ts'
import { TRACE_TABLES } from './trace-tables.ts'

export const INFORMATION_SCHEMA = 'information_schema'

const TABLES: readonly SchemaTable[] = [
  ...OBJECT_TABLES,
  ...TRACE_TABLES,
  ...RELATION_TABLES,
  ...SERVER_TABLES,
]

export const INFORMATION_SCHEMA_TABLES = TABLES.map(({ name }) => name.toLowerCase())

/** A SELECT of the table's rows, or undefined when there is no such table. */
export function informationSchemaSql(snapshot: CatalogSnapshot, name: string): string | undefined {
  return named(name)?.sql({ snapshot, tables: TABLES })
}

/** The same of one project: existing clients read `models` and its like there. */
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

/** Queries in the background belong to no project. */
function isOfProjects({ name, projectColumn }: SchemaTable): boolean {
  return projectColumn !== null || name === 'QUERIES'
}

function named(name: string): SchemaTable | undefined {
  const key = name.toUpperCase()
  return TABLES.find((table) => table.name === key)
}
