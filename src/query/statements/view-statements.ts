import { findProject, findView } from '../../domain/catalog-snapshot.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import type { View } from '../../domain/view.ts'
import { AppError } from '../../errors.ts'
import type { QualifiedName } from '../../sql/statements/qualified-name.ts'
import type { ViewStatement } from '../../sql/statements/view-statements.ts'
import type { QueryDeps } from '../query-deps.ts'
import { alterView, createView } from '../views.ts'
import { done, type StatementRequest } from './statement-request.ts'

export async function runViewStatement(
  request: StatementRequest<ViewStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  const view = findOf(statement.name, db, deps)
  switch (statement.kind) {
    case 'create_view': {
      if (view !== undefined && statement.ifNotExists) return done(db)
      if (view === undefined || !statement.orReplace) {
        await createView(
          { ...viewNameOf(statement.name, db), sql: statement.select, database: db },
          deps,
          signal,
        )
        return done(db)
      }
      await alterView(view, { sql: statement.select, database: db }, { deps, signal })
      return done(db)
    }
    case 'alter_view':
      await alterView(
        existing(view, statement.name),
        { sql: statement.select, database: db },
        { deps, signal },
      )
      return done(db)
    case 'drop_view':
      if (view !== undefined || !statement.ifExists) {
        await deps.catalog.dropView(existing(view, statement.name))
      }
      return done(db)
  }
}

function viewNameOf(name: QualifiedName, db: string) {
  return { project: name.project ?? db, name: name.name }
}

function findOf(name: QualifiedName, db: string, deps: QueryDeps): View | undefined {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  return project && findView(snapshot, project, name.name)
}

function existing(view: View | undefined, name: QualifiedName): View {
  if (view !== undefined) return view
  throw new AppError('view_not_found', `View with name ${name.name} does not exist`)
}
