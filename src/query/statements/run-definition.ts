/** CREATE, ALTER, DROP and DESCRIBE of agents, databases (data sources and projects) and jobs that run by themselves. */
import {
  findAgent,
  findDataSource,
  findProject,
  requireDataSource,
  requireProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import type { StoredSchedule } from '../../core/domain/flow/schedule.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import { type QueryResult, rowsOf } from '../../core/domain/query-result.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { AgentStatement } from '../../sql/dialect/parse-agent.ts'
import type { DatabaseStatement } from '../../sql/dialect/parse-database.ts'
import type { JobStatement } from '../../sql/dialect/parse-job.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { withNativeTexts } from '../../sql/lexer/database-names.ts'
import { alterAgent, createAgent, dropAgent } from '../definitions/define-agent.ts'
import {
  alterDatabase,
  createDatabase,
  createProject,
  dropDatabase,
  dropProject,
} from '../definitions/define-database.ts'
import { describedAgent, describedDatabase } from '../information-schema/object-tables.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { done, type StatementRequest } from '../select/statement-request.ts'

export async function runDatabaseStatement(
  { statement, db }: StatementRequest<DatabaseStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const { name } = statement
  const snapshot = deps.catalog.snapshot()
  switch (statement.kind) {
    case 'create_database':
      await createSource(statement, deps)
      return done(db)
    case 'alter_database':
      await alterDatabase(requireDataSource(snapshot, name), statement, deps)
      return done(db)
    case 'drop_database':
      await drop(statement, deps)
      return done(db)
    case 'describe_database': {
      const described = describedDatabase(snapshot, name)
      if (described === undefined) throw notFound('database', name)
      return { kind: 'table', rows: rowsOf(described.columns, described.rows), context: { db } }
    }
  }
}

type StatementOf<K extends DatabaseStatement['kind']> = Extract<DatabaseStatement, { kind: K }>

async function createSource(
  { name, engine, parameters, ifNotExists, orReplace }: StatementOf<'create_database'>,
  deps: QueryDeps,
): Promise<void> {
  const snapshot = deps.catalog.snapshot()
  const known = findProject(snapshot, name) ?? findDataSource(snapshot, name)
  if (known !== undefined && ifNotExists) return
  if (engine === null) await createProject(name, deps)
  else await createDatabase({ name, engine, parameters }, deps, orReplace)
}

async function drop(
  { name, ifExists, isProject }: StatementOf<'drop_database'>,
  deps: QueryDeps,
): Promise<void> {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name)
  const source = isProject ? undefined : findDataSource(snapshot, name)
  if (project !== undefined) await dropProject(project, deps)
  else if (source !== undefined) await dropDatabase(source, deps)
  else if (!ifExists) throw notFound(isProject ? 'project' : 'database', name)
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
      const made = await createAgent(
        project ?? db,
        withStatementName(statement.options, name),
        deps,
      )
      return { ...done(db), ...withWarnings(made, deps) }
    }
    case 'alter_agent': {
      const changed = await alterAgent(existing(agent, statement.name), statement.options, deps)
      return { ...done(db), ...withWarnings(changed, deps) }
    }
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

/** What the agent lacks as it is defined. */
function withWarnings(agent: Agent, { agents }: QueryDeps) {
  const warnings = agents.warningsOf(agent)
  return warnings.length === 0 ? {} : { warnings }
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

export async function runJobStatement(
  { statement, db }: StatementRequest<JobStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const project = requireProject(deps.catalog.snapshot(), statement.name.project ?? db)
  const { name } = statement.name
  const isNamed = (one: StoredSchedule) => {
    return one.projectId === project.id && nameKey(one.name) === nameKey(name)
  }
  const known = deps.schedules.store.list().find(isNamed)
  if (statement.kind === 'create_job') {
    if (known === undefined || !statement.ifNotExists) {
      const { start, end, every } = statement
      const query = withNativeTexts(statement.query)
      const ifQuery = statement.ifQuery === null ? null : withNativeTexts(statement.ifQuery)
      await deps.schedules.create({ project, name, query, ifQuery, start, end, every })
    }
  } else if (known !== undefined) await deps.schedules.drop(known)
  else if (!statement.ifExists) throw notFound('schedule', name)
  return done(db)
}

/** The options after USING with the name before it. @throws AppError `invalid_request` where they name another */
export function withStatementName(
  options: Readonly<Record<string, unknown>>,
  name: string,
): Readonly<Record<string, unknown>> {
  if (options.name === undefined || options.name === null) return { ...options, name }
  throw new AppError('invalid_request', 'The name comes before USING; leave out the option "name"')
}
