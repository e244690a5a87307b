/**
 * CREATE, ALTER, DROP and DESCRIBE of agents, databases (data sources and projects) and scheduled
 * jobs.
 */
import {
  findDataSource,
  findProject,
  findQualified,
  requireDataSource,
  required,
  requireProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { Principal } from '../../core/domain/access/principal.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import type { StoredSchedule } from '../../core/domain/flow/sync-source.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { AccessKey } from '../../core/domain/ports/access-ports.ts'
import { type QueryResult, rowsOf } from '../../core/domain/query-result.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type {
  AccessStatement,
  AgentStatement,
  JobStatement,
} from '../../sql/dialect/object-statements.ts'
import type { DatabaseStatement } from '../../sql/dialect/parse-table.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { withNativeTexts } from '../../sql/lexer/database-names.ts'
import { alterAgent, createAgent, dropAgent } from '../definitions/define-agent.ts'
import {
  alterDatabase,
  checkDatabase,
  createDatabase,
  createProject,
  dropDatabase,
  dropProject,
  QUICK_CHECK_MS,
} from '../definitions/define-database.ts'
import {
  createKey,
  createUser,
  type ListedUser,
  refuseFirstAdmin,
  type UserDeps,
  userChanges,
  visibleKeys,
  visibleUsers,
} from '../definitions/define-user.ts'
import { describedAgent, describedDatabase } from '../information-schema/object-tables.ts'
import { rowsSql, schemaColumns } from '../information-schema/schema-table.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { done, type StatementRequest } from '../select/statement-request.ts'
import { runComposedSelect } from '../select/views.ts'
import { narrowedSelect, type Shown } from './show-select.ts'

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
      if (described === undefined) throw notFound('database', name)
      return { kind: 'table', rows: rowsOf(described.columns, described.rows), context: { db } }
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
      const changed = await alterAgent(
        required('agent', agent, statement.name.name),
        statement.options,
        deps,
      )
      return { ...done(db), ...withWarnings(changed, deps) }
    }
    case 'drop_agent':
      if (agent !== undefined || !statement.ifExists) {
        await dropAgent(required('agent', agent, statement.name.name), deps)
      }
      return done(db)
    case 'describe_agent': {
      const { columns, rows } = describedAgent(required('agent', agent, statement.name.name))
      return { kind: 'table', rows: rowsOf(columns, rows), context: { db } }
    }
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

/** @throws AppError `sql_not_supported` without a principal; errors of the definitions */
export async function runAccessStatement(
  request: StatementRequest<AccessStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  const { author } = deps
  if (author === undefined) throw needsSomebody()
  switch (statement.kind) {
    case 'create_key':
      return createKeyOf(statement, db, author, deps)
    case 'drop_key':
      await dropKey(statement, author, deps)
      return done(db)
    case 'show_keys':
    case 'show_users': {
      const isKeys = statement.kind === 'show_keys'
      const shown = isKeys ? shownKeys(author, deps) : shownUsers(author, deps)
      const sql = narrowedSelect(shown, statement.narrowing)
      const rows = await runComposedSelect(
        { sql, database: db, params: request.params },
        deps,
        signal,
      )
      return { kind: 'table', rows, context: { db } }
    }
    case 'create_user':
    case 'alter_user':
    case 'drop_user':
      await changeUsers(statement, author, deps, signal)
      return done(db)
  }
}

/** Schedules have no user's rights to pass on, and must not keep a password in their text. */
export function needsSomebody(): AppError {
  const message = 'Keys and users are made, changed and shown by requests, not by a job'
  return new AppError('sql_not_supported', message)
}

type AccessOf<K extends AccessStatement['kind']> = Extract<AccessStatement, { kind: K }>

