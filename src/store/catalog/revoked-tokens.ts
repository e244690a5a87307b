import { lt } from 'drizzle-orm'
import { timestampOfMillis } from '../../core/time.ts'
import type { Database } from '../duckdb/database.ts'
import { type CatalogQueries, queriesOver } from './catalog-queries.ts'
import { revokedTokens } from './schema.ts'

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
