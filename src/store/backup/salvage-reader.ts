/**
 * Reads a database file and prints JSON. salvage.ts runs it in a separate process, because a
 * damaged file can crash DuckDB. Commands: `list <file>`; `export <file> <table> <target> <skipped
 * rows…>`, which prints each range of rows before reading it.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { literal } from '../../core/domain/names.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import type { ExportedTable, FoundTables } from './salvage.ts'

/** The tables of the catalog that are saved. Others can hold millions of rows. */
const DEFINITIONS = ['projects', 'knowledge_bases', 'agents', 'views', 'tables', 'files']

/** A damaged block loses this many rows at a time. */
const RANGE_ROWS = 2048
const MEMORY_LIMIT = '1GiB'

async function connect(file: string): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', { memory_limit: MEMORY_LIMIT })
  const connection = await instance.connect()
  await connection.run(`ATTACH ${literal(file)} AS damaged (READ_ONLY)`)
  return connection
}

async function list(file: string): Promise<FoundTables> {
  const connection = await connect(file)
  const sql = `SELECT schema_name, table_name FROM duckdb_tables()
    WHERE database_name = 'damaged' AND NOT internal ORDER BY ALL`
  const found = await allRows(connection, sql)
  const tables = found.map(([schema, name]) => {
    return { schema: String(schema), name: String(name) }
  })
  const catalog: Record<string, readonly Readonly<Record<string, unknown>>[]> = {}
  for (const name of DEFINITIONS) {
    const sql = `SELECT COLUMNS(c -> c NOT LIKE 'sealed%') FROM damaged.eider.${name}`
    const rows = await connection.runAndReadAll(sql).catch(() => null)
    if (rows !== null) catalog[name] = rows.getRowObjectsJson()
  }
  return { tables, catalog }
}

async function exportTable(
  file: string,
  table: string,
  target: string,
  skipped: readonly number[],
): Promise<ExportedTable> {
  const connection = await connect(file)
  const format = target.endsWith('.jsonl') ? 'FORMAT json' : 'FORMAT parquet'
  const source = `damaged.${table}`
  if (skipped.length === 0) {
    process.stdout.write('0\n')
    const sql = `COPY (FROM ${source}) TO ${literal(target)} (${format})`
    const whole = await allRows(connection, sql).catch(() => null)
    if (whole !== null) return { rows: Number(whole[0]?.[0]), lostRows: 0 }
  }
  const ends = await allRows(connection, `SELECT max(rowid), count(*) FROM ${source}`)
  const [lastRow, count] = (ends[0] ?? []).map(Number)
  await connection.run(`CREATE TABLE memory.main.saved AS FROM ${source} LIMIT 0`)
  for (let first = 0; first <= (lastRow ?? -1); first += RANGE_ROWS) {
    if (skipped.includes(first)) continue
    process.stdout.write(`${first}\n`)
    const rows = `FROM ${source} WHERE rowid >= ${first} AND rowid < ${first + RANGE_ROWS}`
    // Rows that cannot be read are counted at the end, together with missing ones.
    await connection.run(`INSERT INTO memory.main.saved ${rows}`).catch(() => {})
  }
  const sql = `COPY memory.main.saved TO ${literal(target)} (${format})`
  const saved = await allRows(connection, sql)
  const rows = Number(saved[0]?.[0])
  return { rows, lostRows: (count ?? rows) - rows }
}

/** Resolves once the pipe has all of it: ending the process would cut off the rest. */
function print(answer: object): Promise<unknown> {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify(answer)}\n`, resolve))
}

const [command, file = '', table = '', target = '', ...skipped] = process.argv.slice(2)
try {
  const result =
    command === 'list'
      ? await list(file)
      : await exportTable(file, table, target, skipped.map(Number))
  await print({ result })
  process.exit(0)
} catch (error) {
  const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
  await print({ error: message })
  process.exit(1)
}
