import { quote } from '../../domain/identifier.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import type { ShowStatement } from '../../sql/dialect/parse-show.ts'
import type { QualifiedName } from '../../sql/dialect/qualified-name.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runComposedSelect } from '../select/composed-select.ts'
import { nameScope } from '../select/name-scope.ts'
import type { StatementRequest } from '../statements/statement-request.ts'
import { createdSelect } from './show-create.ts'
import { columnsCondition, type ShowScope, shownSelect } from './show-select.ts'

/** A SHOW is a SELECT over information_schema, so that its LIKE, WHERE, ORDER BY and LIMIT are those of any SELECT. */
export async function runShowStatement(
  { statement, db, params }: StatementRequest<ShowStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const sql = selectOf(statement, { snapshot: deps.catalog.snapshot(), db })
  const rows = await runComposedSelect({ sql, database: db, params }, deps, signal)
  return { kind: 'table', rows, context: { db } }
}

function selectOf(statement: ShowStatement, scope: ShowScope): string {
  switch (statement.kind) {
    case 'show':
      return shownSelect(statement, scope)
    case 'show_create':
      return createdSelect(statement.name, { ...scope, isView: statement.what === 'view' })
    case 'describe':
      return describedSelect(statement.name, scope)
  }
}

/** DuckDB describes what can be read as it is; an agent cannot, it has to be asked. */
function describedSelect(name: QualifiedName, scope: ShowScope): string {
  const database = name.project ?? scope.db
  const relation = nameScope(scope.snapshot, database).resolve([database, name.name])
  if (relation.kind !== 'agent') return `DESCRIBE ${quote(database)}.${quote(name.name)}`
  return `SELECT COLUMN_NAME AS column_name, DATA_TYPE AS column_type, IS_NULLABLE AS "null",
      NULL::VARCHAR AS key, NULL::VARCHAR AS "default", NULL::VARCHAR AS extra
    FROM information_schema.columns WHERE ${columnsCondition(name, scope)}`
}
