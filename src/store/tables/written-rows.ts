import type { DuckDBConnection } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import type { RowWrite, WrittenRows } from '../../core/domain/ports/store-ports.ts'
import type { ProjectTable } from '../../core/domain/project.ts'
import { AppError } from '../../core/errors.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import { tables } from '../catalog/schema.ts'
import { interruptible } from '../duckdb/interruptible.ts'
import { madeRows } from '../duckdb/result-stream.ts'
import { identityCheck, tableName, wholeChange } from './row-write-sql.ts'

/** `RETURNING` gives at most this many rows: they are held in memory until the change is stored. */
const RETURNED_ROWS_MAX = 100_000

/** While expressions of a caller are computed, all other writes wait. */
const EXPRESSIONS_MS = 5_000

interface StoredRows extends WrittenRows {
  readonly table: ProjectTable
}

/**
 * Makes the change, within a write.
 * @param connection of the staged rows
 * @returns null where the rows to change are not those that were read: nothing is changed
 * @throws AppError `timeout`, `sql_not_supported`; what DuckDB says
 */
export async function writtenRows(
  write: RowWrite,
  connection: DuckDBConnection,
  signal: AbortSignal,
): Promise<StoredRows | null> {
  const meant = write.kind === 'insert' ? null : await meantRows(write, connection)
  if (meant === 'moved') return null
  const { table, returning, conflict = null } = write
  const change = wholeChange(write)
  const run = (ending: AbortSignal) => {
    return interruptible(connection, ending, () => connection.run(change))
  }
  const isComputed = returning !== null || conflict !== null
  const result = isComputed ? await withDeadline({ ...COMPUTING, signal }, run) : await run(signal)
  if (returning !== null && result.rowCount > RETURNED_ROWS_MAX) throw tooManyReturned()
  const changed = returning === null ? result.rowsChanged : result.rowCount
  const rowCount = await storedCount(table, connection)
  if (rowCount !== table.rowCount) {
    const queries = queriesOver(connection)
    await queries.update(tables).set({ rowCount }).where(eq(tables.id, table.id))
  }
  return {
    table: { ...table, rowCount },
    rowCount: meant ?? changed,
    returned: returning === null ? null : madeRows(result),
  }
}

const COMPUTING = {
  timeoutMs: EXPRESSIONS_MS,
  timeoutError: (ms: number) => {
    const message = `RETURNING and ON CONFLICT took longer than ${ms} ms to compute`
    return new AppError('timeout', `${message}; compute less in them, or change fewer rows`)
  },
}

function tooManyReturned(): AppError {
  const message = `RETURNING gives at most ${RETURNED_ROWS_MAX} rows`
  return new AppError('sql_not_supported', `${message}; leave it out, or change fewer rows`)
}

/** How many rows the change is of. */
async function meantRows(write: RowWrite, connection: DuckDBConnection): Promise<number | 'moved'> {
  const reader = await connection.runAndReadAll(identityCheck(write))
  const [meant, moved] = reader.getRows()[0] ?? []
  return Number(moved) > 0 ? 'moved' : Number(meant)
}

async function storedCount(table: ProjectTable, connection: DuckDBConnection): Promise<number> {
  const reader = await connection.runAndReadAll(`SELECT count(*) FROM ${tableName(table)}`)
  return Number(reader.getRows()[0]?.[0] ?? 0)
}
