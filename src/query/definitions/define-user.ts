/** Users, as REST bodies and SQL statements make them. */

import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { type Principal, ROLE_SCOPES, type Role } from '../../core/domain/access/principal.ts'
import { checkedName, nameKey } from '../../core/domain/identifier.ts'
import type { User, UserChanges, Users } from '../../core/domain/ports/access-ports.ts'
import { AppError } from '../../core/errors.ts'
import { isWithinPrincipal, namespacesOf, shownPrincipal } from './define-key.ts'
import type { Fields } from './fields.ts'

export interface UserDeps {
  readonly users: Users
  readonly snapshot: () => CatalogSnapshot
  /** Of the user of the settings; undefined: the login is off. */
  readonly firstAdmin: string | undefined
}

/** A user as lists show them; id 0 is the one of the settings. */
export type ListedUser = Omit<User, 'createdAt' | 'updatedAt'> & {
  readonly createdAt: string | null
  readonly updatedAt: string | null
}

const PASSWORD_CHARS_MIN = 8
/** Hashing a longer one takes longer. */
const PASSWORD_CHARS_MAX = 1_024

/** The one of the settings first. Whoever is limited to some projects sees no others. */
export function visibleUsers(principal: Principal, deps: UserDeps): readonly ListedUser[] {
  const first: readonly ListedUser[] =
    deps.firstAdmin === undefined ? [] : [firstAdminOf(deps.firstAdmin)]
  return [...first, ...deps.users.list()].filter(({ namespaces }) => {
    return isWithinPrincipal(namespaces, principal)
  })
}

/** @throws AppError `user_exists`, `login_off`, `forbidden`, `invalid_request`, … */
export async function createUser(
  fields: Fields,
  principal: Principal,
  deps: UserDeps,
  signal: AbortSignal,
): Promise<User> {
  refuseUnknown(fields, ['name', 'password', 'role', 'projects'])
  if (deps.firstAdmin === undefined) {
    const how = 'Set EIDER_USERNAME and EIDER_PASSWORD first; their user is the first admin'
    throw new AppError('login_off', `Without a login nobody is asked for a password. ${how}`)
  }
  const { name } = fields
  if (typeof name !== 'string') throw invalid('Field "name" must be a string')
  checkedName('user', name)
  if (nameKey(name) === nameKey(deps.firstAdmin)) {
    throw new AppError('user_exists', `A user named ${name} exists already, in the settings`)
  }
  const namespaces = namespacesOf(fields.projects, principal, deps.snapshot())
  const password = checkedPassword(fields.password)
  const role = roleOf(fields.role)
  const createdBy = shownPrincipal(principal)
  return deps.users.create({ name, password, role, namespaces, createdBy }, signal)
}

/** What is to be changed of a user. @throws AppError `user_of_settings`, `forbidden`, `invalid_request`, … */
export function userChanges(
  found: ListedUser,
  fields: Fields,
  principal: Principal,
  { snapshot }: UserDeps,
): UserChanges {
  refuseUnknown(fields, ['password', 'role', 'projects'])
  refuseFirstAdmin(found)
  const { password, role, projects } = fields
  const changes: UserChanges = {
    ...(password === undefined ? {} : { password: checkedPassword(password) }),
    ...(role === undefined ? {} : { role: roleOf(role) }),
    ...(projects === undefined
      ? {}
      : { namespaces: namespacesOf(projects, principal, snapshot()) }),
  }
  if (Object.keys(changes).length === 0) {
    throw invalid('Nothing to change: send "password", "role" or "projects"')
  }
  return changes
}

/** @throws AppError `user_of_settings` */
export function refuseFirstAdmin({ id, name }: Pick<ListedUser, 'id' | 'name'>): void {
  if (id !== 0) return
  const how = 'change EIDER_USERNAME and EIDER_PASSWORD and start the server again'
  throw new AppError('user_of_settings', `${name} is the user of the settings: ${how}`)
}

/** @throws AppError `invalid_request` */
export function checkedPassword(password: unknown): string {
  const length = typeof password === 'string' ? password.length : 0
  if (
    typeof password === 'string' &&
    length >= PASSWORD_CHARS_MIN &&
    length <= PASSWORD_CHARS_MAX
  ) {
    return password
  }
  const expected = `${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters`
  throw invalid(`Field "password" must be a string of ${expected}`)
}

function firstAdminOf(name: string): ListedUser {
  const times = { createdAt: null, updatedAt: null }
  return { id: 0, name, role: 'admin', namespaces: null, createdBy: 'settings', ...times }
}

function roleOf(sent: unknown): Role {
  for (const role of ['admin', 'editor', 'viewer'] as const) if (sent === role) return role
  const expected = Object.keys(ROLE_SCOPES).map((role) => `"${role}"`)
  throw invalid(`Field "role" must be one of ${expected.join(', ')}`)
}

function refuseUnknown(fields: Fields, known: readonly string[]): void {
  const unknown = Object.keys(fields).find((name) => !known.includes(name))
  if (unknown === undefined) return
  const message = `Unknown field "${unknown.slice(0, 100)}"; expected ${known.join(', ')}`
  throw new AppError('unknown_field', message)
}

function invalid(message: string): AppError {
  return new AppError('invalid_request', message)
}
