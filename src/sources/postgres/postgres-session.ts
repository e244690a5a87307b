/** A connection of a data source in a READ ONLY transaction. */
import { onAbort } from '../../runtime/cancellation.ts'
import type { ConnectionPool, Lease } from '../connection-pool.ts'
import type { Endpoint } from '../server-endpoint.ts'
import { SERVER_GRACE_MS, type SourceWork } from '../source-engine.ts'
import { sourceFailure } from '../source-failure.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import type { PostgresTypes } from './postgres-types.ts'

/** What is kept of one data source. */
export interface Known {
  readonly signature: string
  readonly endpoint: Endpoint
  readonly pool: ConnectionPool<PostgresConnection>
  readonly types: PostgresTypes
}

/** A connection in a READ ONLY transaction. */
export interface Session {
  readonly known: Known
  readonly connection: PostgresConnection
  /** Ends the transaction, gives the connection back. Nothing happens the second time. */
  end(): Promise<void>
}

/** What the signal says comes first: work that it ends fails in words of its own. */
export function failureOf(error: unknown, { place }: Endpoint, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  return sourceFailure(error, place)
}

const TIMEOUT_MS_MAX = 2 ** 31 - 1

export async function begun(
  lease: Lease<PostgresConnection>,
  known: Known,
  { signal, remainingMs }: SourceWork,
): Promise<Session> {
  const { connection } = lease
  let cancelled: Promise<void> | null = null
  const stopListening = onAbort(signal, () => {
    cancelled = connection.cancel()
  })
  let isOver = false
  const end = async () => {
    if (isOver) return
    isOver = true
    stopListening()
    // Whatever a statement has set or locked goes with it.
    if (cancelled === null && !connection.hasEnded) {
      await connection
        .rows('ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()')
        .catch(() => connection.close())
    }
    await cancelled
    lease.end()
  }
  try {
    const timeoutMs = Math.min(
      TIMEOUT_MS_MAX,
      Math.max(1, Math.ceil(remainingMs()) + SERVER_GRACE_MS),
    )
    const timeout = ` SET LOCAL statement_timeout = ${timeoutMs};`
    await connection.rows(BEGIN_SQL + timeout + searchPath(known.endpoint.schemas))
    return { known, connection, end }
  } catch (error) {
    if (!connection.hasEnded && cancelled === null) await connection.close()
    await end()
    throw error
  }
}

/** In the transaction, so that it works through poolers, too, and ends with it. */
const BEGIN_SQL = `BEGIN TRANSACTION READ ONLY;
SET LOCAL client_encoding = 'UTF8'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres';
SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex';
SET LOCAL standard_conforming_strings = on; SET LOCAL xmloption = 'content'; SAVEPOINT eider;`

function searchPath(schemas: readonly string[]): string {
  if (schemas.length === 0) return ''
  const names = schemas.map((name) => `"${name.replaceAll('"', '""')}"`)
  return ` SET LOCAL search_path = ${names.join(', ')};`
}
