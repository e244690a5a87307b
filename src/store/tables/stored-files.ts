import { type DuckDBAppender, type DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api'
import { FILES_SCHEMA, fileTable } from '../../domain/chunk-tables.ts'
import type { CellValue, Row } from '../../domain/document.ts'
import { distinctNames, quote } from '../../domain/identifier.ts'
import type { BoundSql, RunLimits } from '../../domain/ports/engine-ports.ts'
import type { ReadTable } from '../../domain/ports/reading-ports.ts'
import type { FileStore, NewFile, NewSelectedFile } from '../../domain/ports/store-ports.ts'
import { timestampOfMillis } from '../../domain/timestamp.ts'
import { fileKey, PLAIN_FILE, type UploadedFile } from '../../domain/uploaded-file.ts'
import { AppError, notFound } from '../../errors.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import { deleteRow, nextId, queriesOver } from '../catalog/catalog-queries.ts'
import { fileOf } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { without, withReplaced } from '../catalog/catalog-state.ts'
import { files } from '../catalog/schema.ts'
import { jsonText } from '../documents/chunk-rows.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import type { StagedSelect } from '../duckdb/staged-select.ts'
import { makeTableOf, withinReach } from './parquet-import.ts'
import { withStagedRows } from './stored-tables.ts'

const ROWS_PER_APPEND = 128
const ROWS_PER_PAGE = 1024
const PAGE_READ_MS = 60_000

export interface FileParts extends StoreParts {
  readonly engine: Pick<StoredEngine, 'run' | 'stage'>
}

interface FileColumn {
  readonly name: string
  /** As DuckDB writes it in DDL. */
  readonly type: string
}

/** Makes the table of the file with this id, within a write. @returns how many rows it has */
type MakeTable = (connection: DuckDBConnection, target: string, id: number) => Promise<number>

/** Uploaded files as tables of DuckDB. */
export class StoredFiles implements FileStore {
  readonly #parts: FileParts

  constructor(parts: FileParts) {
    this.#parts = parts
  }

  checkSpace(wantedBytes: number): void {
    this.#parts.database.checkSpace(wantedBytes)
  }

  async importTable(file: NewFile, table: ReadTable, signal: AbortSignal): Promise<UploadedFile> {
    this.#checkName(file.name)
    const { exportsDirectory } = this.#parts.database
    return withinReach(table, exportsDirectory, (path) => {
      return this.#store(file, table.columns, (connection, target) => {
        return makeTableOf(table, { path, target }, connection, signal)
      })
    })
  }

  async importRows(file: NewFile, rows: readonly Row[]): Promise<UploadedFile> {
    this.#checkName(file.name)
    const columns = rowColumns(rows)
    if (columns.length === 0) throw new AppError('file_unreadable', 'The file holds no rows')
    return this.#store(file, columns, async (connection, target, id) => {
      const definition = columns.map((column) => `${quote(column.name)} ${column.type}`)
      await connection.run(`CREATE TABLE ${target} (${definition.join(', ')})`)
      const appender = await connection.createAppender(fileTable(id), FILES_SCHEMA)
      const count = await appendRows(appender, columns, rows)
      appender.closeSync()
      return count
    })
  }

  async importSelect(
    file: NewSelectedFile,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<UploadedFile> {
    this.#replacedBy(file)
    const source = { engine: this.#parts.engine, select: file.select, limits }
    return withStagedRows(source, signal, (staged, ending) => {
      return this.#storeStaged(file, staged, ending)
    })
  }

  #storeStaged(
    file: NewSelectedFile,
    staged: StagedSelect,
    signal: AbortSignal,
  ): Promise<UploadedFile> {
    const { database, state } = this.#parts
    return database.write(
      async (connection) => {
        signal.throwIfAborted()
        const old = this.#replacedBy(file)
        if (old !== undefined) await dropWithin(connection, old)
        const { name } = file
        const columns = staged.columns.map((column) => column.name)
        const entry = {
          ...PLAIN_FILE,
          name,
          originalName: name,
          format: 'table',
          sizeBytes: 0,
          columns,
        } as const
        return this.#create(connection, entry, async (table) => {
          await staged.moveInto(tableName(table), signal)
          return staged.rowCount
        })
      },
      (stored) => {
        const others = state.snapshot().files.filter((other) => !isSameName(other, stored))
        state.change({ files: [...others, stored] })
      },
      staged.connection,
    )
  }

  /** The file that gives way to a new one. @throws AppError `file_exists` */
  #replacedBy({ name, orReplace = false }: NewSelectedFile): UploadedFile | undefined {
    if (!orReplace) this.#checkName(name)
    return this.#parts.state.snapshot().files.find((file) => isSameName(file, { name }))
  }

  /**
   * The rows in the order of the file, page by page, as embedding them takes longer than a statement may. A file's table
   * never changes, so its row ids count from 0 without a gap.
   */
  async *rows(file: UploadedFile, signal: AbortSignal): AsyncGenerator<Row, void, void> {
    const sql = `SELECT * FROM ${tableName(file.id)} WHERE rowid >= $first AND rowid < $end`
    for (let first = 0; first < file.rowCount; first += ROWS_PER_PAGE) {
      yield* await this.#page(file, { sql, values: { first, end: first + ROWS_PER_PAGE } }, signal)
    }
  }

  async #page(file: UploadedFile, statement: BoundSql, signal: AbortSignal): Promise<Row[]> {
    const limits = { timeoutMs: PAGE_READ_MS }
    try {
      const stream = await this.#parts.engine.run(statement, limits, signal)
      const { columns, batches, typedBatches = batches } = stream
      const rows: Row[] = []
      for await (const batch of typedBatches) {
        for (const values of batch) {
          rows.push(Object.fromEntries(columns.map(({ name }, at) => [name, values[at] ?? null])))
        }
      }
      return rows
    } catch (error) {
      const isGone = error instanceof AppError && error.code === 'sql_unknown_name'
      throw isGone ? notFound('file', file.name) : error
    }
  }

  dropFile(file: UploadedFile): Promise<void> {
    const { database, state } = this.#parts
    return database.writeFreeing(
      (connection) => dropWithin(connection, file),
      () => state.change({ files: without(state.snapshot().files, file.id) }),
    )
  }

  /** Row of the catalog and table, in one transaction. */
  #store(file: NewFile, columns: readonly FileColumn[], make: MakeTable): Promise<UploadedFile> {
    const { database, state } = this.#parts
    return database.write(
      (connection) => {
        this.#checkName(file.name)
        const { name, originalName, format, sizeBytes } = file
        const names = columns.map((column) => column.name)
        const entry = { ...PLAIN_FILE, name, originalName, format, sizeBytes, columns: names }
        return this.#create(connection, entry, (id) => make(connection, tableName(id), id))
      },
      (stored) => state.change({ files: withReplaced(state.snapshot().files, stored) }),
    )
  }

  /** @param makeTable makes the table of the file with this id, and counts its rows */
  async #create(
    connection: DuckDBConnection,
    entry: Omit<UploadedFile, 'id' | 'rowCount' | 'createdAt'>,
    makeTable: (id: number) => Promise<number>,
  ): Promise<UploadedFile> {
    const queries = queriesOver(connection)
    const id = await nextId(queries, 'file')
    const rowCount = await makeTable(id)
    const createdAt = timestampOfMillis(this.#parts.now())
    const row = { ...entry, id, nameKey: fileKey(entry.name), rowCount, createdAt }
    await queries.insert(files).values(row)
    return fileOf(row)
  }

  #checkName(name: string): void {
    const { files: known } = this.#parts.state.snapshot()
    if (!known.some((file) => isSameName(file, { name }))) return
    throw new AppError('file_exists', `File already exists: ${name}`)
  }
}

