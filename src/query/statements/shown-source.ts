/** SHOW and DESCRIBE of what is in a data source: its tables are asked for, and its failure is that of the statement. */
import {
  type CatalogSnapshot,
  findDataSource,
  seenDataSource,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { DataSource, SourceTableName } from '../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import type { DataSources } from '../../core/domain/ports/engine-ports.ts'
import type { ShowStatement } from '../../sql/dialect/parse-show.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { informationSchemaSql } from '../information-schema/information-schema.ts'
import { columnRowsSql, tableRowsSql } from '../information-schema/relation-tables.ts'
import { sourceTableColumns, sourceTableRows } from '../information-schema/source-tables.ts'
import type { GivenRows } from '../select/planning-protocol.ts'

interface StatementScope {
  readonly snapshot: CatalogSnapshot
  /** `context.db` of the request. */
  readonly db: string
}

export interface ShownSource {
  readonly source: DataSource
  /** null: all of them. */
  readonly table: SourceTableName | null
}

/** null: the statement is about what the catalog holds. */
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

function tableIn(
  { project, schema, name }: QualifiedName,
  { snapshot, db }: StatementScope,
): ShownSource | null {
  const source = seenDataSource(snapshot, project ?? db)
  if (source !== undefined) return { source, table: { schema: schema ?? null, name } }
  // `schema.table` of the request's own database.
  const own = findDataSource(snapshot, db)
  const isSchema = !snapshot.projects.some((one) => nameKey(one.name) === nameKey(project ?? ''))
  if (own === undefined || project === null || !isSchema) return null
  return { source: own, table: { schema: project, name } }
}

/** What information_schema holds for the statement: of the data source alone, or of everything else. */
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
