import { open } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { literal, quote } from '../../core/domain/names.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import type { Database } from '../duckdb/database.ts'
import { LOG_EXPECTED } from '../duckdb/log-mark.ts'
import { insertFound } from '../duckdb/prepared.ts'
import { definition } from '../upkeep/posting-sorter.ts'

interface CopiedTable {
  readonly schema: string
  readonly name: string
  readonly rowCount: number
}

/** DuckDB's default of 122,880 rows means 190 MB in memory, and commits wait five seconds. */
const GROUP_ROWS = 8192
const GROUPS_PER_STEP_MAX = 64

/**
 * The target time per step: slower steps make the next one smaller, steps below half of it larger.
 */
const STEP_MS = 100

/** A database copy in progress. */
interface Copying {
  readonly connection: DuckDBConnection
  /** Quoted name of the source database. */
  readonly source: string
  readonly copy: string
  /** Flushes the data so far to disk. */
  readonly sync: () => Promise<void>
  readonly signal: AbortSignal
}

/**
 * Copies every table to a new file within one transaction, so the copy shows one moment and writers
 * do not wait. DuckDB's own COPY FROM DATABASE changes a setting internally, which the locked
 * settings forbid.
 * @param path a file in the exports folder, the only place where the instance may write
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
  // A random name, because every connection can see the attached database.
  const copy = quote(`copy_${crypto.randomUUID()}`)
  await connection.run(`ATTACH ${literal(path)} AS ${copy} (ROW_GROUP_SIZE ${GROUP_ROWS})`)
  const file = await open(path, 'r')
  try {
    const sync = () => file.datasync()
    await connection.run('BEGIN TRANSACTION')
    const tables = await copyTables({ connection, source, copy, sync, signal })
    await connection.run('COMMIT')
    // A plain CHECKPOINT would fail while another statement lists all databases; FORCE waits.
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
  const [[name] = []] = await allRows(connection, 'SELECT current_database()')
  return String(name)
}

async function copyTables(copying: Copying): Promise<readonly CopiedTable[]> {
  const { connection, source, copy } = copying
  const isOwn = `database_name = ${literal(unquoted(source))} AND NOT internal`
  const named = `SELECT schema_name FROM duckdb_schemas() WHERE ${isOwn} AND schema_name <> '${LOG_EXPECTED}'`
  const schemas = await allRows(connection, named)
  for (const [schema] of schemas) {
    await connection.run(`CREATE SCHEMA ${copy}.${quote(String(schema))}`)
  }
  const defined = `SELECT schema_name, table_name, sql, comment
    FROM duckdb_tables() WHERE ${isOwn} AND NOT temporary ORDER BY ALL`
  const tables = await allRows(connection, defined)
  const copied: CopiedTable[] = []
  for (const [schema, name, sql, comment] of tables) {
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

/** In steps, each flushed. Otherwise all is written at the end while commits wait. */
async function copyRows(copying: Copying, table: string): Promise<void> {
  const { connection, source, copy, sync, signal } = copying
  const found = await allRows(connection, `SELECT max(rowid) FROM ${source}.${table}`)
  const lastRow = Number(found[0]?.[0] ?? -1)
  let groups = 1
  for (let first = 0; first <= lastRow; ) {
    signal.throwIfAborted()
    const startMs = performance.now()
    const end = first + groups * GROUP_ROWS
    const rows = `FROM ${source}.${table} WHERE rowid >= ${first} AND rowid < ${end}`
    await insertFound(connection, `${copy}.${table}`, rows)
    if (end <= lastRow) await sync()
    const stepMs = performance.now() - startMs
    if (stepMs > STEP_MS) groups = Math.max(1, Math.floor(groups / 2))
    else if (stepMs < STEP_MS / 2) groups = Math.min(GROUPS_PER_STEP_MAX, groups * 2)
    first = end
  }
}

/** Returns the table's row count. @throws Error if source and copy differ */
async function countEqual({ connection, source, copy }: Copying, table: string): Promise<number> {
  const sql = `SELECT
    (SELECT count(*) FROM ${source}.${table}), (SELECT count(*) FROM ${copy}.${table})`
  const [row = []] = await allRows(connection, sql)
  const [there, here] = row.map(Number)
  if (there === undefined || there !== here) {
    throw new Error(`the copy of ${table} has ${here} rows instead of ${there}`)
  }
  return there
}

/** Queries that return the schema objects of a database, such as keys and defaults, as text. */
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

/** @throws Error if a schema object, such as a key or a default, is missing in the copy */
async function checkSame({ connection, source, copy }: Copying): Promise<void> {
  for (const definitions of DEFINITIONS) {
    const isLimited = definitions.includes(' WHERE ')
    const within = (database: string) => {
      const condition = `database_name = ${literal(unquoted(database))}`
      return `${definitions} ${isLimited ? 'AND' : 'WHERE'} ${condition}`
    }
    const [missing] = await allRows(
      connection,
      `(${within(source)}) EXCEPT (${within(copy)}) LIMIT 1`,
    )
    if (missing !== undefined) throw new Error(`the copy lacks ${missing.map(String).join(', ')}`)
  }
}
