/** CREATE, ALTER, DROP and DESCRIBE of agents; CREATE and DROP of projects. */
import { alterAgent, createAgent, dropAgent } from '../../catalog/define-agent.ts'
import { createProject, dropProject } from '../../catalog/define-project.ts'
import type { Agent } from '../../domain/agent.ts'
import { findAgent, findProject, requireProject } from '../../domain/catalog-snapshot.ts'
import { type QueryResult, rowsOf } from '../../domain/query-result.ts'
import { notFound } from '../../errors.ts'
import type { AgentStatement } from '../../sql/dialect/parse-agent.ts'
import type { ProjectStatement } from '../../sql/dialect/parse-project.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { describedAgent } from '../information-schema/object-tables.ts'
import type { QueryDeps } from '../query-deps.ts'
import { done, type StatementRequest } from '../statement-request.ts'

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
      await alterAgent(existing(agent, statement.name), statement.options, deps)
      return done(db)
    case 'drop_agent':
      if (agent !== undefined || !statement.ifExists) {
        await dropAgent(existing(agent, statement.name), deps)
      }
      return done(db)
    case 'describe_agent': {
      const { columns, rows } = describedAgent(existing(agent, statement.name))
      return { kind: 'table', rows: rowsOf(columns, rows), context: { db } }
    }
  }
}

function findAgentNamed(name: QualifiedName, db: string, deps: QueryDeps): Agent | undefined {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  return project && findAgent(snapshot, project, name.name)
}

/** @throws AppError `agent_not_found` */
function existing(agent: Agent | undefined, { name }: QualifiedName): Agent {
  if (agent === undefined) throw notFound('agent', name)
  return agent
}
