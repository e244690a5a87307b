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
import { allRows } from '../../core/runtime/all-rows.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import { tables } from '../catalog/schema.ts'
import { countOf } from '../duckdb/columns.ts'
import { interruptible } from '../duckdb/interruptible.ts'
import { madeRows } from '../duckdb/result-rows.ts'
import { STAGED_ROWS } from '../duckdb/staged-select.ts'

/** The most rows for `RETURNING`, which stay in memory until the change is stored. */
const RETURNED_ROWS_MAX = 100_000

/**
 * The time limit for evaluating the client's expressions in a write, because all other writes wait.
 */
const EXPRESSIONS_MS = 5_000

/**
 * Changes the rows within a write.
 * @param connection the one that holds the staged rows
 * @returns null, having changed nothing, if rows have changed since they were read
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

/** Returns how many rows the change affects. */
async function meantRows(write: RowWrite, connection: DuckDBConnection): Promise<number | 'moved'> {
  const [[meant, moved] = []] = await allRows(connection, identityCheck(write))
  return Number(moved) > 0 ? 'moved' : Number(meant)
}

// Builds SQL that changes a table's rows: the read, the change computed from it, and a check that
// the rows are still the same.

export function tableName(table: Pick<ProjectTable, 'projectId' | 'id'>): string {
  return `${quote(projectSchema(table.projectId))}.${quote(projectTable(table.id))}`
}

/** Returns a SELECT that sets the column types of the staged rows. */
export function shapeOf({ table, kind, columns }: RowWrite): string {
  const own = columns.map(quote)
  const identity = kind === 'insert' ? [] : [rowIdentity('t', table)]
  return `SELECT ${[...identity, ...own].join(', ')} FROM ${tableName(table)} AS t`
}

/** A checkpoint can renumber rows in a transaction, so id and values must match. */
function identityCheck({ table }: RowWrite): string {
  return `SELECT count(DISTINCT s.${ROW_ID}),
      count(*) FILTER (WHERE t.rowid IS NULL OR ${rowHash('t', table)} <> s.${ROW_HASH})
    FROM ${STAGED_ROWS} AS s LEFT JOIN ${tableName(table)} AS t ON t.rowid = s.${ROW_ID}`
}

/** The statement for the change, including those client expressions that were not staged. */
function wholeChange(write: RowWrite): string {
  const { returning, conflict = null } = write
  const onConflict = conflict === null ? '' : ` ON CONFLICT ${conflict}`
  return changeSql(write) + onConflict + (returning === null ? '' : ` RETURNING ${returning}`)
}

function changeSql(write: RowWrite): string {
  const { table, alias, kind, columns, instead = null } = write
  const target = `${tableName(table)} AS ${quote(alias)}`
  if (kind === 'insert') {
    const list = columns.map(quote).join(', ')
    const how = instead === null ? 'INSERT' : `INSERT OR ${instead.toUpperCase()}`
    const rows = `SELECT ${list} FROM ${STAGED_ROWS}`
    const source = write.isConstant ? write.select.sql : rows
    return `${how} INTO ${target} (${list}) ${source}`
  }
  if (kind === 'delete') {
    return `DELETE FROM ${target} WHERE ${quote(alias)}.rowid IN (SELECT ${ROW_ID} FROM ${STAGED_ROWS})`
  }
  const values = columns.map((name) => `${quote(name)} = eider_rows.${quote(name)}`)
  const rows = `(SELECT DISTINCT ON (${ROW_ID}) * FROM ${STAGED_ROWS}) AS eider_rows`
  return `UPDATE ${target} SET ${values.join(', ')} FROM ${rows}
    WHERE ${quote(alias)}.rowid = eider_rows.${ROW_ID}`
}
