import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DuckDBAppender, type DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api'
import type { CellValue, Row } from '../../core/domain/document.ts'
import { distinctNames, literal, quote } from '../../core/domain/names.ts'
import type { ReadTable } from '../../core/domain/ports/reading-ports.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { jsonText } from '../documents/chunk-rows.ts'
import { resourceError } from '../duckdb/database-error.ts'
import { interruptible } from '../duckdb/interruptible.ts'

/** Eider's reader process wrote these files; users' Parquet is never read here. */
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

/** In a transaction; DuckDB's threads copy. @returns the row count @param target quoted */
export async function makeTableOf(
  { columns, rowCount }: ReadTable,
  { path, target }: { readonly path: string; readonly target: string },
  connection: DuckDBConnection,
  signal: AbortSignal,
): Promise<number> {
  const sql = `CREATE TABLE ${target} AS ${selectOfTable({ columns }, path)}`
  const [[count] = []] = await interruptible(connection, signal, () => {
    return allRows(connection, sql)
  }).catch((error) => Promise.reject(signal.aborted ? error : unreadable(error)))
  if (Number(count) !== rowCount) throw unreadable(new Error('the rows were counted otherwise'))
  return rowCount
}

/** Returns a SELECT of the rows in a Parquet file that Eider wrote. */
export function selectOfTable({ columns }: Pick<ReadTable, 'columns'>, path: string): string {
  const values = columns.map(({ name, type }) => {
    return `CAST(${quote(name)} AS ${checkedType(type)}) AS ${quote(name)}`
  })
  return `SELECT ${values.join(', ')} FROM read_parquet(${literal(path)})`
}

/** @returns the path; the caller removes the file */
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

/** Matches the parts of a type: names, numbers, quoted names, strings and symbols. */
const TYPE_PARTS = /[A-Za-z_][\w ]*|\d+|"(?:[^"]|"")*"|'(?:[^']|'')*'|[(),[\] ]/gy

/** It becomes part of a statement. @throws AppError `file_unreadable` */
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

const ROWS_PER_APPEND = 128
/** Append a batch early when its texts have this many characters. */
const CHARS_PER_APPEND = 8_000_000
/** Decide on columns after this many rows, or characters in them. */
const FIRST_ROWS = 2000
const FIRST_CHARS = 16_000_000

interface RowsColumn {
  readonly key: string
  readonly name: string
  /** The column's type in DDL. */
  readonly type: 'VARCHAR' | 'JSON'
}

/** Keeps few rows in memory. The first ones determine the columns. */
export class RowsTable {
  readonly columns: readonly RowsColumn[]
  readonly #rows: AsyncIterable<Row>
  #unknownKeys = new Set<string>()

  private constructor(rows: AsyncIterable<Row>, columns: readonly RowsColumn[]) {
    this.#rows = rows
    this.columns = columns
  }

  /** @throws any error from the rows */
  static async of(rows: AsyncIterable<Row>): Promise<RowsTable> {
    const source = rows[Symbol.asyncIterator]()
    const first: Row[] = []
    let chars = 0
    let next = await source.next()
    while (next.done !== true) {
      first.push(next.value)
      chars += charsOf(next.value)
      if (first.length >= FIRST_ROWS || chars >= FIRST_CHARS) break
      next = await source.next()
    }
    return new RowsTable(restored(first, source), columnsOf(first))
  }

  /**
   * In a transaction. Columns that come later are left out, with a warning. @param target quoted
   */
  async make(connection: DuckDBConnection, target: string, signal: AbortSignal) {
    const definition = this.columns.map(({ name, type }) => `${quote(name)} ${type}`)
    await connection.run(`CREATE TABLE ${target} (${definition.join(', ')})`)
    const [schema = '', table = ''] = target.split('.').map((part) => part.slice(1, -1))
    const appender = await connection.createAppender(table, schema)
    let rowCount = 0
    let batch: Row[] = []
    let chars = 0
    const flush = async () => {
      this.#append(appender, batch)
      batch = []
      chars = 0
      signal.throwIfAborted()
      await yieldToEventLoop()
    }
    for await (const row of this.#rows) {
      batch.push(row)
      rowCount += 1
      chars += charsOf(row)
      if (batch.length >= ROWS_PER_APPEND || chars >= CHARS_PER_APPEND) await flush()
    }
    if (batch.length > 0) await flush()
    appender.closeSync()
    return { rowCount, warnings: this.#warnings() }
  }

  #append(appender: DuckDBAppender, rows: readonly Row[]): void {
    const types = this.columns.map((_, index) => appender.columnType(index))
    const data = DuckDBDataChunk.create(types, rows.length)
    data.setColumns(
      this.columns.map(({ key, type }) => rows.map((row) => cellText(row[key], type))),
    )
    appender.appendDataChunk(data)
    appender.flushSync()
    const known = new Set(this.columns.map(({ key }) => key))
    for (const row of rows) {
      for (const key of Object.keys(row)) if (!known.has(key)) this.#unknownKeys.add(key)
    }
  }

  #warnings(): readonly string[] {
    if (this.#unknownKeys.size === 0) return []
    const names = [...this.#unknownKeys].slice(0, 10).join(', ')
    const count = this.#unknownKeys.size
    return [
      `${count} columns that only later documents have are left out: ${names}${count > 10 ? ', …' : ''}`,
    ]
  }
}

async function* restored(first: Row[], rest: AsyncIterator<Row>): AsyncGenerator<Row, void> {
  // Remove each row from the list as it is passed on, to free its memory.
  for (let row = first.shift(); row !== undefined; row = first.shift()) yield row
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
}

function charsOf(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => {
    return sum + (typeof value === 'string' ? value.length : 16)
  }, 0)
}

/** Returns the columns of all rows. A column with only texts is VARCHAR; all others are JSON. */
function columnsOf(rows: readonly Row[]): readonly RowsColumn[] {
  const types = new Map<string, 'VARCHAR' | 'JSON'>()
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const isText = value === null || typeof value === 'string'
      if (!isText) types.set(name, 'JSON')
      else if (!types.has(name)) types.set(name, 'VARCHAR')
    }
  }
  const names = distinctNames([...types.keys()])
  return [...types].map(([key, type], index) => ({ key, name: names[index] ?? '', type }))
}

function cellText(value: CellValue | undefined, type: string): string | null {
  if (value === null || value === undefined) return null
  if (type === 'VARCHAR' && typeof value === 'string') return value.toWellFormed()
  return jsonText(value)
}
