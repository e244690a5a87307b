import { alterAgent, createAgent, dropAgent } from '../../catalog/agent-definitions.ts'
import type { Agent } from '../../domain/agent.ts'
import { findAgent, findProject } from '../../domain/catalog-snapshot.ts'
import { type QueryResult, rowsOf } from '../../domain/query-result.ts'
import { notFound } from '../../errors.ts'
import type { AgentStatement } from '../../sql/dialect/parse-agent.ts'
import type { QualifiedName } from '../../sql/dialect/qualified-name.ts'
import { describedAgent } from '../information-schema/object-tables.ts'
import type { QueryDeps } from '../query-deps.ts'
import { done, type StatementRequest } from './statement-request.ts'

export async function runAgentStatement(
  { statement, db }: StatementRequest<AgentStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const agent = find(statement.name, db, deps)
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

function find(name: QualifiedName, db: string, deps: QueryDeps): Agent | undefined {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  return project && findAgent(snapshot, project, name.name)
}

function existing(agent: Agent | undefined, name: QualifiedName): Agent {
  if (agent !== undefined) return agent
  throw notFound('agent', name.name)
}
