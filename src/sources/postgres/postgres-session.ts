/** What a session with PostgreSQL begins and ends with. */
import type { Guard } from '../../core/runtime/address-policy.ts'
import type { ServerProtocol, ServerSession } from '../server-sessions.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresTypes } from './postgres-types.ts'

export type Session = ServerSession<PostgresConnection, PostgresTypes>

const TIMEOUT_MS_MAX = 2 ** 31 - 1

export function postgresProtocol(guard: Guard): ServerProtocol<PostgresConnection, PostgresTypes> {
  return {
    open: (endpoint, signal) => PostgresConnection.open(endpoint, guard, signal),
    async begin(connection, { schemas }, timeoutMs) {
      const timeout = ` SET LOCAL statement_timeout = ${Math.min(TIMEOUT_MS_MAX, timeoutMs)};`
      await connection.rows(BEGIN_SQL + timeout + searchPath(schemas))
    },
    // Whatever a statement has set or locked goes with it.
    rollback: (connection) =>
      connection.rows('ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()'),
    kept: ({ numericAs }) => new PostgresTypes(numericAs),
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
