/**
 * CREATE, ALTER, DROP and DESCRIBE of agents, databases (data sources and projects), scheduled jobs
 * and views.
 */
import {
  findDataSource,
  findProject,
  findQualified,
  requireAgent,
  requireDataSource,
  requireProject,
  requireView,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import { nameKey, type View } from '../../core/domain/names.ts'
import { AppError, hasCode, notFound } from '../../core/errors.ts'
import type { SourceSelect } from '../../sql/dialect/source-select.ts'
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
import type { Outcome, Runs } from '../select/statement-request.ts'
import { alterView, createView } from '../select/views.ts'

export const DEFINITION_RUNS = {
  create_agent: async ({ statement: { name, options, ifNotExists }, db }, deps) => {
    if (ifNotExists && isThere('agents', name, db, deps)) return {}
    const fields = withStatementName(options, name.name)
    return warningsOf(await createAgent(name.project ?? db, fields, deps), deps)
  },
  alter_agent: async ({ statement: { name, options }, db }, deps) => {
    return warningsOf(await alterAgent(knownAgent(name, db, deps), options, deps), deps)
  },
  drop_agent: async ({ statement: { name, ifExists }, db }, deps) => {
    if (ifExists && !isThere('agents', name, db, deps)) return {}
    await deps.catalog.dropAgent(knownAgent(name, db, deps))
    return {}
  },
  describe_agent: async ({ statement: { name }, db }, deps) => {
    return { rows: describedAgent(knownAgent(name, db, deps)) }
  },

  create_database: async ({ statement }, deps, signal) => {
    const { name, engine, parameters, ifNotExists, orReplace } = statement
    const snapshot = deps.catalog.snapshot()
    const known = findProject(snapshot, name) ?? findDataSource(snapshot, name)
    if (known !== undefined && ifNotExists) return {}
    if (engine === null) {
      await createProject(name, deps)
      return {}
    }
    const created = await createDatabase({ name, engine, parameters }, deps, orReplace)
    const check = await checkDatabase(created, deps, signal, QUICK_CHECK_MS)
    if (check.success) return {}
    // The server may only be down.
    return { warnings: [`${name} was created, but cannot connect: ${check.errorMessage}`] }
  },
  alter_database: async ({ statement }, deps) => {
    await alterDatabase(requireDataSource(deps.catalog.snapshot(), statement.name), statement, deps)
    return {}
  },
  drop_database: async ({ statement: { name, ifExists, isProject } }, deps) => {
    const snapshot = deps.catalog.snapshot()
    const project = findProject(snapshot, name)
    const source = isProject ? undefined : findDataSource(snapshot, name)
    if (project !== undefined) await dropProject(project, deps)
    else if (source !== undefined) await dropDatabase(source, deps)
    else if (!ifExists && isProject) throw notFound('project', name, snapshot.projects)
    else if (!ifExists)
      throw notFound('database', name, [...snapshot.dataSources, ...snapshot.projects])
    return {}
  },
  describe_database: async ({ statement: { name } }, deps) => {
    const snapshot = deps.catalog.snapshot()
    const rows = describedDatabase(snapshot, name)
    if (rows === undefined) throw notFound('database', name, snapshot.dataSources)
    return { rows }
  },

  create_job: async ({ statement, db }, deps) => {
    const { name, ifNotExists, start, end, every } = statement
    const { project, known } = findJob(name, db, deps)
    if (known !== undefined && ifNotExists) return {}
    const query = withNativeTexts(statement.query)
    const ifQuery = statement.ifQuery === null ? null : withNativeTexts(statement.ifQuery)
    await deps.schedules.create({ project, name: name.name, query, ifQuery, start, end, every })
    return {}
  },
  drop_job: async ({ statement: { name, ifExists }, db }, deps) => {
    const { known } = findJob(name, db, deps)
    if (known !== undefined) await deps.schedules.drop(known)
    else if (!ifExists) throw notFound('schedule', name.name)
    return {}
  },

  create_view: async ({ statement, db }, deps, signal) => {
    const { name, source, orReplace, ifNotExists } = statement
    if (ifNotExists && isThere('views', name, db, deps)) return {}
    const named = { project: name.project ?? db, name: name.name }
    try {
      await createView({ ...named, ...viewDefinition(source, db), orReplace }, deps, signal)
    } catch (error) {
      const isTaken = hasCode(error, 'relation_exists') && isThere('views', name, db, deps)
      // Another statement created it in the meantime.
      if (!ifNotExists || !isTaken) throw error
    }
    return {}
  },
  alter_view: async ({ statement: { name, source }, db }, deps, signal) => {
    const view = requireView(deps.catalog.snapshot(), name.project ?? db, name.name)
    await alterView(view, viewDefinition(source, db), deps, signal)
    return {}
  },
  drop_view: async ({ statement: { name, ifExists }, db }, deps) => {
    if (ifExists && !isThere('views', name, db, deps)) return {}
    const view = requireView(deps.catalog.snapshot(), name.project ?? db, name.name)
    await deps.catalog.dropView(view)
    return {}
  },
} satisfies Partial<Runs>

function isThere(
  kind: 'agents' | 'views',
  { project, name }: QualifiedName,
  db: string,
  { catalog }: QueryDeps,
): boolean {
  const snapshot = catalog.snapshot()
  return findQualified<Agent | View>(snapshot, snapshot[kind], project ?? db, name) !== undefined
}

function knownAgent({ project, name }: QualifiedName, db: string, { catalog }: QueryDeps): Agent {
  return requireAgent(catalog.snapshot(), project ?? db, name)
}

function warningsOf(agent: Agent, { agents }: QueryDeps): Outcome {
  const warnings = agents.warningsOf(agent)
  return warnings.length === 0 ? {} : { warnings }
}

function findJob({ project: qualifier, name }: QualifiedName, db: string, deps: QueryDeps) {
  const project = requireProject(deps.catalog.snapshot(), qualifier ?? db)
  const known = deps.schedules.store.list().find((one) => {
    return one.projectId === project.id && nameKey(one.name) === nameKey(name)
  })
  return { project, known }
}

function viewDefinition({ select, database }: SourceSelect, db: string) {
  return { sql: select, database: database ?? db }
}

/** With the name before it. @throws AppError `invalid_request` for another name */
export function withStatementName(
  options: Readonly<Record<string, unknown>>,
  name: string,
): Readonly<Record<string, unknown>> {
  if (options.name === undefined || options.name === null) return { ...options, name }
  throw new AppError('invalid_request', 'The name comes before USING; leave out the option "name"')
}