function isSameName(file: { readonly name: string }, other: { readonly name: string }): boolean {
  return fileKey(file.name) === fileKey(other.name)
}

/** @throws AppError `file_not_found` when it was dropped meanwhile */
async function dropWithin(connection: DuckDBConnection, file: UploadedFile): Promise<void> {
  await deleteRow(connection, 'file', file)
  await connection.run(`DROP TABLE ${tableName(file.id)}`)
}

function tableName(fileId: number): string {
  return `${quote(FILES_SCHEMA)}.${quote(fileTable(fileId))}`
}

/** Every column of any row. Texts are VARCHAR; a column with anything else is JSON. */
function rowColumns(rows: readonly Row[]): readonly FileColumn[] {
  const types = new Map<string, 'VARCHAR' | 'JSON'>()
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const isText = value === null || typeof value === 'string'
      if (!isText) types.set(name, 'JSON')
      else if (!types.has(name)) types.set(name, 'VARCHAR')
    }
  }
  const names = distinctNames([...types.keys()])
  return [...types.values()].map((type, index) => ({ name: names[index] ?? '', type }))
}

async function appendRows(
  appender: DuckDBAppender,
  columns: readonly FileColumn[],
  rows: readonly Row[],
): Promise<number> {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const types = columns.map((_, index) => appender.columnType(index))
  for (let start = 0; start < rows.length; start += ROWS_PER_APPEND) {
    const batch = rows.slice(start, start + ROWS_PER_APPEND)
    const data = DuckDBDataChunk.create(types, batch.length)
    data.setColumns(
      columns.map(({ type }, index) => {
        const key = keys[index] ?? ''
        return batch.map((row) => cellText(row[key], type))
      }),
    )
    appender.appendDataChunk(data)
    appender.flushSync()
    await yieldToEventLoop()
  }
  return rows.length
}

function cellText(value: CellValue | undefined, type: string): string | null {
  if (value === null || value === undefined) return null
  if (type === 'VARCHAR' && typeof value === 'string') return value.toWellFormed()
  return jsonText(value)
}
