/** CREATE, ALTER, DROP and DESCRIBE of projects, agents and views. */
import { alterAgent, createAgent, dropAgent } from '../../catalog/define-agent.ts'
import { createProject, dropProject } from '../../catalog/define-project.ts'
import type { Agent } from '../../domain/agent.ts'
import { findAgent, findProject, findView, requireProject } from '../../domain/catalog-snapshot.ts'
import type { View } from '../../domain/project.ts'
import { type QueryResult, rowsOf } from '../../domain/query-result.ts'
import { AppError, notFound } from '../../errors.ts'
import type { AgentStatement } from '../../sql/dialect/parse-agent.ts'
import type { ProjectStatement } from '../../sql/dialect/parse-project.ts'
import type { ViewStatement } from '../../sql/dialect/parse-view.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import type { WrittenSelect } from '../../sql/dialect/written-select.ts'
import { describedAgent } from '../information-schema/object-tables.ts'
import type { QueryDeps } from '../query-deps.ts'
import { done, type StatementRequest } from '../statement-request.ts'
import { alterView, createView } from '../views.ts'

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

export async function runAgentStatement(
  { statement, db }: StatementRequest<AgentStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const agent = findAgentNamed(statement.name, db, deps)
  switch (statement.kind) {
    case 'create_agent': {
      const { name, project } = statement.name
      if (agent !== undefined && statement.ifNotExists) return done(db)
      await createAgent(project ?? db, { ...statement.options, name }, deps)
      return done(db)
    }
    case 'alter_agent':
      await alterAgent(existing(agent, 'agent', statement.name), statement.options, deps)
      return done(db)
    case 'drop_agent':
      if (agent !== undefined || !statement.ifExists) {
        await dropAgent(existing(agent, 'agent', statement.name), deps)
      }
      return done(db)
    case 'describe_agent': {
      const { columns, rows } = describedAgent(existing(agent, 'agent', statement.name))
      return { kind: 'table', rows: rowsOf(columns, rows), context: { db } }
    }
  }
}

function findAgentNamed(name: QualifiedName, db: string, deps: QueryDeps): Agent | undefined {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  return project && findAgent(snapshot, project, name.name)
}

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
      await alterView(existing(view, 'view', statement.name), definition, deps, signal)
      return done(db)
    }
    case 'drop_view':
      if (view !== undefined || !statement.ifExists) {
        await deps.catalog.dropView(existing(view, 'view', statement.name))
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

function definitionOf({ select, database }: WrittenSelect, db: string) {
  return { sql: select, database: database ?? db }
}

function findViewNamed(name: QualifiedName, db: string, deps: QueryDeps): View | undefined {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  return project && findView(snapshot, project, name.name)
}

/** @throws AppError `view_not_found`, `agent_not_found` */
function existing<T>(thing: T | undefined, kind: 'view' | 'agent', { name }: QualifiedName): T {
  if (thing === undefined) throw notFound(kind, name)
  return thing
}
