import { findProject, knowledgeBasesOf, requireProject } from '../../domain/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { type QueryResult, rowsOf } from '../../domain/query-result.ts'
import type { ShowStatement } from '../../sql/statements/show-statements.ts'
import { databaseTable, knowledgeBaseTable } from '../information-schema.ts'
import { FILES_DATABASE } from '../name-scope.ts'
import type { QueryDeps } from '../query-deps.ts'
import type { StatementRequest } from './statement-request.ts'

type StatementOf<K extends ShowStatement['kind']> = Extract<ShowStatement, { kind: K }>

export async function runShowStatement(
  { statement, db }: StatementRequest<ShowStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  switch (statement.kind) {
    case 'show_knowledge_bases': {
      const { columns, rows } = knowledgeBaseTable(shown(statement, db, deps))
      return { kind: 'table', rows: rowsOf(columns, rows), context: { db } }
    }
    case 'show_tables':
      return showTables(statement, db, deps)
    case 'show_databases':
      return showDatabases(statement.isFull, db, deps)
  }
}

function showDatabases(isFull: boolean, db: string, deps: QueryDeps): QueryResult {
  const { rows } = databaseTable(deps.catalog.snapshot())
  const names = isFull ? ['Database', 'TYPE', 'ENGINE'] : ['Database']
  const cells = rows.map((row) => row.slice(0, names.length))
  return { kind: 'table', rows: rowsOf(names, cells), context: { db } }
}

function shown(
  statement: StatementOf<'show_knowledge_bases'>,
  db: string,
  deps: QueryDeps,
): readonly KnowledgeBase[] {
  const snapshot = deps.catalog.snapshot()
  const project = requireProject(snapshot, statement.project ?? db)
  const wanted = statement.name?.toLowerCase()
  return knowledgeBasesOf(snapshot, project).filter((kb) => {
    return (
      (wanted === undefined || kb.name.toLowerCase() === wanted) &&
      (statement.like === null || isLike(kb.name, statement.like))
    )
  })
}

/** SQL's LIKE without case: `%` any characters, `_` one. */
function isLike(name: string, pattern: string): boolean {
  const escaped = pattern.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const source = escaped.replaceAll('%', '.*').replaceAll('_', '.')
  return new RegExp(`^${source}$`, 'isu').test(name)
}

function showTables(
  statement: StatementOf<'show_tables'>,
  db: string,
  deps: QueryDeps,
): QueryResult {
  const database = statement.from ?? db
  const tables = tablesOf(database, deps).filter(([name]) => {
    return statement.like === null || isLike(name, statement.like)
  })
  const names = [`Tables_in_${database}`, ...(statement.isFull ? ['Table_type'] : [])]
  const rows = tables.map(([name, type]) => (statement.isFull ? [name, type] : [name]))
  return { kind: 'table', rows: rowsOf(names, rows), context: { db } }
}

function tablesOf(database: string, deps: QueryDeps): readonly (readonly [string, string])[] {
  const snapshot = deps.catalog.snapshot()
  if (database.toLowerCase() === FILES_DATABASE) {
    return snapshot.files.map((file) => [file.name, 'BASE TABLE'] as const)
  }
  const project = findProject(snapshot, database) ?? requireProject(snapshot, database)
  return knowledgeBasesOf(snapshot, project).map((kb) => [kb.name, 'KNOWLEDGE BASE'] as const)
}
