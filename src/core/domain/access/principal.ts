import { AppError } from '../../errors.ts'
import { nameKey } from '../names.ts'

/** Who is making a request, and what the caller may do. */

/**
 * What a caller may do. No scope includes another, except that `admin` includes all:
 * - `read`: definitions, searches, SELECT, documents, files
 * - `write`: changes in projects and files: documents, rows, knowledge bases, tables, views, agents
 * - `ask`: questions to agents, including the data they read
 * - `admin`: everything else too: keys, users, the audit log, data sources, scheduled work, backups
 */
export const SCOPES = ['read', 'write', 'ask', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

export const ROLE_SCOPES = {
  admin: SCOPES,
  editor: ['read', 'write', 'ask'],
  viewer: ['read', 'ask'],
} as const satisfies Readonly<Record<string, readonly Scope[]>>
export type Role = keyof typeof ROLE_SCOPES

/** `open`: a client that did not identify itself, on a server without a login. */
export type PrincipalKind = 'open' | 'user' | 'key'

export interface Principal {
  readonly kind: PrincipalKind
  /** The id of a user or key, unique within its kind; empty for `open`. */
  readonly id: string
  /** The name shown in messages and the audit log. */
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  /** Projects, `files`, data sources, in lower case; null means all. */
  readonly namespaces: ReadonlySet<string> | null
}

/** The principal of every request on a server without a login. */
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
  const isUser = principal.kind === 'user'
  const way = isUser ? "change the user's role" : 'create a key that has it (POST /api/keys)'
  throw new AppError('forbidden', `${missing}; an admin can ${way}`)
}

/** For actions on the whole server, as an unlimited admin. @throws AppError `forbidden` */
export function requireEverything(principal: Principal): void {
  requireScope(principal, 'admin')
  if (principal.namespaces === null) return
  const message = `${principal.name} is limited to some projects, and this affects others too`
  throw new AppError('forbidden', message)
}

/** Whether the principal may use a project, `files` or a data source. */
export function mayName({ namespaces }: Principal, namespace: string): boolean {
  return namespaces === null || namespaces.has(namespace.toLowerCase())
}

/** Throws the same error whether or not the namespace exists. @throws AppError `forbidden` */
export function requireNamespace(principal: Principal, namespace: string): void {
  if (mayName(principal, namespace)) return
  throw new AppError('forbidden', `${principal.name} may not use "${namespace.slice(0, 100)}"`)
}

/** Who asked a question, stored with the question. */
export interface Asker {
  /** For example `key 3` or `user 1`; null if unknown. */
  readonly by: string | null
  /** Whether this asker also sees questions from others. */
  readonly seesAll: boolean
}

/** The server itself, for work without a caller. */
export const NOBODY: Asker = { by: null, seesAll: false }

export function askerOf(principal: Principal): Asker {
  const { kind, id } = principal
  return { by: kind === 'open' ? null : `${kind} ${id}`, seesAll: mayDo(principal, 'admin') }
}

/** Only principals that see all may see a question whose asker is unknown. */
export function maySeeAsked({ by, seesAll }: Asker, askedBy: string | null): boolean {
  return seesAll || (askedBy !== null && askedBy === by)
}

/** A principal's rights as JSON, stored with work that runs on after the request. */

export interface Rights {
  /** Whether knowledge bases, tables, views and definitions may be read. */
  readonly read: boolean
  /** Whether agents' answers may be read. */
  readonly ask: boolean
  /** In lower case, sorted; null means all. */
  readonly namespaces: readonly string[] | null
}

/** Returns null if the principal may use everything. */
export function rightsOf(principal: Principal): Rights | null {
  const { namespaces } = principal
  const [read, ask] = [mayDo(principal, 'read'), mayDo(principal, 'ask')]
  const named = namespaces === null ? null : [...namespaces].map(nameKey).toSorted()
  return read && ask && named === null ? null : { read, ask, namespaces: named }
}

/** Whether `own` includes every right in `needed`. */
export function covers(own: Rights | null, needed: Rights | null): boolean {
  if (own === null) return true
  if (needed === null) return false
  const { namespaces } = own
  const isNamed =
    namespaces === null || needed.namespaces?.every((name) => namespaces.includes(name))
  return isNamed === true && (own.read || !needed.read) && (own.ask || !needed.ask)
}

/** MySQL-like databases have these; each caller sees only its own rows. */
const EVERYBODYS: ReadonlySet<string> = new Set(['information_schema', 'log'])

export function sees(rights: Rights | null | undefined, namespace: string): boolean {
  const namespaces = rights?.namespaces ?? null
  if (namespaces === null) return true
  const key = nameKey(namespace)
  return EVERYBODYS.has(key) || namespaces.includes(key)
}

/** Throws the same error whether or not the namespace exists. @throws AppError `forbidden` */
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
    `${missing}; an admin can create a key that has it (POST /api/keys)`,
  )
}
