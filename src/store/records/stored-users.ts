import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { eq, lt } from 'drizzle-orm'
import { type Principal, ROLE_SCOPES } from '../../core/domain/access/principal.ts'
import { nameKey } from '../../core/domain/names.ts'
import type {
  KnownUser,
  NewUser,
  User,
  UserChanges,
  Users,
} from '../../core/domain/ports/access-ports.ts'
import { AppError } from '../../core/errors.ts'
import { Semaphore } from '../../core/runtime/semaphore.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { type CatalogQueries, nextId, queriesOver } from '../catalog/catalog-queries.ts'
import { revokedTokens } from '../catalog/schema.ts'
import type { Database } from '../duckdb/database.ts'
import { users } from './access-schema.ts'

/** Takes about 25 ms on a thread. Hashes include these, so they can be raised. */
const ARGON = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
/** Hash for two clients at a time, so that many password guesses do not use up the machine. */
const HASHES_MAX = 2
const HASHES_WAITING_MAX = 256
const MARK_CHARS = 16

export class StoredUsers implements Users {
  readonly #database: Database
  readonly #now: () => number
  readonly #users = new Map<
    number,
    {
      readonly user: User
      readonly passwordHash: string
      readonly known: KnownUser
    }
  >()
  /** Under a key of this process, never on disk: after one slow check, attempts need none. */
  readonly #proven = new Map<number, { readonly passwordHash: string; readonly digest: Buffer }>()
  readonly #digestKey = randomBytes(32)
  /** Runs one change at a time, so that two users never get the same name. */
  readonly #changes = new SerialQueue()
  readonly #hashing = new Semaphore({
    placesMax: HASHES_MAX,
    placesPerKeyMax: 1,
    waitingMax: HASHES_WAITING_MAX,
    tooBusy: (waiting) => {
      return new AppError('too_many_logins', `${waiting} logins wait; try again later`)
    },
  })

  private constructor(database: Database, now: () => number) {
    this.#database = database
    this.#now = now
  }

  static async open(database: Database, now: () => number): Promise<StoredUsers> {
    const stored = new StoredUsers(database, now)
    const rows = await database.lease((connection) => {
      return queriesOver(connection).select().from(users).orderBy(users.id)
    })
    for (const { passwordHash, ...user } of rows) stored.#hold(user, passwordHash)
    return stored
  }

  list(): readonly User[] {
    return [...this.#users.values()].map(({ user }) => user)
  }

  known(id: number): KnownUser | undefined {
    return this.#users.get(id)?.known
  }

  named(name: string): KnownUser | undefined {
    const key = nameKey(name)
    return [...this.#users.values()].find(({ user }) => nameKey(user.name) === key)?.known
  }

  async create({ password, ...draft }: NewUser, signal: AbortSignal): Promise<User> {
    const taken = () => new AppError('user_exists', `A user named ${draft.name} exists already`)
    if (this.named(draft.name) !== undefined) throw taken()
    const passwordHash = await this.#hash(password, signal)
    return this.#changes.run(async () => {
      if (this.named(draft.name) !== undefined) throw taken()
      const at = timestampOfMillis(this.#now())
      const row = { ...draft, createdAt: at, updatedAt: at }
      const id = await this.#database.writeRecords(async (connection) => {
        const queries = queriesOver(connection)
        const id = await nextId(queries, 'user')
        await queries.insert(users).values({ ...row, id, passwordHash })
        return id
      })
      this.#prove(id, passwordHash, password)
      return this.#hold({ ...row, id }, passwordHash)
    })
  }

  async change(
    id: number,
    { password, ...changes }: UserChanges,
    signal: AbortSignal,
  ): Promise<User> {
    const newHash = password === undefined ? undefined : await this.#hash(password, signal)
    return this.#changes.run(async () => {
      const held = this.#users.get(id)
      if (held === undefined) throw userNotFound(id)
      const changed = { ...held.user, ...changes, updatedAt: timestampOfMillis(this.#now()) }
      const passwordHash = newHash ?? held.passwordHash
      await this.#database.writeRecords(async (connection) => {
        const queries = queriesOver(connection)
        await queries.delete(users).where(eq(users.id, id))
        await queries.insert(users).values({ ...changed, passwordHash })
      })
      if (password !== undefined) this.#prove(id, passwordHash, password)
      return this.#hold(changed, passwordHash)
    })
  }

  remove(id: number): Promise<void> {
    return this.#changes.run(async () => {
      if (!this.#users.has(id)) throw userNotFound(id)
      await this.#database.writeRecords(
        (connection) => queriesOver(connection).delete(users).where(eq(users.id, id)),
        { isFreeing: true },
      )
      this.#users.delete(id)
      this.#proven.delete(id)
    })
  }

  async isPassword(
    id: number,
    password: string,
    client: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const known = this.#isProven(id, password)
    if (known !== undefined) return known
    const release = await this.#hashing.enter(signal, client)
    try {
      // Another attempt may have succeeded while this one waited.
      const proven = this.#isProven(id, password)
      if (proven !== undefined) return proven
      const held = this.#users.get(id)
      if (held === undefined || !(await Bun.password.verify(password, held.passwordHash))) {
        return false
      }
      this.#prove(id, held.passwordHash, password)
      return true
    } finally {
      release()
    }
  }

  /** Undefined if this process has not verified the current password yet. */
  #isProven(id: number, password: string): boolean | undefined {
    const proven = this.#proven.get(id)
    if (proven === undefined || proven.passwordHash !== this.#users.get(id)?.passwordHash) {
      return undefined
    }
    return timingSafeEqual(proven.digest, this.#digestOf(password))
  }

  #prove(id: number, passwordHash: string, password: string): void {
    this.#proven.set(id, { passwordHash, digest: this.#digestOf(password) })
  }

  #digestOf(password: string): Buffer {
    return createHmac('sha256', this.#digestKey).update(password).digest()
  }

  async #hash(password: string, signal: AbortSignal): Promise<string> {
    const release = await this.#hashing.enter(signal, NEW_PASSWORDS)
    try {
      return await Bun.password.hash(password, ARGON)
    } finally {
      release()
    }
  }

  #hold(user: User, passwordHash: string): User {
    const mark = createHash('sha256').update(passwordHash).digest('hex').slice(0, MARK_CHARS)
    const known = { id: user.id, principal: principalOf(user), mark }
    this.#users.set(user.id, { user, passwordHash, known })
    return user
  }
}

