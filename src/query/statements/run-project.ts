import { createProject, dropProject } from '../../catalog/project-definitions.ts'
import { findProject, requireProject } from '../../domain/catalog-snapshot.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import type { ProjectStatement } from '../../sql/dialect/parse-project.ts'
import type { QueryDeps } from '../query-deps.ts'
import { done, type StatementRequest } from './statement-request.ts'

export async function runProjectStatement(
  { statement, db }: StatementRequest<ProjectStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const { name } = statement
  const project = findProject(deps.catalog.snapshot(), name)
  if (statement.kind === 'create_project') {
    if (project === undefined || !statement.ifNotExists) await createProject(name, deps)
  } else if (project !== undefined) await dropProject(project, deps)
  else if (!statement.ifExists) requireProject(deps.catalog.snapshot(), name)
  return done(db)
}
