import { constants, Database, type Statement } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type {
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import { quote } from '../../core/domain/names.ts'
import type { SourceSelect, SourceValue } from '../../core/domain/ports/engine-ports.ts'
import { isDate } from '../../core/time.ts'
import { StagedCsv } from '../staged-csv.ts'
import {
  type FileJob,
  type OpenedFile,
  requireColumnCount,
  STAGED_FILES,
  type StagedAnswer,
} from './file-messages.ts'

const BUSY_MS = 3000
/** Infer column types from this many rows. */
const SAMPLE_ROWS = 500
const SAMPLE_ROWS_OF_LIST = 100
const ROWS_PER_STEP = 200

type Row = readonly SqliteValue[]

export class SqliteFile implements OpenedFile {
  readonly #database: Database
  readonly #job: FileJob

  constructor(job: FileJob) {
    this.#job = job
    this.#database = openedDatabase(job)
  }

  async check(): Promise<void> {
    this.#database.prepare('SELECT count(*) FROM sqlite_schema').values()
  }

  async tables(): Promise<readonly DescribedSourceTable[]> {
    // The tables behind a virtual table, such as a full-text index, are internal.
    const sql = `SELECT name, type FROM pragma_table_list
      WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name`
    const rows = this.#database.prepare(sql).values()
    return rows.map(([name, type]) => {
      const kind = type === 'view' ? 'view' : 'table'
      const table = { schema: null, name: String(name), kind } as const
      try {
        // Computing a view's rows may never end.
        const sampleRows = kind === 'view' ? 0 : SAMPLE_ROWS_OF_LIST
        return { ...table, columns: this.#columns(table.name, sampleRows) }
      } catch {
        // A view of a missing table, or a virtual table of a missing module.
        return { ...table, columns: [] }
      }
    })
  }

  async columns({ schema, name }: SourceTableName): Promise<readonly SourceColumn[]> {
    if (schema !== null && schema.toLowerCase() !== 'main') return []
    const found = this.#database
      .prepare(`SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ?`)
      .values(name)
    return found.length === 0 ? [] : this.#columns(name, SAMPLE_ROWS)
  }

  async describe(sql: string): Promise<readonly SourceColumn[]> {
    return this.#cursor({ sql, values: [] }).described(SAMPLE_ROWS)
  }

  async stage(select: SourceSelect): Promise<StagedAnswer> {
    const cursor = this.#cursor(select)
    const columns = cursor.described(SAMPLE_ROWS).map((column) => ({ ...column, isText: false }))
    const folder = { directory: this.#job.folder, reserveBytes: 0 }
    const csv = await StagedCsv.create(folder, STAGED_FILES.sqlite)
    try {
      await written(cursor, csv, select.rowsMax ?? Number.POSITIVE_INFINITY)
    } catch (error) {
      // A file that is left open ends the process later.
      await csv.remove()
      throw error
    } finally {
      cursor.close()
    }
    return { columns, sizeBytes: csv.sizeBytes, lineBytesMax: csv.lineBytesMax }
  }

  close(): void {
    this.#database.close()
  }

  #columns(name: string, sampleRows: number): readonly SourceColumn[] {
    const notNull = new Set(
      this.#database
        .prepare('SELECT name FROM pragma_table_xinfo(?) WHERE "notnull" <> 0')
        .values(name)
        .map(([column]) => String(column)),
    )
    const cursor = this.#cursor({ sql: `SELECT * FROM ${quote(name)}`, values: [] })
    const described = cursor.described(sampleRows)
    // Unnamed columns cannot be requested.
    return described
      .filter((_, index) => cursor.statementNames[index] !== '')
      .map((column) => ({ ...column, isNullable: !notNull.has(column.name) }))
  }

  #cursor({ sql, values }: SourceSelect): SqliteCursor {
    const statement = this.#database.prepare(sql)
    const names = statement.columnNames
    requireColumnCount(names.length)
    const declared = statement.declaredTypes
    statement.finalize()
    // Rows come as objects, so each column needs a unique name.
    const aliases = names.map((_, index) => `c${index}`).join(', ')
    // A name that no table in the statement can have.
    const rows = quote(`eider_${crypto.randomUUID()}`)
    const renamed = this.#database.prepare(
      `WITH ${rows}(${aliases}) AS (${sql}\n) SELECT ${aliases} FROM ${rows}`,
    )
    return new SqliteCursor({ statement: renamed, names, declared, values })
  }
}