/** Returns one row, the only one that ever contains the key's text. */
async function createKeyOf(
  { name, options }: AccessOf<'create_key'>,
  db: string,
  author: Principal,
  deps: QueryDeps,
): Promise<QueryResult> {
  const snapshot = () => deps.catalog.snapshot()
  const fields = withStatementName(options, name)
  const { key, text } = await createKey(fields, author, { ...deps.access, snapshot })
  const { scopes, namespaces, expiresAt } = key
  const row = [key.id, key.name, text, scopes.join(', '), joinedNames(namespaces), expiresAt]
  const rows = rowsOf(['id', 'name', 'key', 'scopes', 'projects', 'expires_at'], [row])
  return { kind: 'table', rows, context: { db } }
}

async function dropKey(
  { name, ifExists }: AccessOf<'drop_key'>,
  author: Principal,
  { access }: QueryDeps,
): Promise<void> {
  const found = visibleKeys(author, access.keys).find((key) => nameKey(key.name) === nameKey(name))
  if (found !== undefined) {
    await access.keys.remove(found.id)
    access.dropSessions(`key ${found.id}`)
  } else if (!ifExists) {
    const message = `There is no key named ${name.slice(0, 100)}; SHOW KEYS lists them`
    throw new AppError('key_not_found', message)
  }
}

async function changeUsers(
  statement: AccessOf<'create_user' | 'alter_user' | 'drop_user'>,
  author: Principal,
  { access, catalog }: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  const { users } = access
  const deps: UserDeps = { ...access, snapshot: () => catalog.snapshot() }
  const found = visibleUsers(author, deps).find(({ name }) => {
    return nameKey(name) === nameKey(statement.name)
  })
  switch (statement.kind) {
    case 'create_user':
      if (found !== undefined && statement.ifNotExists) return
      await createUser(withStatementName(statement.options, statement.name), author, deps, signal)
      return
    case 'alter_user': {
      const user = existingUser(found, statement.name)
      await users.change(user.id, userChanges(user, statement.options, author, deps), signal)
      return
    }
    case 'drop_user': {
      if (found === undefined && statement.ifExists) return
      const user = existingUser(found, statement.name)
      refuseFirstAdmin(user)
      await users.remove(user.id)
    }
  }
}

/** @throws AppError `user_not_found` */
function existingUser(found: ListedUser | undefined, name: string): ListedUser {
  if (found !== undefined) return found
  const message = `There is no user named ${name.slice(0, 100)}; SHOW USERS lists them`
  throw new AppError('user_not_found', message)
}

/** A SQL list; null means all. */
function joinedNames(names: readonly string[] | null): string | null {
  return names === null ? null : names.join(', ')
}

const KEY_COLUMNS = schemaColumns(
  `name prefix scopes projects requests_per_minute:BIGINT created_by created_at:TIMESTAMP
   expires_at:TIMESTAMP last_used_at:TIMESTAMP`,
)
const USER_COLUMNS = schemaColumns(
  'name role projects created_by created_at:TIMESTAMP updated_at:TIMESTAMP',
)

function shownKeys(author: Principal, { access }: QueryDeps): Shown {
  const rows = visibleKeys(author, access.keys).map((key: AccessKey) => ({
    name: key.name,
    prefix: key.prefix,
    scopes: key.scopes.join(', '),
    projects: joinedNames(key.namespaces),
    requests_per_minute: key.requestsPerMinute,
    created_by: key.createdBy,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    last_used_at: key.lastUsedAt,
  }))
  return { sql: rowsSql(KEY_COLUMNS, rows), likeColumn: 'name' }
}

function shownUsers(author: Principal, { access, catalog }: QueryDeps): Shown {
  const deps: UserDeps = { ...access, snapshot: () => catalog.snapshot() }
  const rows = visibleUsers(author, deps).map((user) => ({
    name: user.name,
    role: user.role,
    projects: joinedNames(user.namespaces),
    created_by: user.createdBy,
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  }))
  return { sql: rowsSql(USER_COLUMNS, rows), likeColumn: 'name' }
}
