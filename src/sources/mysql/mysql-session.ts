/** A connection of a data source in a READ ONLY transaction. */
import { onAbort } from '../../runtime/cancellation.ts'
import type { ConnectionPool, Lease } from '../connection-pool.ts'
import type { Endpoint } from '../server-endpoint.ts'
import { SERVER_GRACE_MS, type SourceWork } from '../source-engine.ts'
import { sourceFailure } from '../source-failure.ts'
import type { MysqlConnection } from './mysql-connection.ts'

/** What is kept of one data source. */
export interface Known {
  readonly signature: string
  readonly endpoint: Endpoint
  readonly pool: ConnectionPool<MysqlConnection>
}

export interface Session {
  readonly known: Known
  readonly connection: MysqlConnection
  /** Ends the transaction, gives the connection back. Nothing happens the second time. */
  end(): Promise<void>
}

/** What the signal says comes first: work that it ends fails in words of its own. */
export function failureOf(error: unknown, { place }: Endpoint, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  return sourceFailure(error, place)
}

export async function begun(
  lease: Lease<MysqlConnection>,
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
    if (cancelled === null && !connection.hasEnded) {
      await connection.run('ROLLBACK').catch(() => connection.close())
    }
    await cancelled
    lease.end()
  }
  try {
    const ms = Math.max(1, Math.ceil(remainingMs()) + SERVER_GRACE_MS)
    const limit = connection.isMariadb
      ? `max_statement_time = ${ms / 1000}`
      : `max_execution_time = ${ms}`
    await connection.run(`SET SESSION ${limit}`)
    await connection.run('START TRANSACTION READ ONLY')
    return { known, connection, end }
  } catch (error) {
    if (!connection.hasEnded && cancelled === null) await connection.close()
    await end()
    throw error
  }
}