async function written(cursor: SqliteCursor, csv: StagedCsv, rowsMax: number): Promise<void> {
  let left = rowsMax
  while (left > 0) {
    const rows = cursor.next(ROWS_PER_STEP).slice(0, left)
    if (rows.length === 0) break
    left -= rows.length
    for (const row of rows) {
      const cells = cursor.types.map((type, index) => fileValue(type, row[index] ?? null))
      csv.addLine(Buffer.from(`${cells.join(',')}\n`))
      if (csv.isFull) await csv.drained()
    }
  }
  await csv.end()
}

class SqliteCursor {
  types: readonly SqliteType[] = []
  readonly statementNames: readonly string[]
  readonly #names: readonly string[]
  readonly #declared: readonly (string | null)[]
  readonly #rows: Iterator<unknown>
  #sample: readonly Row[] = []

  constructor(parts: {
    readonly statement: Statement
    readonly names: readonly string[]
    readonly declared: readonly (string | null)[]
    readonly values: readonly SourceValue[]
  }) {
    this.statementNames = parts.names
    this.#names = parts.names.map((name, index) => name || `column_${index + 1}`)
    this.#declared = parts.declared
    this.#rows = parts.statement.safeIntegers(true).iterate(...parts.values)
  }

  described(sampleRows: number): readonly SourceColumn[] {
    this.#sample = sampleRows === 0 ? [] : this.#taken(sampleRows)
    this.types = this.#names.map((_, index) => {
      const values = this.#sample.map((row) => row[index] ?? null)
      return columnType(this.#declared[index] ?? null, values)
    })
    return this.#names.map((name, index) => ({
      name,
      type: this.types[index] ?? 'VARCHAR',
      nativeType: (this.#declared[index] ?? '').toLowerCase(),
      isNullable: true,
    }))
  }

  /** Ends the statement, also before its last row. */
  close(): void {
    this.#rows.return?.()
  }

  /** @throws Error for a value that does not fit the type of its column */
  next(count: number): readonly Row[] {
    const rows = this.#sample.length > 0 ? this.#sample : this.#taken(count)
    this.#sample = []
    for (const row of rows) this.#requireFitting(row)
    return rows
  }

  #taken(count: number): readonly Row[] {
    const rows: Row[] = []
    while (rows.length < count) {
      const { done, value } = this.#rows.next()
      if (done === true) break
      // The statement's columns, under the names given to them here.
      const cells = value as Readonly<Record<string, SqliteValue>>
      rows.push(this.#names.map((_, index) => cells[`c${index}`] ?? null))
    }
    return rows
  }

  #requireFitting(row: Row): void {
    for (const [index, type] of this.types.entries()) {
      const value = row[index] ?? null
      if (value === null || fitsType(type, value)) continue
      const name = this.#names[index] ?? ''
      throw new Error(
        `column ${name} is ${type} by its first rows and then holds a value of type ${storageClass(value)} that does not fit; write CAST(${quote(name)} AS TEXT) in native SQL`,
      )
    }
  }
}

/** @throws Error from SQLite */
function openedDatabase({ path, limits }: FileJob): Database {
  const database = connected(path)
  const pragmas = [
    `busy_timeout = ${BUSY_MS}`,
    'query_only = ON',
    // This prevents the schema of a hostile file from calling functions.
    'trusted_schema = OFF',
    'cell_size_check = ON',
    'mmap_size = 0',
    'temp_store = MEMORY',
    `hard_heap_limit = ${Math.floor(limits.memoryBytes / 2)}`,
  ]
  for (const pragma of pragmas) database.run(`PRAGMA ${pragma}`)
  return database
}

function connected(path: string): Database {
  const database = new Database(path, { readonly: true })
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
    database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').values()
    return database
  } catch (error) {
    database.close()
    const hasLog = JOURNALS.some((ending) => existsSync(path + ending))
    if (!isWithoutWriting(error) || hasLog) throw error
    // In WAL mode, reading needs files next to this one, which cannot be created here. They are
    // missing, so no process has it open.
    const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI
    return new Database(`${pathToFileURL(path).href}?immutable=1`, flags)
  }
}

