import { lt } from 'drizzle-orm'
import { timestampOfMillis } from '../../domain/timestamp.ts'
import type { Database } from '../duckdb/database.ts'
import { queriesOver } from './drizzle.ts'
import { revokedTokens } from './schema.ts'

export interface RevokedTokens {
  /**
   * From when it resolves the token is refused, also after a restart. It is forgotten once it has
   * expired anyway.
   */
  revoke(id: string, expiresAtMillis: number): Promise<void>
  isRevoked(id: string): boolean
}

/** Tokens that were logged out, held in memory. */
export async function openRevokedTokens(
  database: Database,
  now: () => number,
): Promise<RevokedTokens> {
  const expiryOf = new Map<string, number>()
  await database.write(async (connection) => {
    const queries = queriesOver(connection)
    await queries.delete(revokedTokens).where(lt(revokedTokens.expiresAt, timestampOfMillis(now())))
    for (const row of await queries.select().from(revokedTokens)) {
      expiryOf.set(row.id, Date.parse(`${row.expiresAt.replace(' ', 'T')}Z`))
    }
  })
  const forgetExpired = () => {
    for (const [id, expiresAt] of expiryOf) if (expiresAt < now()) expiryOf.delete(id)
  }
  return {
    revoke: (id, expiresAtMillis) =>
      database.write(
        async (connection) => {
          const queries = queriesOver(connection)
          const today = timestampOfMillis(now())
          await queries.delete(revokedTokens).where(lt(revokedTokens.expiresAt, today))
          const expiresAt = timestampOfMillis(expiresAtMillis)
          await queries.insert(revokedTokens).values({ id, expiresAt }).onConflictDoNothing()
        },
        () => {
          forgetExpired()
          expiryOf.set(id, expiresAtMillis)
        },
      ),
    isRevoked: (id) => expiryOf.has(id),
  }
}
