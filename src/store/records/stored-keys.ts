import { createHash, randomBytes } from 'node:crypto'
import { eq, inArray } from 'drizzle-orm'
import type { Principal } from '../../core/domain/access/principal.ts'
import { nameKey } from '../../core/domain/names.ts'
import {
  type AccessKey,
  type AccessKeys,
  KEY_PREFIX,
  type KnownKey,
  type NewAccessKey,
} from '../../core/domain/ports/access-ports.ts'
import { AppError } from '../../core/errors.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { millisOf, timestampOfMillis } from '../../core/time.ts'
import { nextId, queriesOver } from '../catalog/catalog-queries.ts'
import type { Database } from '../duckdb/database.ts'
import { accessKeys, accessKeyUses } from './access-schema.ts'

/** The secret is random and long, so its hash needs neither a salt nor a slow function. */
const SECRET_BYTES = 32
const PREFIX_CHARS = KEY_PREFIX.length + 6
/** A limit, because all keys are kept in memory. */
const KEYS_MAX = 10_000
/** How often to write when keys were last used, all at once. */
const USES_MS = 30_000

interface HeldKey {
  readonly key: AccessKey
  readonly hash: string
  readonly known: KnownKey
}

/** Stores keys in the database by their hashes, and keeps them in memory. */
export class StoredKeys implements AccessKeys {
  readonly #database: Database
  readonly #now: () => number
  readonly #byHash = new Map<string, HeldKey>()
  readonly #byId = new Map<number, HeldKey>()
  /** When each key was last used, in milliseconds since 1970, by key id. */
  readonly #uses = new Map<number, number>()
  readonly #unwritten = new Set<number>()
  readonly #timer: ReturnType<typeof setInterval>
  /** Runs one change at a time, so that two keys never get the same name. */
  readonly #changes = new SerialQueue()

  private constructor(database: Database, now: () => number) {
    this.#database = database
    this.#now = now
    // If a write fails, the next one tries again.
    this.#timer = setInterval(() => void this.#writeUses().catch(() => {}), USES_MS)
    this.#timer.unref()
  }

  static async open(database: Database, now: () => number): Promise<StoredKeys> {
    const stored = new StoredKeys(database, now)
    await database.lease(async (connection) => {
      const queries = queriesOver(connection)
      for (const { hash, ...row } of await queries
        .select()
        .from(accessKeys)
        .orderBy(accessKeys.id)) {
        stored.#hold({ ...row, lastUsedAt: null }, hash)
      }
      for (const { keyId, lastUsedAt } of await queries.select().from(accessKeyUses)) {
        stored.#uses.set(keyId, millisOf(lastUsedAt))
      }
    })
    return stored
  }

  list(): readonly AccessKey[] {
    return [...this.#byId.values()].map(({ key }) => {
      const usedMs = this.#uses.get(key.id)
      return usedMs === undefined ? key : { ...key, lastUsedAt: timestampOfMillis(usedMs) }
    })
  }

  create(draft: NewAccessKey): Promise<{ readonly key: AccessKey; readonly text: string }> {
    return this.#changes.run(async () => {
      const taken = nameKey(draft.name)
      if ([...this.#byId.values()].some(({ key }) => nameKey(key.name) === taken)) {
        throw new AppError('key_exists', `A key named ${draft.name} exists already`)
      }
      if (this.#byId.size >= KEYS_MAX) {
        const message = `There are ${KEYS_MAX} keys, the most there can be; revoke unused ones`
        throw new AppError('too_many_keys', message)
      }
      const text = KEY_PREFIX + randomBytes(SECRET_BYTES).toString('base64url')
      const hash = keyHash(text)
      const createdAt = timestampOfMillis(this.#now())
      const row = { ...draft, prefix: text.slice(0, PREFIX_CHARS), createdAt }
      const id = await this.#database.writeRecords(async (connection) => {
        const queries = queriesOver(connection)
        const id = await nextId(queries, 'key')
        await queries.insert(accessKeys).values({ ...row, id, hash })
        return id
      })
      const key = { ...row, id, lastUsedAt: null }
      this.#hold(key, hash)
      return { key, text }
    })
  }

  remove(id: number): Promise<void> {
    return this.#changes.run(async () => {
      const held = this.#byId.get(id)
      if (held === undefined) throw new AppError('key_not_found', `There is no key with id ${id}`)
      await this.#database.writeRecords(
        async (connection) => {
          const queries = queriesOver(connection)
          await queries.delete(accessKeys).where(eq(accessKeys.id, id))
          await queries.delete(accessKeyUses).where(eq(accessKeyUses.keyId, id))
        },
        { isFreeing: true },
      )
      this.#byId.delete(id)
      this.#byHash.delete(held.hash)
      this.#uses.delete(id)
      this.#unwritten.delete(id)
    })
  }

  /** Looks up by hash, so the timing reveals nothing about the text of any key. */
  find(text: string): KnownKey | undefined {
    return this.#byHash.get(keyHash(text))?.known
  }

  noteUse(id: number): void {
    this.#uses.set(id, this.#now())
    this.#unwritten.add(id)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    // A full disk must not prevent closing.
    await this.#writeUses().catch(() => {})
  }

  #hold(key: AccessKey, hash: string): void {
    const { id, expiresAt, requestsPerMinute } = key
    const expiresMs = expiresAt === null ? Number.POSITIVE_INFINITY : millisOf(expiresAt)
    const known = { id, principal: principalOf(key), requestsPerMinute, expiresMs }
    const held = { key, hash, known }
    this.#byId.set(id, held)
    this.#byHash.set(hash, held)
  }

  #writeUses(): Promise<void> {
    return this.#changes.run(async () => {
      const ids = [...this.#unwritten]
      if (ids.length === 0) return
      this.#unwritten.clear()
      const rows = ids.flatMap((keyId) => {
        const usedMs = this.#uses.get(keyId)
        return usedMs === undefined ? [] : [{ keyId, lastUsedAt: timestampOfMillis(usedMs) }]
      })
      try {
        await this.#database.writeRecords(async (connection) => {
          const queries = queriesOver(connection)
          await queries.delete(accessKeyUses).where(inArray(accessKeyUses.keyId, ids))
          await queries.insert(accessKeyUses).values(rows)
        })
      } catch (error) {
        for (const id of ids) if (this.#byId.has(id)) this.#unwritten.add(id)
        throw error
      }
    })
  }
}

function principalOf({ id, name, scopes, namespaces }: AccessKey): Principal {
  return {
    kind: 'key',
    id: String(id),
    name,
    scopes: new Set(scopes),
    namespaces: namespaces === null ? null : new Set(namespaces.map(nameKey)),
  }
}

function keyHash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
