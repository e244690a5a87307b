import { open } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { literal, quote } from '../../core/domain/names.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import type { Database } from '../duckdb/database.ts'
import { LOG_EXPECTED } from '../duckdb/log-mark.ts'
import { definition } from '../upkeep/posting-sorter.ts'

export interface CopiedTable {
  readonly schema: string
  readonly name: string
  readonly rowCount: number
}

/**
 * Rows of a block of the copy. In blocks of DuckDB's usual 122 880 rows, vectors would be held in memory and then written 190
 * MB at a time: every commit waits that long for the disk, up to five seconds.
 */
const GROUP_ROWS = 8192
const GROUPS_PER_STEP_MAX = 64

/** A longer step is followed by smaller ones, one shorter than half of it by larger ones. */
const STEP_MS = 100

/** One copy of the database while it is being made. */
interface Copying {
  readonly connection: DuckDBConnection
  /** Quoted names of the two databases. */
  readonly source: string
  readonly copy: string
  /** Flushes the data so far to disk. */
  readonly sync: () => Promise<void>
  readonly signal: AbortSignal
}

/**
 * Copies every table as of one moment into a new file: one transaction, so that others need not wait and it sees no write
 * of others. DuckDB's own COPY FROM DATABASE sets an option on the way, which the locked settings forbid.
 * @param path within the folder of exports, the only one that the instance may write to
 */
export async function copyDatabase(
  database: Database,
  path: string,
  signal: AbortSignal,
): Promise<readonly CopiedTable[]> {
  const connection = await database.take()
  const stopListening = onAbort(signal, () => connection.interrupt())
  try {
    return await copyInto(connection, path, signal)
  } finally {
    stopListening()
    database.discard(connection)
  }
}

async function copyInto(
  connection: DuckDBConnection,
  path: string,
  signal: AbortSignal,
): Promise<readonly CopiedTable[]> {
  signal.throwIfAborted()
  const source = quote(await currentDatabase(connection))
  // The name cannot be guessed: every connection could use it.
  const copy = quote(`copy_${crypto.randomUUID()}`)
  await connection.run(`ATTACH ${literal(path)} AS ${copy} (ROW_GROUP_SIZE ${GROUP_ROWS})`)
  const file = await open(path, 'r')
  try {
    const sync = () => file.datasync()
    await connection.run('BEGIN TRANSACTION')
    const tables = await copyTables({ connection, source, copy, sync, signal })
    await connection.run('COMMIT')
    // Forced: waits for statements that list all databases, where the plain form would fail.
    await connection.run(`FORCE CHECKPOINT ${copy}`)
    return tables
  } catch (error) {
    await connection.run('ROLLBACK').catch(() => {})
    signal.throwIfAborted()
    throw error
  } finally {
    await connection.run(`DETACH ${copy}`)
    await file.close()
  }
}

async function currentDatabase(connection: DuckDBConnection): Promise<string> {
  const reader = await connection.runAndReadAll('SELECT current_database()')
  return String(reader.getRows()[0]?.[0])
}

async function copyTables(copying: Copying): Promise<readonly CopiedTable[]> {
  const { connection, source, copy } = copying
  const isOwn = `database_name = ${literal(unquoted(source))} AND NOT internal`
  const schemas = await connection.runAndReadAll(
    `SELECT schema_name FROM duckdb_schemas() WHERE ${isOwn} AND schema_name <> '${LOG_EXPECTED}'`,
  )
  for (const [schema] of schemas.getRows()) {
    await connection.run(`CREATE SCHEMA ${copy}.${quote(String(schema))}`)
  }
  const tables = await connection.runAndReadAll(`SELECT schema_name, table_name, sql, comment
    FROM duckdb_tables() WHERE ${isOwn} AND NOT temporary ORDER BY ALL`)
  const copied: CopiedTable[] = []
  for (const [schema, name, sql, comment] of tables.getRows()) {
    const table = `${quote(String(schema))}.${quote(String(name))}`
    await connection.run(`CREATE TABLE ${copy}.${table} ${definition(String(name), String(sql))}`)
    if (comment !== null) {
      await connection.run(`COMMENT ON TABLE ${copy}.${table} IS ${literal(String(comment))}`)
    }
    await copyRows(copying, table)
    const rowCount = await countEqual(copying, table)
    copied.push({ schema: String(schema), name: String(name), rowCount })
  }
  await checkSame(copying)
  return copied
}

function unquoted(identifier: string): string {
  return identifier.slice(1, -1).replaceAll('""', '"')
}

/**
 * In steps, each written to disk before the next: otherwise everything would be written at the end, with every commit
 * waiting for it.
 */
async function copyRows(copying: Copying, table: string): Promise<void> {
  const { connection, source, copy, sync, signal } = copying
  const reader = await connection.runAndReadAll(`SELECT max(rowid) FROM ${source}.${table}`)
  const lastRow = Number(reader.getRows()[0]?.[0] ?? -1)
  let groups = 1
  for (let first = 0; first <= lastRow; ) {
    signal.throwIfAborted()
    const startMs = performance.now()
    const end = first + groups * GROUP_ROWS
    await connection.run(`INSERT INTO ${copy}.${table} SELECT * FROM ${source}.${table}
      WHERE rowid >= ${first} AND rowid < ${end}`)
    if (end <= lastRow) await sync()
    const stepMs = performance.now() - startMs
    if (stepMs > STEP_MS) groups = Math.max(1, Math.floor(groups / 2))
    else if (stepMs < STEP_MS / 2) groups = Math.min(GROUPS_PER_STEP_MAX, groups * 2)
    first = end
  }
}

/** The table's row count, equal in both. */
async function countEqual({ connection, source, copy }: Copying, table: string): Promise<number> {
  const reader = await connection.runAndReadAll(`SELECT
    (SELECT count(*) FROM ${source}.${table}), (SELECT count(*) FROM ${copy}.${table})`)
  const [there, here] = (reader.getRows()[0] ?? []).map(Number)
  if (there === undefined || there !== here) {
    throw new Error(`the copy of ${table} has ${here} rows instead of ${there}`)
  }
  return there
}

/** The parts of a database besides rows, each as a row of text. */
const DEFINITIONS: readonly string[] = [
  `SELECT schema_name, table_name, column_name, column_index, data_type, is_nullable, column_default, comment
    FROM duckdb_columns()`,
  'SELECT schema_name, table_name, comment, column_count FROM duckdb_tables()',
  'SELECT schema_name, table_name, constraint_type, constraint_text FROM duckdb_constraints()',
  'SELECT schema_name, view_name FROM duckdb_views()',
  'SELECT schema_name, index_name FROM duckdb_indexes()',
  'SELECT schema_name, sequence_name FROM duckdb_sequences()',
  "SELECT schema_name, type_name FROM duckdb_types() WHERE schema_name <> 'main'",
]

/** @throws Error if the copy lacks a part that rows do not show, such as a key or a default */
async function checkSame({ connection, source, copy }: Copying): Promise<void> {
  for (const definitions of DEFINITIONS) {
    const isLimited = definitions.includes(' WHERE ')
    const within = (database: string) => {
      const condition = `database_name = ${literal(unquoted(database))}`
      return `${definitions} ${isLimited ? 'AND' : 'WHERE'} ${condition}`
    }
    const reader = await connection.runAndReadAll(
      `(${within(source)}) EXCEPT (${within(copy)}) LIMIT 1`,
    )
    const [missing] = reader.getRows()
    if (missing !== undefined) throw new Error(`the copy lacks ${missing.map(String).join(', ')}`)
  }
}
