/**
 * Creates keys from REST bodies. A key never has more rights than its creator.
 */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import {
  mayDo,
  type Principal,
  type Role,
  requireNamespace,
  SCOPES,
  type Scope,
} from '../../core/domain/access/principal.ts'
import { checkedName, FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import type {
  AccessKey,
  AccessKeys,
  User,
  UserChanges,
  Users,
} from '../../core/domain/ports/access-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'

export interface AccessDeps {
  readonly keys: AccessKeys
  readonly snapshot: () => CatalogSnapshot
  /** The current time, in milliseconds since 1970. */
  readonly now: () => number
}

/** Bodies of the right shape; `null` is the default of a field. */
interface KeyFields {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly projects?: readonly string[] | null
  readonly expires_at?: string | null
  readonly requests_per_minute?: number | null
}

interface UserFields {
  readonly password: string
  readonly role: Role
  readonly projects?: readonly string[] | null
}

const REQUESTS_PER_MINUTE_MAX = 1_000_000

/** @throws AppError `forbidden` for more rights than the principal has, `key_exists`, … */
export async function createKey(
  fields: KeyFields,
  principal: Principal,
  deps: AccessDeps,
): Promise<{ readonly key: AccessKey; readonly text: string }> {
  const scopes = scopesOf(fields.scopes)
  const above = scopes.find((scope) => !mayDo(principal, scope))
  if (above !== undefined) {
    const message = `A key has at most the scopes of its creator; "${above}" is not among them`
    throw new AppError('forbidden', message)
  }
  return deps.keys.create({
    name: checkedName('key', fields.name),
    scopes,
    namespaces: namespacesOf(fields.projects, principal, deps.snapshot()),
    expiresAt: expiryOf(fields.expires_at, deps.now()),
    requestsPerMinute: requestsOf(fields.requests_per_minute),
    createdBy: shownPrincipal(principal),
  })
}

/** A principal limited to projects sees only keys for these. */
export function visibleKeys(principal: Principal, keys: AccessKeys): readonly AccessKey[] {
  return keys.list().filter(({ namespaces }) => isWithinPrincipal(namespaces, principal))
}

/** Whether the principal may manage a user or key with these projects. */
function isWithinPrincipal(namespaces: readonly string[] | null, principal: Principal): boolean {
  if (principal.namespaces === null) return true
  return namespaces?.every((one) => principal.namespaces?.has(nameKey(one))) ?? false
}

/** A principal's name as shown in the list of keys and the audit log. */
function shownPrincipal({ kind, name }: Principal): string {
  return kind === 'key' ? `key ${name}` : name
}

/** Each once, in the usual order. */
function scopesOf(sent: readonly Scope[]): readonly Scope[] {
  if (sent.length === 0) throw invalid('Field "scopes" must have at least one scope')
  return SCOPES.filter((scope) => sent.includes(scope))
}

/** @throws AppError `project_not_found`, `forbidden`, `invalid_request` */
function namespacesOf(
  sent: readonly string[] | null | undefined,
  principal: Principal,
  snapshot: CatalogSnapshot,
): readonly string[] | null {
  if (sent === undefined || sent === null) {
    if (principal.namespaces === null) return null
    const message = 'Name the projects: you may use some of them only, so "projects" cannot be all'
    throw new AppError('forbidden', message)
  }
  if (sent.length === 0 || sent.length > NAMESPACES_MAX) {
    const expected = 'a list of projects, data sources or "files", at least one, or null for all'
    throw invalid(`Field "projects" must be ${expected}`)
  }
  const databases = [...snapshot.projects, ...snapshot.dataSources]
  const known = new Map([
    [FILES_DATABASE, FILES_DATABASE],
    ...databases.map(({ name }) => [nameKey(name), name] as const),
  ])
  const names = sent.map((name) => {
    requireNamespace(principal, name)
    const found = known.get(nameKey(name))
    if (found === undefined) throw notFound('project', name.slice(0, 200), databases)
    return found
  })
  return [...new Set(names)]
}

const NAMESPACES_MAX = 1_000

function expiryOf(sent: string | null | undefined, nowMs: number): string | null {
  if (sent === undefined || sent === null) return null
  const millis = momentMillis(sent)
  if (Number.isNaN(millis)) {
    const expected =
      'a time such as "2030-01-31", "2030-01-31 12:00:00" (UTC) or "2030-01-31T12:00:00+01:00"'
    throw invalid(`Field "expires_at" must be ${expected}, or null for never`)
  }
  if (millis <= nowMs) throw invalid('Field "expires_at" is in the past')
  return timestampOfMillis(millis)
}

const EXPIRY =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s*(Z|[+-]\d{2}:?\d{2})?)?$/i

