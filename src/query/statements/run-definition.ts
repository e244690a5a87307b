/**
 * CREATE, ALTER, DROP and DESCRIBE of agents, databases (data sources and projects) and scheduled
 * jobs.
 */
import {
  findDataSource,
  findProject,
  findQualified,
  requireAgent,
  requireDataSource,
  requireProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import type { StoredSchedule } from '../../core/domain/flow/sync-source.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { QueryResult } from '../../core/domain/query-result.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { AgentStatement, JobStatement } from '../../sql/dialect/object-statements.ts'
import type { DatabaseStatement } from '../../sql/dialect/parse-table.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { withNativeTexts } from '../../sql/lexer/database-names.ts'
import { alterAgent, createAgent } from '../definitions/define-agent.ts'
import {
  alterDatabase,
  checkDatabase,
  createDatabase,
  createProject,
  dropDatabase,
  dropProject,
  QUICK_CHECK_MS,
} from '../definitions/define-database.ts'
import { describedAgent, describedDatabase } from '../information-schema/object-tables.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { done, type StatementRequest } from '../select/statement-request.ts'

export async function runDatabaseStatement(
  { statement, db }: StatementRequest<DatabaseStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { name } = statement
  const snapshot = deps.catalog.snapshot()
  switch (statement.kind) {
    case 'create_database': {
      const warnings = await createSource(statement, deps, signal)
      return { ...done(db), ...(warnings.length === 0 ? {} : { warnings }) }
    }
    case 'alter_database':
      await alterDatabase(requireDataSource(snapshot, name), statement, deps)
      return done(db)
    case 'drop_database':
      await drop(statement, deps)
      return done(db)
    case 'describe_database': {
      const described = describedDatabase(snapshot, name)
      if (described === undefined) throw notFound('database', name, snapshot.dataSources)
      return { kind: 'table', rows: described, context: { db } }
    }
  }
}

type StatementOf<K extends DatabaseStatement['kind']> = Extract<DatabaseStatement, { kind: K }>

/**
 * @returns the connection error, which does not prevent the creation: the server may only be down
 */
async function createSource(
  { name, engine, parameters, ifNotExists, orReplace }: StatementOf<'create_database'>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const snapshot = deps.catalog.snapshot()
  const known = findProject(snapshot, name) ?? findDataSource(snapshot, name)
  if (known !== undefined && ifNotExists) return []
  if (engine === null) {
    await createProject(name, deps)
    return []
  }
  const created = await createDatabase({ name, engine, parameters }, deps, orReplace)
  const check = await checkDatabase(created, deps, signal, QUICK_CHECK_MS)
  return check.success ? [] : [`${name} was created, but cannot connect: ${check.errorMessage}`]
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
  else if (!ifExists && isProject) throw notFound('project', name, snapshot.projects)
  else if (!ifExists)
    throw notFound('database', name, [...snapshot.dataSources, ...snapshot.projects])
}

export async function runAgentStatement(
  { statement, db }: StatementRequest<AgentStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const agent = findAgentNamed(statement.name, db, deps)
  const { name, project } = statement.name
  const known = () => requireAgent(deps.catalog.snapshot(), project ?? db, name)
  switch (statement.kind) {
    case 'create_agent': {
      if (agent !== undefined && statement.ifNotExists) return done(db)
      const fields = withStatementName(statement.options, name)
      const made = await createAgent(project ?? db, fields, deps)
      return { ...done(db), ...withWarnings(made, deps) }
    }
    case 'alter_agent': {
      const changed = await alterAgent(known(), statement.options, deps)
      return { ...done(db), ...withWarnings(changed, deps) }
    }
    case 'drop_agent':
      if (agent !== undefined || !statement.ifExists) await deps.catalog.dropAgent(known())
      return done(db)
    case 'describe_agent':
      return { kind: 'table', rows: describedAgent(known()), context: { db } }
  }
}

function withWarnings(agent: Agent, { agents }: QueryDeps) {
  const warnings = agents.warningsOf(agent)
  return warnings.length === 0 ? {} : { warnings }
}

function findAgentNamed(name: QualifiedName, db: string, deps: QueryDeps): Agent | undefined {
  const snapshot = deps.catalog.snapshot()
  return findQualified(snapshot, snapshot.agents, name.project ?? db, name.name)
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

/** With the name before it. @throws AppError `invalid_request` for another name */
export function withStatementName(
  options: Readonly<Record<string, unknown>>,
  name: string,
): Readonly<Record<string, unknown>> {
  if (options.name === undefined || options.name === null) return { ...options, name }
  throw new AppError('invalid_request', 'The name comes before USING; leave out the option "name"')
}
