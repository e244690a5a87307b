import type { DuckDBConnection } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import { projectSchema, projectTable } from '../../core/domain/document.ts'
import {
  type ProjectTable,
  quote,
  ROW_HASH,
  ROW_ID,
  rowHash,
  rowIdentity,
} from '../../core/domain/names.ts'
import type { RowWrite, WrittenRows } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import { tables } from '../catalog/schema.ts'
import { countOf } from '../duckdb/columns.ts'
import { interruptible } from '../duckdb/interruptible.ts'
import { madeRows } from '../duckdb/result-rows.ts'
import { STAGED_ROWS } from '../duckdb/staged-select.ts'

/** `RETURNING` gives at most this many rows: they are in memory until the change is stored. */
const RETURNED_ROWS_MAX = 100_000

/** While a caller's expressions are computed, all other writes wait. */
const EXPRESSIONS_MS = 5_000

/**
 * Makes the change, within a write.
 * @param connection of the staged rows
 * @returns null if the rows are not those that were read: nothing is changed
 * @throws AppError `timeout`, `sql_not_supported`; DuckDB's error
 */
export async function writtenRows(
  write: RowWrite,
  connection: DuckDBConnection,
  signal: AbortSignal,
): Promise<(WrittenRows & { readonly table: ProjectTable }) | null> {
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
  const rowCount = await countOf(connection, `SELECT count(*) FROM ${tableName(table)}`)
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

/** How many rows the change affects. */
async function meantRows(write: RowWrite, connection: DuckDBConnection): Promise<number | 'moved'> {
  const reader = await connection.runAndReadAll(identityCheck(write))
  const [meant, moved] = reader.getRows()[0] ?? []
  return Number(moved) > 0 ? 'moved' : Number(meant)
}

// SQL for a change of a table's rows: the read before it, the change made from that, and the check that it still fits.

export function tableName(table: Pick<ProjectTable, 'projectId' | 'id'>): string {
  return `${quote(projectSchema(table.projectId))}.${quote(projectTable(table.id))}`
}

/** A SELECT whose columns the staged rows get. */
export function shapeOf({ table, kind, columns }: RowWrite): string {
  const own = columns.map(quote)
  const identity = kind === 'insert' ? [] : [rowIdentity('t', table)]
  return `SELECT ${[...identity, ...own].join(', ')} FROM ${tableName(table)} AS t`
}

/**
 * How many rows to change, and how many of them differ by now. A checkpoint may give the rows of a table other
 * ids, even while a transaction is open: so a row is found by its id and recognised by its values.
 */
export function identityCheck({ table }: RowWrite): string {
  return `SELECT count(DISTINCT s.${ROW_ID}),
      count(*) FILTER (WHERE t.rowid IS NULL OR ${rowHash('t', table)} <> s.${ROW_HASH})
    FROM ${STAGED_ROWS} AS s LEFT JOIN ${tableName(table)} AS t ON t.rowid = s.${ROW_ID}`
}

/** The change, with the caller's expressions that were not staged. */
export function wholeChange(write: RowWrite): string {
  const { returning, conflict = null } = write
  const onConflict = conflict === null ? '' : ` ON CONFLICT ${conflict}`
  return changeSql(write) + onConflict + (returning === null ? '' : ` RETURNING ${returning}`)
}

function changeSql({ table, alias, kind, columns, instead = null }: RowWrite): string {
  const target = `${tableName(table)} AS ${quote(alias)}`
  if (kind === 'insert') {
    const list = columns.map(quote).join(', ')
    const how = instead === null ? 'INSERT' : `INSERT OR ${instead.toUpperCase()}`
    return `${how} INTO ${target} (${list}) SELECT ${list} FROM ${STAGED_ROWS}`
  }
  if (kind === 'delete') {
    return `DELETE FROM ${target} WHERE ${quote(alias)}.rowid IN (SELECT ${ROW_ID} FROM ${STAGED_ROWS})`
  }
  const values = columns.map((name) => `${quote(name)} = eider_rows.${quote(name)}`)
  const rows = `(SELECT DISTINCT ON (${ROW_ID}) * FROM ${STAGED_ROWS}) AS eider_rows`
  return `UPDATE ${target} SET ${values.join(', ')} FROM ${rows}
    WHERE ${quote(alias)}.rowid = eider_rows.${ROW_ID}`
}
