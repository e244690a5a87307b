/** API keys, users with passwords, and the audit log. */
import type { Principal, PrincipalKind, Role, Scope } from '../access/principal.ts'

/** An API key without its secret. */
export interface AccessKey {
  readonly id: number
  readonly name: string
  /** The start of the key's text. */
  readonly prefix: string
  readonly scopes: readonly Scope[]
  /** As given; null means all. */
  readonly namespaces: readonly string[] | null
  /** null means the default from the settings; 0 means unlimited. */
  readonly requestsPerMinute: number | null
  /** The name of the principal that created the key. */
  readonly createdBy: string
  readonly createdAt: string
  readonly expiresAt: string | null
  /** Accurate to the minute. */
  readonly lastUsedAt: string | null
}

export type NewAccessKey = Pick<
  AccessKey,
  'name' | 'scopes' | 'namespaces' | 'requestsPerMinute' | 'createdBy' | 'expiresAt'
>

/** A presented key with its rights. The same object is returned as long as the key exists. */
export interface KnownKey {
  readonly id: number
  readonly principal: Principal
  readonly requestsPerMinute: number | null
  /** Milliseconds since 1970. */
  readonly expiresMs: number
}

export interface AccessKeys {
  /** Oldest first. */
  list(): readonly AccessKey[]
  /**
   * @returns the key's record, and its text, which is not stored @throws AppError `key_exists`,
   * `too_many_keys`
   */
  create(draft: NewAccessKey): Promise<{ readonly key: AccessKey; readonly text: string }>
  /** The key stops working before this resolves. @throws AppError `key_not_found` */
  remove(id: number): Promise<void>
  /** Looks the key up in memory; undefined if there is none with this text. */
  find(text: string): KnownKey | undefined
  /** Records that the key was used, along with the next write. */
  noteUse(id: number): void
}

/** The prefix of every key. */
export const KEY_PREFIX = 'eider_'

export interface User {
  readonly id: number
  readonly name: string
  readonly role: Role
  /** As given; null means all. */
  readonly namespaces: readonly string[] | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
}

export type NewUser = Pick<User, 'name' | 'role' | 'namespaces' | 'createdBy'> & {
  readonly password: string
}

/** Missing fields stay unchanged. */
export type UserChanges = Partial<Pick<NewUser, 'role' | 'namespaces' | 'password'>>

export interface KnownUser {
  readonly id: number
  readonly principal: Principal
  /** Changes with the password, which invalidates all earlier tokens. */
  readonly mark: string
}

export interface Users {
  /** Oldest first. */
  list(): readonly User[]
  /** @throws AppError `user_exists`, or `too_many_logins` if too many passwords are being hashed */
  create(draft: NewUser, signal: AbortSignal): Promise<User>
  /** @throws AppError `user_not_found`, `too_many_logins` */
  change(id: number, changes: UserChanges, signal: AbortSignal): Promise<User>
  /** @throws AppError `user_not_found` */
  remove(id: number): Promise<void>
  /** From memory. */
  known(id: number): KnownUser | undefined
  /** From memory. */
  named(name: string): KnownUser | undefined
  /**
   * @param client each client can have only one password hashed at a time @throws AppError
   * `too_many_logins`
   */
  isPassword(id: number, password: string, client: string, signal: AbortSignal): Promise<boolean>
}

/**
 * A change, or an attempt to make one. Contains names, but never the content of a statement or
 * body.
 */
export interface AuditEntry {
  readonly principal: Pick<Principal, 'kind' | 'id' | 'name'>
  /** `POST /api/keys`, `DROP KNOWLEDGE_BASE`, `log in`. */
  readonly action: string
  readonly targets: readonly string[]
  /** `ok`, or the error code. */
  readonly outcome: string
  readonly address: string
  readonly requestId: string
  /** Rows of an insert not stored because their content is empty; missing if none. */
  readonly skippedRows?: number
}

export interface AuditRecord extends Required<Omit<AuditEntry, 'principal'>> {
  /** Increases with each entry. */
  readonly number: number
  readonly happenedAt: string
  readonly principalKind: PrincipalKind
  readonly principalId: string
  readonly principalName: string
  /** How often this happened: identical failures within a minute share one entry. */
  readonly occurrences: number
}

export interface AuditFilter {
  readonly principal?: string
  readonly action?: string
  readonly outcome?: string
  readonly from?: string
  readonly to?: string
}

export interface AuditPage {
  readonly items: readonly AuditRecord[]
  /** The cursor of the next page; null if there is none. */
  readonly next: number | null
}

export interface AuditLog {
  /** Written to disk within a second. Never throws. */
  note(entry: AuditEntry): void
  /** Resolves once all noted entries are stored. */
  settled(): Promise<void>
  /** Newest first. */
  list(
    filter: AuditFilter,
    page: { readonly limit: number; readonly before: number | null },
  ): Promise<AuditPage>
}
