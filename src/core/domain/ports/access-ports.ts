/** Who has access: keys, and users with a password. And the log of what they changed. */
import type { Principal, PrincipalKind, Role, Scope } from '../access/principal.ts'

/** A key without its secret. */
export interface AccessKey {
  readonly id: number
  readonly name: string
  /** The start of its text. */
  readonly prefix: string
  readonly scopes: readonly Scope[]
  /** As given; null: all. */
  readonly namespaces: readonly string[] | null
  /** null: the default of the settings; 0: unlimited. */
  readonly requestsPerMinute: number | null
  /** Who made it, as people know them. */
  readonly createdBy: string
  readonly createdAt: string
  readonly expiresAt: string | null
  /** To the minute. */
  readonly lastUsedAt: string | null
}

export type NewAccessKey = Pick<
  AccessKey,
  'name' | 'scopes' | 'namespaces' | 'requestsPerMinute' | 'createdBy' | 'expiresAt'
>

/** A key that was presented, with its rights. The same object as long as the key exists. */
export interface KnownKey {
  readonly id: number
  readonly principal: Principal
  readonly requestsPerMinute: number | null
  /** Milliseconds since 1970. */
  readonly expiresMs: number
}

export interface AccessKeys {
  /** The oldest first. */
  list(): readonly AccessKey[]
  /** @returns the key, and its text, which is not stored @throws AppError `key_exists`, `too_many_keys` */
  create(draft: NewAccessKey): Promise<{ readonly key: AccessKey; readonly text: string }>
  /** Once this resolves, the key no longer works. @throws AppError `key_not_found` */
  remove(id: number): Promise<void>
  /** From memory. undefined: no key has this text. */
  find(text: string): KnownKey | undefined
  /** Needs no separate write. */
  noteUse(id: number): void
}

/** The prefix of every key. */
export const KEY_PREFIX = 'eider_'

export interface User {
  readonly id: number
  readonly name: string
  readonly role: Role
  /** As given; null: all. */
  readonly namespaces: readonly string[] | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
}

export type NewUser = Pick<User, 'name' | 'role' | 'namespaces' | 'createdBy'> & {
  readonly password: string
}

/** Missing fields stay as they are. */
export type UserChanges = Partial<Pick<NewUser, 'role' | 'namespaces' | 'password'>>

export interface KnownUser {
  readonly id: number
  readonly principal: Principal
  /** Another one after each change of the password: what was given out before is void. */
  readonly mark: string
}

export interface Users {
  /** The oldest first. */
  list(): readonly User[]
  /** @throws AppError `user_exists`, `too_many_logins` while too many passwords are hashed */
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
   * @param client whose turn it is: one client has one password hashed at a time
   * @throws AppError `too_many_logins`
   */
  isPassword(id: number, password: string, client: string, signal: AbortSignal): Promise<boolean>
}

/** A change, or an attempt at one. It contains names, never the content of a statement or body. */
export interface AuditEntry {
  readonly principal: Pick<Principal, 'kind' | 'id' | 'name'>
  /** `POST /api/keys`, `DROP KNOWLEDGE_BASE`, `log in`. */
  readonly action: string
  /** The names of what it was done to. */
  readonly targets: readonly string[]
  /** `ok`, or the code of the error. */
  readonly outcome: string
  /** The client's network address. */
  readonly address: string
  readonly requestId: string
  /** Rows of an insert not stored because their content is empty; missing: none. */
  readonly skippedRows?: number
}

export interface AuditRecord extends Required<Omit<AuditEntry, 'principal'>> {
  /** It grows with each entry. */
  readonly number: number
  readonly happenedAt: string
  readonly principalKind: PrincipalKind
  readonly principalId: string
  readonly principalName: string
  /** How often: failures alike within a minute are counted together. */
  readonly occurrences: number
}

export interface AuditFilter {
  /** The name of who did it. */
  readonly principal?: string
  readonly action?: string
  readonly outcome?: string
  readonly from?: string
  readonly to?: string
}

export interface AuditPage {
  readonly items: readonly AuditRecord[]
  /** Cursor of the next page; null: none. */
  readonly next: number | null
}

export interface AuditLog {
  /** On disk within a second. Never throws. */
  note(entry: AuditEntry): void
  /** Resolves when everything noted is stored. */
  settled(): Promise<void>
  /** The newest first. */
  list(
    filter: AuditFilter,
    page: { readonly limit: number; readonly before: number | null },
  ): Promise<AuditPage>
}