/** In milliseconds since 1970, UTC without a time zone. NaN if it cannot be parsed. */
export function momentMillis(text: string): number {
  const [, day, time = '00:00:00', zone = 'Z'] = EXPIRY.exec(text.trim()) ?? []
  return day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone.toUpperCase()}`)
}

function requestsOf(sent: number | null = null): number | null {
  if (sent === null || (sent >= 0 && sent <= REQUESTS_PER_MINUTE_MAX)) return sent
  const expected = `a whole number from 0 (no limit) to ${REQUESTS_PER_MINUTE_MAX}`
  throw invalid(`Field "requests_per_minute" must be ${expected}`)
}

function invalid(message: string): AppError {
  return new AppError('invalid_request', message)
}

export interface UserDeps {
  readonly users: Users
  readonly snapshot: () => CatalogSnapshot
  /** The name of the user defined in the settings; undefined if login is off. */
  readonly firstAdmin: string | undefined
}

/** A user as shown in lists. Id 0 is the user defined in the settings. */
export type ListedUser = Omit<User, 'createdAt' | 'updatedAt'> & {
  readonly createdAt: string | null
  readonly updatedAt: string | null
}

const PASSWORD_CHARS_MIN = 8
/** A limit, because long passwords take longer to hash. */
const PASSWORD_CHARS_MAX = 1_024

/** The settings' user first. A principal limited to projects sees only those with these. */
export function visibleUsers(principal: Principal, deps: UserDeps): readonly ListedUser[] {
  const first: readonly ListedUser[] =
    deps.firstAdmin === undefined ? [] : [firstAdminOf(deps.firstAdmin)]
  return [...first, ...deps.users.list()].filter(({ namespaces }) => {
    return isWithinPrincipal(namespaces, principal)
  })
}

/** @throws AppError `user_exists`, `login_off`, `forbidden`, `invalid_request`, … */
export async function createUser(
  fields: UserFields & { readonly name: string },
  principal: Principal,
  deps: UserDeps,
  signal: AbortSignal,
): Promise<User> {
  if (deps.firstAdmin === undefined) {
    const how = 'Set EIDER_USERNAME and EIDER_PASSWORD first; their user is the first admin'
    throw new AppError('login_off', `Without a login there are no passwords. ${how}`)
  }
  const name = checkedName('user', fields.name)
  if (nameKey(name) === nameKey(deps.firstAdmin)) {
    throw new AppError('user_exists', `A user named ${name} exists already, in the settings`)
  }
  const namespaces = namespacesOf(fields.projects, principal, deps.snapshot())
  const password = checkedPassword(fields.password)
  const createdBy = shownPrincipal(principal)
  return deps.users.create({ name, password, role: fields.role, namespaces, createdBy }, signal)
}

/** @throws AppError `user_of_settings`, `forbidden`, `invalid_request`, … */
export function userChanges(
  found: ListedUser,
  fields: Partial<UserFields>,
  principal: Principal,
  { snapshot }: UserDeps,
): UserChanges {
  refuseFirstAdmin(found)
  const { password, role, projects } = fields
  const changes: UserChanges = {
    ...(password === undefined ? {} : { password: checkedPassword(password) }),
    ...(role && { role }),
    ...(projects !== undefined && { namespaces: namespacesOf(projects, principal, snapshot()) }),
  }
  if (Object.keys(changes).length === 0) {
    throw invalid('Nothing to change: send "password", "role" or "projects"')
  }
  return changes
}

/** @throws AppError `user_of_settings` for the user defined in the settings */
export function refuseFirstAdmin({ id, name }: Pick<ListedUser, 'id' | 'name'>): void {
  if (id !== 0) return
  const how = 'change EIDER_USERNAME and EIDER_PASSWORD and start the server again'
  throw new AppError('user_of_settings', `${name} is the user defined in the settings: ${how}`)
}

/** @throws AppError `invalid_request` if it is not a valid password */
export function checkedPassword(password: string): string {
  const { length } = password
  if (length >= PASSWORD_CHARS_MIN && length <= PASSWORD_CHARS_MAX) return password
  const expected = `${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters`
  throw invalid(`Field "password" must be a string of ${expected}`)
}

function firstAdminOf(name: string): ListedUser {
  const times = { createdAt: null, updatedAt: null }
  return { id: 0, name, role: 'admin', namespaces: null, createdBy: 'settings', ...times }
}
