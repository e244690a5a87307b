/** CREATE, ALTER and DROP of views. */
import { findProject, findView } from '../../domain/catalog-snapshot.ts'
import type { View } from '../../domain/project.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import { AppError, notFound } from '../../errors.ts'
import type { ViewStatement } from '../../sql/dialect/parse-view.ts'
import type { SourceSelect } from '../../sql/dialect/source-select.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import type { QueryDeps } from '../query-deps.ts'
import { done, type StatementRequest } from '../statement-request.ts'
import { alterView, createView } from '../views.ts'

export async function runViewStatement(
  request: StatementRequest<ViewStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  const view = findViewNamed(statement.name, db, deps)
  switch (statement.kind) {
    case 'create_view': {
      if (view !== undefined && statement.ifNotExists) return done(db)
      await createViewOf({ ...request, statement }, deps, signal)
      return done(db)
    }
    case 'alter_view': {
      const definition = definitionOf(statement.source, db)
      await alterView(existing(view, statement.name), definition, deps, signal)
      return done(db)
    }
    case 'drop_view':
      if (view !== undefined || !statement.ifExists) {
        await deps.catalog.dropView(existing(view, statement.name))
      }
      return done(db)
  }
}

async function createViewOf(
  { statement, db }: StatementRequest<Extract<ViewStatement, { kind: 'create_view' }>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  const { name, source, orReplace, ifNotExists } = statement
  const named = { project: name.project ?? db, name: name.name }
  try {
    await createView({ ...named, ...definitionOf(source, db), orReplace }, deps, signal)
  } catch (error) {
    const isTaken = error instanceof AppError && error.code === 'relation_exists'
    // Another statement has made it meanwhile.
    if (ifNotExists && isTaken && findViewNamed(name, db, deps) !== undefined) return
    throw error
  }
}

function definitionOf({ select, database }: SourceSelect, db: string) {
  return { sql: select, database: database ?? db }
}

function findViewNamed(name: QualifiedName, db: string, deps: QueryDeps): View | undefined {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  return project && findView(snapshot, project, name.name)
}

/** @throws AppError `view_not_found` */
function existing(view: View | undefined, { name }: QualifiedName): View {
  if (view === undefined) throw notFound('view', name)
  return view
}
