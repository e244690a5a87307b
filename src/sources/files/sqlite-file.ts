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
import { isExactNumber, type ResultValue } from '../../core/domain/query-result.ts'
import { StagedCsv, textConverter } from '../staged-csv.ts'
import {
  COLUMNS_MAX,
  type FileJob,
  type FileRows,
  type OpenedFile,
  STAGED_FILES,
  type StagedAnswer,
} from './file-messages.ts'

const BUSY_MS = 3000
/** From which the types of columns are taken. */
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
    // The tables behind a virtual one, such as a full-text index, are internal.
    const sql = `SELECT name, type FROM pragma_table_list
      WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name`
    const rows = this.#database.prepare(sql).values()
    return rows.map(([name, type]) => {
      const kind = type === 'view' ? 'view' : 'table'
      const table = { schema: null, name: String(name), kind } as const
      try {
        // A view may compute for ever.
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

  async read(select: SourceSelect): Promise<FileRows> {
    const cursor = this.#cursor(select)
    const columns = cursor.described(SAMPLE_ROWS)
    const types = cursor.types
    return {
      columns: columns.map(({ name, type }) => ({ name, type })),
      next: async () => {
        const rows = cursor.next(ROWS_PER_STEP)
        return rows.length === 0
          ? null
          : rows.map((row) => types.map((type, index) => shownValue(type, row[index] ?? null)))
      },
    }
  }

  async stage(select: SourceSelect): Promise<StagedAnswer> {
    const cursor = this.#cursor(select)
    const columns = cursor.described(SAMPLE_ROWS).map((column) => ({ ...column, isText: false }))
    const { types } = cursor
    const folder = { directory: this.#job.folder, reserveBytes: 0 }
    const csv = await StagedCsv.create(folder, STAGED_FILES.sqlite)
    for (
      let rows = cursor.next(ROWS_PER_STEP);
      rows.length > 0;
      rows = cursor.next(ROWS_PER_STEP)
    ) {
      for (const row of rows) {
        const cells = types.map((type, index) => fileValue(type, row[index] ?? null))
        csv.addLine(Buffer.from(`${cells.join(',')}\n`))
        if (csv.isFull) await csv.drained()
      }
    }
    await csv.end()
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
    if (names.length === 0) throw new Error('the statement gives no rows')
    if (names.length > COLUMNS_MAX) {
      throw new Error(`the statement gives more than ${COLUMNS_MAX} columns; name those you need`)
    }
    const declared = statement.declaredTypes
    statement.finalize()
    // Rows come as objects, so that each column needs a unique name.
    const aliases = names.map((_, index) => `c${index}`).join(', ')
    // A name that no table of the statement has.
    const rows = quote(`eider_${crypto.randomUUID()}`)
    const renamed = this.#database.prepare(
      `WITH ${rows}(${aliases}) AS (${sql}\n) SELECT ${aliases} FROM ${rows}`,
    )
    return new SqliteCursor({ statement: renamed, names, declared, values })
  }
}

/** Rows at a statement, whose types are known after the first of them. */
class SqliteCursor {
  types: readonly SqliteType[] = []
  /** As the statement has them; they may be empty. */
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
      // The statement's own columns, by the names that we gave them.
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

/** @throws Error of SQLite */
function openedDatabase({ path, limits }: FileJob): Database {
  const database = connected(path)
  const pragmas = [
    `busy_timeout = ${BUSY_MS}`,
    'query_only = ON',
    // Functions called by the schema of a hostile file.
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
    // In WAL mode reading needs files next to it, which cannot be created here; no process has it open, since they are
    // missing.
    const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI
    return new Database(`${pathToFileURL(path).href}?immutable=1`, flags)
  }
}

/** Where what is in the file is not all, or not what was committed. */
const JOURNALS = ['-wal', '-journal']

function isWithoutWriting(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY')
}

/** SQLite's values have types, its columns only wish for one: which type of DuckDB a column gets, and what fits it. */

type SqliteValue = null | bigint | number | string | Uint8Array

type SqliteType = 'BIGINT' | 'DOUBLE' | 'VARCHAR' | 'BLOB' | 'BOOLEAN' | 'DATE' | 'TIMESTAMP'

/** What its declaration says, by the rules of SQLite's own affinities; null: nothing. */
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

/** The declared type where the first values fit it; else one that fits them all. */
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

const DATE_TEXT = /^\d{4}-\d\d-\d\d$/
const MOMENT =
  /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6})0*)?)?)?(?:Z|[+]00:?00)?$/

function isDate(text: string): boolean {
  if (!DATE_TEXT.test(text) || text.startsWith('0000')) return false
  const date = new Date(`${text}T00:00:00Z`)
  // A day that its month does not have becomes another one, or none.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/** `2024-05-06 07:08:09.000000`; null: not one that is known to mean the same here. */
function momentOf(text: string): string | null {
  const [, date = '', time = '00:00', seconds = '00', fraction = ''] = MOMENT.exec(text) ?? []
  if (!isDate(date) || time > '23:59' || time.slice(3) > '59' || seconds > '59') return null
  return `${date} ${time}:${seconds}.${fraction.padEnd(6, '0')}`
}

const textOfBlob = (bytes: Uint8Array, encoding: 'hex' | 'base64') => {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)
}

/** A value that fits, in the form of answers. */
function shownValue(type: SqliteType, value: SqliteValue): ResultValue {
  if (value === null) return null
  if (value instanceof Uint8Array) return textOfBlob(value, 'base64')
  switch (type) {
    case 'BIGINT':
      return typeof value === 'bigint' && !isExactNumber(value) ? String(value) : Number(value)
    case 'DOUBLE':
      return Number.isFinite(Number(value)) ? Number(value) : null
    case 'BOOLEAN':
      return value === 1n
    case 'TIMESTAMP':
      return textConverter('TIMESTAMP')(momentOf(String(value)) ?? '')
    default:
      return realText(value)
  }
}

/** A value that fits, as the file of staged rows has it. */
function fileValue(type: SqliteType, value: SqliteValue): string {
  if (value === null) return ''
  if (value instanceof Uint8Array) return `"${textOfBlob(value, 'hex')}"`
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

/** As SQLite writes a number as text: a REAL is known by its point. */
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
