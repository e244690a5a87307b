import { AppError } from '../../errors.ts'
import { nameKey } from '../names.ts'

/** Who makes a request, and what it may do. */

/**
 * What a caller may do. None includes another, except that `admin` includes all:
 * - `read`: definitions, searches, SELECT, documents, files
 * - `write`: changes of what projects and files hold: documents, rows, knowledge bases, tables, views, agents
 * - `ask`: questions to agents, including the data they read
 * - `admin`: everything else too: keys, users, the audit log, data sources, scheduled work, backups
 */
export const SCOPES = ['read', 'write', 'ask', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

/** The scopes of each role. */
export const ROLE_SCOPES = {
  admin: SCOPES,
  editor: ['read', 'write', 'ask'],
  viewer: ['read', 'ask'],
} as const satisfies Readonly<Record<string, readonly Scope[]>>
export type Role = keyof typeof ROLE_SCOPES

/** `open`: a server without a login, for a client that did not identify itself. */
export type PrincipalKind = 'open' | 'user' | 'key'

/** The user or key that makes a request. */
export interface Principal {
  readonly kind: PrincipalKind
  /** The id of a user or key, unique within its kind; empty for `open`. */
  readonly id: string
  /** As people know it, for messages and the audit log. */
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  /** The namespaces of SQL that it may name: projects, `files`, data sources; in lower case. null: all. */
  readonly namespaces: ReadonlySet<string> | null
}

/** Everyone, on a server without a login. */
export const ANYONE: Principal = {
  kind: 'open',
  id: '',
  name: 'anyone',
  scopes: new Set(SCOPES),
  namespaces: null,
}

export function mayDo({ scopes }: Principal, scope: Scope): boolean {
  return scopes.has(scope) || scopes.has('admin')
}

/** @throws AppError `forbidden` */
export function requireScope(principal: Principal, scope: Scope): void {
  if (mayDo(principal, scope)) return
  const missing = `${principal.name} lacks the scope "${scope}" that this needs`
  throw new AppError(
    'forbidden',
    `${missing}; an admin can make a key that has it (POST /api/keys)`,
  )
}

/** For things beyond single projects: an admin of some projects is not enough. @throws AppError `forbidden` */
export function requireEverything(principal: Principal): void {
  requireScope(principal, 'admin')
  if (principal.namespaces === null) return
  const message = `${principal.name} may use some projects only, and this reaches beyond them`
  throw new AppError('forbidden', message)
}

/** Whether it may name a project, `files` or a data source. */
export function mayName({ namespaces }: Principal, namespace: string): boolean {
  return namespaces === null || namespaces.has(namespace.toLowerCase())
}

/** The same answer whether the namespace exists or not. @throws AppError `forbidden` */
export function requireNamespace(principal: Principal, namespace: string): void {
  if (mayName(principal, namespace)) return
  throw new AppError('forbidden', `${principal.name} may not use "${namespace.slice(0, 100)}"`)
}

/** The asker of a question, as stored with it. */
export interface Asker {
  /** `key 3`, `user 1`. null: unknown. */
  readonly by: string | null
  /** Including what others asked. */
  readonly seesAll: boolean
}

/** The server itself. */
export const NOBODY: Asker = { by: null, seesAll: false }

export function askerOf(principal: Principal): Asker {
  const { kind, id } = principal
  return { by: kind === 'open' ? null : `${kind} ${id}`, seesAll: mayDo(principal, 'admin') }
}

/** Questions without a known asker are for principals that see all. */
export function maySeeAsked({ by, seesAll }: Asker, askedBy: string | null): boolean {
  return seesAll || (askedBy !== null && askedBy === by)
}

/** A principal's rights, stored with work that continues without it. JSON. */

export interface Rights {
  /** The right to read knowledge bases, tables, views and definitions. */
  readonly read: boolean
  /** The right to read agents' answers. */
  readonly ask: boolean
  /** In lower case, in their order; null: all. */
  readonly namespaces: readonly string[] | null
}

/** null: everything. */
export function rightsOf(principal: Principal): Rights | null {
  const { namespaces } = principal
  const [read, ask] = [mayDo(principal, 'read'), mayDo(principal, 'ask')]
  const named = namespaces === null ? null : [...namespaces].map(nameKey).toSorted()
  return read && ask && named === null ? null : { read, ask, namespaces: named }
}

/** Whether the owner of the first may have done what the second was needed for. */
export function covers(own: Rights | null, needed: Rights | null): boolean {
  if (own === null) return true
  if (needed === null) return false
  const { namespaces } = own
  const isNamed =
    namespaces === null || needed.namespaces?.every((name) => namespaces.includes(name))
  return isNamed === true && (own.read || !needed.read) && (own.ask || !needed.ask)
}

/** The namespaces of every MySQL-like database, besides projects. Each caller sees their own part. */
const EVERYBODYS: ReadonlySet<string> = new Set(['information_schema', 'log'])

export function sees(rights: Rights | null | undefined, namespace: string): boolean {
  const namespaces = rights?.namespaces ?? null
  if (namespaces === null) return true
  const key = nameKey(namespace)
  return EVERYBODYS.has(key) || namespaces.includes(key)
}

/** The same answer whether the namespace exists or not. @throws AppError `forbidden` */
export function requireSeen(rights: Rights | null | undefined, namespace: string): void {
  if (sees(rights, namespace)) return
  throw new AppError('forbidden', `This key or user may not use "${namespace.slice(0, 100)}"`)
}

/** @throws AppError `forbidden` */
export function requireRight(rights: Rights | null | undefined, right: 'read' | 'ask'): void {
  if (rights?.[right] !== false) return
  const missing = `This key or user lacks the scope "${right}" that this needs`
  throw new AppError(
    'forbidden',
    `${missing}; an admin can make a key that has it (POST /api/keys)`,
  )
}
