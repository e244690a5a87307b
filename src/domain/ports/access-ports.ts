/** Keys: who may come in without a password. */
import type { Principal, Scope } from '../access/principal.ts'

/** A key as it may be shown: nothing here opens a door. */
export interface AccessKey {
  readonly id: number
  readonly name: string
  /** The beginning of its text. */
  readonly prefix: string
  readonly scopes: readonly Scope[]
  /** As they were named; null: all. */
  readonly namespaces: readonly string[] | null
  /** null: as many as the settings say; 0: without a limit. */
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

/** A key that was shown, with what it may do. The same object as long as the key lives. */
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
  /** @returns the key, and its text, which nobody can find again @throws AppError `key_exists`, `too_many_keys` */
  create(draft: NewAccessKey): Promise<{ readonly key: AccessKey; readonly text: string }>
  /** Once this resolves, nobody comes in with it. @throws AppError `key_not_found` */
  remove(id: number): Promise<void>
  /** From memory. undefined: no key has this text. */
  find(text: string): KnownKey | undefined
  /** Costs no write of its own. */
  noteUse(id: number): void
}

/** What every key begins with. */
export const KEY_PREFIX = 'eider_'