/** A name that no client can have. */
const NEW_PASSWORDS = 'new passwords'

function principalOf({ id, name, role, namespaces }: User): Principal {
  return {
    kind: 'user',
    id: String(id),
    name,
    scopes: new Set(ROLE_SCOPES[role]),
    namespaces: namespaces === null ? null : new Set(namespaces.map(nameKey)),
  }
}

function userNotFound(id: number): AppError {
  return new AppError('user_not_found', `There is no user with id ${id}`)
}

/** Revoked login tokens, stored in the database and cached in memory. */
export class StoredRevokedTokens {
  readonly #database: Database
  readonly #now: () => number
  /** Token id → milliseconds since 1970. */
  readonly #expiries: Map<string, number>

  private constructor(database: Database, now: () => number, expiries: Map<string, number>) {
    this.#database = database
    this.#now = now
    this.#expiries = expiries
  }

  /** @param now returns milliseconds since 1970 */
  static async open(database: Database, now: () => number): Promise<StoredRevokedTokens> {
    const rows = await database.write(async (connection) => {
      const queries = queriesOver(connection)
      await deleteExpired(queries, now())
      return queries.select().from(revokedTokens)
    })
    const expiries = rows.map(({ id, expiresAt }) => {
      return [id, Date.parse(`${expiresAt.replace(' ', 'T')}Z`)] as const
    })
    return new StoredRevokedTokens(database, now, new Map(expiries))
  }

  /** Revokes a token, also across restarts, until it would have expired anyway. */
  revoke(tokenId: string, expiresAtMillis: number): Promise<void> {
    return this.#database.writeFreeing(
      async (connection) => {
        const queries = queriesOver(connection)
        await deleteExpired(queries, this.#now())
        const row = { id: tokenId, expiresAt: timestampOfMillis(expiresAtMillis) }
        await queries.insert(revokedTokens).values(row).onConflictDoNothing()
      },
      () => {
        for (const [id, expiry] of this.#expiries) {
          if (expiry < this.#now()) this.#expiries.delete(id)
        }
        this.#expiries.set(tokenId, expiresAtMillis)
      },
    )
  }

  isRevoked(tokenId: string): boolean {
    return this.#expiries.has(tokenId)
  }
}

async function deleteExpired(queries: CatalogQueries, nowMillis: number): Promise<void> {
  await queries
    .delete(revokedTokens)
    .where(lt(revokedTokens.expiresAt, timestampOfMillis(nowMillis)))
}
