/** CREATE, ALTER, DROP and SHOW of keys and users. */

import type { Principal } from '../../core/domain/access/principal.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import type { AccessKey } from '../../core/domain/ports/access-ports.ts'
import { type QueryResult, rowsOf } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import type { AccessStatement } from '../../sql/dialect/parse-access.ts'
import type { Statement } from '../../sql/dialect/parse-statement.ts'
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
import { rowsSql, schemaColumns } from '../information-schema/schema-table.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { done, type StatementRequest } from '../select/statement-request.ts'
import { runComposedSelect } from '../select/views.ts'
import { withStatementName } from './run-definition.ts'
import { narrowedSelect, type Shown } from './show-select.ts'

/** @throws AppError `sql_not_supported` where nobody asks, and those of the definitions */
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

const ACCESS_STATEMENTS: ReadonlySet<string> = new Set<AccessStatement['kind']>([
  'create_key',
  'drop_key',
  'show_keys',
  'create_user',
  'alter_user',
  'drop_user',
  'show_users',
])

export function isOfAccess(statement: Statement): statement is AccessStatement {
  return ACCESS_STATEMENTS.has(statement.kind)
}

/** What runs by itself has nobody's rights to give away, and keeps no password in its text. */
export function needsSomebody(): AppError {
  const message = 'Keys and users are made, changed and shown by requests, not by a job'
  return new AppError('sql_not_supported', message)
}

type StatementOf<K extends AccessStatement['kind']> = Extract<AccessStatement, { kind: K }>

/** One row, the only one that ever has the text of the key. */
async function createKeyOf(
  { name, options }: StatementOf<'create_key'>,
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
  { name, ifExists }: StatementOf<'drop_key'>,
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
  statement: StatementOf<'create_user' | 'alter_user' | 'drop_user'>,
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
      const user = existing(found, statement.name)
      await users.change(user.id, userChanges(user, statement.options, author, deps), signal)
      return
    }
    case 'drop_user': {
      if (found === undefined && statement.ifExists) return
      const user = existing(found, statement.name)
      refuseFirstAdmin(user)
      await users.remove(user.id)
    }
  }
}

/** @throws AppError `user_not_found` */
function existing(found: ListedUser | undefined, name: string): ListedUser {
  if (found !== undefined) return found
  const message = `There is no user named ${name.slice(0, 100)}; SHOW USERS lists them`
  throw new AppError('user_not_found', message)
}

/** As a list is written in SQL; null: all. */
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