/** If one of these files exists, the database is incomplete or has uncommitted changes. */
const JOURNALS = ['-wal', '-journal']

function isWithoutWriting(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY')
}

/**
 * SQLite values have types, columns only prefer one. Chooses the DuckDB type that fits the values.
 */

type SqliteValue = null | bigint | number | string | Uint8Array

type SqliteType = 'BIGINT' | 'DOUBLE' | 'VARCHAR' | 'BLOB' | 'BOOLEAN' | 'DATE' | 'TIMESTAMP'

/** Returns the type for a declaration by SQLite's affinity rules, or null. */
function declaredType(declared: string | null): SqliteType | null {
  const name = (declared ?? '').toUpperCase()
  if (name === '') return null
  if (name.includes('INT')) return 'BIGINT'
  if (/CHAR|CLOB|TEXT/.test(name)) return 'VARCHAR'
  if (name.includes('BLOB')) return 'BLOB'
  if (/REAL|FLOA|DOUB|NUM|DEC/.test(name)) return 'DOUBLE'
  if (name.includes('BOOL')) return 'BOOLEAN'
  if (/^(DATETIME|TIMESTAMP)\b/.test(name)) return 'TIMESTAMP'
  return /^DATE\b/.test(name) ? 'DATE' : 'VARCHAR'
}

/** Returns the declared type if the first values fit it, or else one that fits them all. */
function columnType(declared: string | null, values: readonly SqliteValue[]): SqliteType {
  const wished = declaredType(declared)
  const candidates = [...(wished === null ? [] : [wished]), 'BIGINT', 'DOUBLE', 'BLOB'] as const
  const held = values.filter((value) => value !== null)
  if (wished !== null && held.length === 0) return wished
  if (held.length === 0) return 'VARCHAR'
  return candidates.find((type) => held.every((value) => fitsType(type, value))) ?? 'VARCHAR'
}

const EXACT_MAX = 2n ** 53n

function fitsType(type: SqliteType, value: Exclude<SqliteValue, null>): boolean {
  switch (type) {
    case 'BIGINT':
      return typeof value === 'bigint'
    case 'DOUBLE':
      return (
        typeof value === 'number' ||
        (typeof value === 'bigint' && value <= EXACT_MAX && value >= -EXACT_MAX)
      )
    case 'VARCHAR':
      return !(value instanceof Uint8Array)
    case 'BLOB':
      return value instanceof Uint8Array
    case 'BOOLEAN':
      return value === 0n || value === 1n
    case 'DATE':
      return typeof value === 'string' && isDate(value)
    case 'TIMESTAMP':
      return typeof value === 'string' && momentOf(value) !== null
  }
}

const MOMENT =
  /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6})0*)?)?)?(?:Z|[+]00:?00)?$/

/** For example `2024-05-06 07:08:09.000000`, or null if SQLite may read the text differently. */
function momentOf(text: string): string | null {
  const [, date = '', time = '00:00', seconds = '00', fraction = ''] = MOMENT.exec(text) ?? []
  if (!isDate(date) || time > '23:59' || time.slice(3) > '59' || seconds > '59') return null
  return `${date} ${time}:${seconds}.${fraction.padEnd(6, '0')}`
}

/** Returns a fitting value in the form for the file of staged rows. */
function fileValue(type: SqliteType, value: SqliteValue): string {
  if (value === null) return ''
  if (value instanceof Uint8Array)
    return `"${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`
  switch (type) {
    case 'BOOLEAN':
      return value === 1n ? 'true' : 'false'
    case 'TIMESTAMP':
      return momentOf(String(value)) ?? ''
    case 'VARCHAR':
      return `"${realText(value).replaceAll('"', '""')}"`
    default:
      return value === Infinity ? 'inf' : value === -Infinity ? '-inf' : String(value)
  }
}

/** Writes a number as SQLite does, where a REAL always has a decimal point. */
function realText(value: string | number | bigint): string {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e15
    ? `${value}.0`
    : String(value)
}

function storageClass(value: SqliteValue): string {
  if (value === null) return 'NULL'
  if (value instanceof Uint8Array) return 'BLOB'
  if (typeof value === 'string') return 'TEXT'
  return typeof value === 'bigint' ? 'INTEGER' : 'REAL'
}
