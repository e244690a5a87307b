import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { literal, quote } from '../../core/domain/identifier.ts'
import type { ReadTable } from '../../core/domain/ports/reading-ports.ts'
import { AppError } from '../../core/errors.ts'
import { resourceError } from '../duckdb/database-error.ts'
import { interruptible } from '../duckdb/interruptible.ts'

/**
 * Gives `use` the tables' Parquet files where DuckDB may read them, and removes them afterwards. They were written by a
 * DuckDB of ours in a reader process: Parquet that others made never comes here.
 */
export async function withinReach<T>(
  tables: readonly ReadTable[],
  exportsDirectory: string,
  use: (paths: readonly string[]) => Promise<T>,
): Promise<T> {
  await mkdir(exportsDirectory, { recursive: true, mode: 0o700 })
  const paths = tables.map(() => join(exportsDirectory, `${crypto.randomUUID()}.parquet`))
  try {
    for (const [index, path] of paths.entries()) await rename(tables[index]?.path ?? '', path)
    return await use(paths)
  } finally {
    for (const path of paths) await rm(path, { force: true })
  }
}

/**
 * Makes a table of the rows of a Parquet file, within a transaction. DuckDB copies them in its own threads. @returns how
 * many
 * @param target quoted
 */
export async function makeTableOf(
  { columns, rowCount }: ReadTable,
  { path, target }: { readonly path: string; readonly target: string },
  connection: DuckDBConnection,
  signal: AbortSignal,
): Promise<number> {
  const sql = `CREATE TABLE ${target} AS ${selectOfTable({ columns }, path)}`
  const made = await interruptible(connection, signal, () => connection.runAndReadAll(sql)).catch(
    (error) => Promise.reject(signal.aborted ? error : unreadable(error)),
  )
  const [[count] = []] = made.getRows()
  if (Number(count) !== rowCount) throw unreadable(new Error('the rows were counted otherwise'))
  return rowCount
}

/** A SELECT of the rows of a Parquet file of ours. */
export function selectOfTable({ columns }: Pick<ReadTable, 'columns'>, path: string): string {
  const values = columns.map(({ name, type }) => {
    return `CAST(${quote(name)} AS ${checkedType(type)}) AS ${quote(name)}`
  })
  return `SELECT ${values.join(', ')} FROM read_parquet(${literal(path)})`
}

/** Puts a table's Parquet file where DuckDB may read it. @returns its path there, for the caller to remove */
export async function takenTable(table: ReadTable, exportsDirectory: string): Promise<string> {
  await mkdir(exportsDirectory, { recursive: true, mode: 0o700 })
  const path = join(exportsDirectory, `${crypto.randomUUID()}.parquet`)
  await rename(table.path, path)
  return path
}

function unreadable(error: unknown): unknown {
  const resource = resourceError(error)
  if (resource instanceof AppError) return resource
  const message = 'The file could not be read: its rows do not fit the columns that were found'
  return new AppError('file_unreadable', message, { cause: error })
}

/** Names, numbers, quoted names and texts, and the signs between them. */
const TYPE_PARTS = /[A-Za-z_][\w ]*|\d+|"(?:[^"]|"")*"|'(?:[^']|'')*'|[(),[\] ]/gy

/** A reader's word for a type stands in a statement: it must be nothing but a type. @throws AppError `file_unreadable` */
function checkedType(type: string): string {
  let depth = 0
  let end = 0
  for (const { 0: part, index } of type.matchAll(TYPE_PARTS)) {
    end = index + part.length
    if (part === '(') depth += 1
    else if (part === ')') depth -= 1
    if (depth < 0 || (depth === 0 && part === ',')) break
  }
  if (end === type.length && depth === 0 && type !== '') return type
  throw unreadable(new Error(`no type: ${type.slice(0, 100)}`))
}
