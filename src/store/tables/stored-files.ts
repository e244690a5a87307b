import { rm } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { FILES_SCHEMA, fileTable, type Row } from '../../core/domain/document.ts'
import { quote } from '../../core/domain/names.ts'
import type { BoundSql, RunLimits } from '../../core/domain/ports/engine-ports.ts'
import type { TableRows } from '../../core/domain/ports/job-ports.ts'
import type { ReadTable } from '../../core/domain/ports/reading-ports.ts'
import type { FileStore, NewFile, NewSelectedFile } from '../../core/domain/ports/store-ports.ts'
import {
  type FileTable,
  fileKey,
  PLAIN_FILE,
  tablesOfFile,
  type UploadedFile,
} from '../../core/domain/uploaded-file.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import { DAY_MS, timestampOfMillis } from '../../core/time.ts'
import { deleteRow, nextId, queriesOver } from '../catalog/catalog-queries.ts'
import { fileOf } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { files } from '../catalog/schema.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import type { StagedSelect } from '../duckdb/staged-select.ts'
import type { FileContents } from './file-contents.ts'
import { makeTableOf, RowsTable, selectOfTable, takenTable, withinReach } from './parquet-import.ts'
import { withStagedRows } from './stored-tables.ts'

const ROWS_PER_PAGE = 1024
/** After a page of long documents, the next has as many rows as would have reached this. */
const CHARS_PER_PAGE = 2_000_000
const PAGE_READ_MS = 60_000
/** The time limit for reading an external table, whose rows are embedded while they are read. */
const TABLE_READ_MS = DAY_MS

interface FileParts extends StoreParts {
  readonly engine: Pick<StoredEngine, 'run' | 'stage'>
  readonly contents: FileContents
}

interface NewFileTable {
  /** The sheet name, or null for a file with a single table. */
  readonly name: string | null
  readonly columns: readonly string[]
  /** Call within a write. @returns the number of rows, and warnings about missing data */
  make(
    connection: DuckDBConnection,
    target: string,
  ): Promise<{ readonly rowCount: number; readonly warnings?: readonly string[] }>
}

type FileEntry = Omit<
  UploadedFile,
  'id' | 'columns' | 'rowCount' | 'sheets' | 'createdAt' | 'contentKey'
>

/** Stores uploaded files as DuckDB tables. */
export class StoredFiles implements FileStore, TableRows {
  readonly #parts: FileParts

  constructor(parts: FileParts) {
    this.#parts = parts
  }

  checkSpace(wantedBytes: number): void {
    this.#parts.database.checkSpace(wantedBytes)
  }

  async importTables(
    file: NewFile,
    tables: readonly ReadTable[],
    signal: AbortSignal,
  ): Promise<UploadedFile> {
    this.#replacedBy(file)
    if (tables.length === 0) throw new AppError('file_unreadable', 'The file holds no rows')
    const { database } = this.#parts
    return withinReach(tables, database.exportsDirectory, (paths) => {
      const made = tables.map((table, index): NewFileTable => {
        const path = paths[index] ?? ''
        return {
          name: table.name,
          columns: table.columns.map((column) => column.name),
          make: async (connection, target) => ({
            rowCount: await database.withoutCaching(() => {
              return makeTableOf(table, { path, target }, connection, signal)
            }),
          }),
        }
      })
      return this.#store(file, made)
    })
  }

  async importRows(
    file: NewFile,
    rows: AsyncIterable<Row>,
    signal: AbortSignal,
  ): Promise<UploadedFile> {
    this.#replacedBy(file)
    const table = await RowsTable.of(rows)
    if (table.columns.length === 0) throw new AppError('file_unreadable', 'The file holds no rows')
    const columns = table.columns.map((column) => column.name)
    const make: NewFileTable['make'] = (connection, target) =>
      table.make(connection, target, signal)
    return this.#store(file, [{ name: null, columns, make }])
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

  async #storeStaged(
    { name, replaces }: NewSelectedFile,
    staged: StagedSelect,
    signal: AbortSignal,
  ): Promise<UploadedFile> {
    const plain = {
      ...PLAIN_FILE,
      name,
      originalName: name,
      format: 'table',
      sizeBytes: 0,
    } as const
    const described = await staged.describe()
    const table: NewFileTable = {
      name: null,
      columns: described.columns.map((column) => column.name),
      make: async (_, target) => {
        signal.throwIfAborted()
        await staged.moveInto(target, signal)
        return described
      },
    }
    return this.#store({ ...plain, content: null, replaces }, [table], staged.connection)
  }

  /** Returns the file to replace. @throws AppError `file_exists` */
  #replacedBy(file: {
    readonly name: string
    readonly replaces: boolean
  }): UploadedFile | undefined {
    const old = this.#parts.state.snapshot().files.find((one) => isSameName(one, file))
    if (old === undefined || file.replaces) return old
    throw new AppError('file_exists', `File already exists: ${file.name}`)
  }

  /** Embedding takes longer than one statement may. Row ids have no gaps. @throws `file_changed` */
  async *rows(table: FileTable, signal: AbortSignal): AsyncGenerator<Row, void, void> {
    const name = tableName(table.file.id, table.index)
    const sql = `SELECT * FROM ${name} WHERE rowid >= $first AND rowid < $end`
    const isLong = table.columns.includes('layout')
    let perPage = isLong ? 1 : ROWS_PER_PAGE
    for (let first = 0; first < table.rowCount; ) {
      const end = first + perPage
      const rows = await this.#page(table, { sql, values: { first, end } }, signal)
      if (isLong) perPage = nextPageSize(rows)
      first = end
      yield* rows
    }
  }

  async #page(table: FileTable, statement: BoundSql, signal: AbortSignal): Promise<Row[]> {
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
      throw hasCode(error, 'sql_unknown_name') ? this.#changed(table) : error
    }
  }

  #changed({ file, name }: FileTable): AppError {
    const isThere = this.#parts.state.snapshot().files.some((one) => isSameName(one, file))
    const message = isThere
      ? `The file ${name} was replaced while its rows were read; begin again to read the new one`
      : `The file ${name} was deleted while its rows were read; upload it again, then begin again`
    return new AppError('file_changed', message)
  }

  async *rowsOfTable(table: ReadTable, signal: AbortSignal): AsyncGenerator<Row, void, void> {
    const path = await takenTable(table, this.#parts.database.exportsDirectory)
    const limits = { timeoutMs: PAGE_READ_MS, readingMs: TABLE_READ_MS }
    try {
      const statement = { sql: selectOfTable(table, path), values: {} }
      const stream = await this.#parts.engine.run(statement, limits, signal)
      const { columns, batches, typedBatches = batches } = stream
      for await (const batch of typedBatches) {
        for (const values of batch) {
          yield Object.fromEntries(columns.map(({ name }, at) => [name, values[at] ?? null]))
        }
      }
    } finally {
      await rm(path, { force: true })
    }
  }

  async dropFile(file: UploadedFile): Promise<void> {
    const { database, state, contents } = this.#parts
    await database.writeFreeing(
      (connection) => dropWithin(connection, file),
      () => state.remove('files', file.id),
    )
    await contents.removeIfKept(file)
  }

  /** In one transaction. The file's contents are already on disk. */
  async #store(
    file: NewFile,
    tables: readonly NewFileTable[],
    own?: DuckDBConnection,
  ): Promise<UploadedFile> {
    const { database, state, contents } = this.#parts
    const { content, replaces, ...others } = file
    const contentKey = content === null ? null : await contents.keep(content)
    const entry = { ...others, sizeBytes: content?.sizeBytes ?? 0, contentKey }
    const write = () => {
      return database.write(
        async (connection) => {
          const replaced = this.#replacedBy({ name: file.name, replaces })
          if (replaced !== undefined) await dropWithin(connection, replaced)
          return { stored: await this.#create(connection, entry, tables), replaced }
        },
        ({ stored }) => {
          const kept = state.snapshot().files.filter((other) => !isSameName(other, stored))
          state.change({ files: [...kept, stored] })
        },
        own,
      )
    }
    const { stored, replaced } = await write().catch(async (error: unknown) => {
      if (contentKey !== null) await contents.remove(contentKey)
      throw error
    })
    if (replaced !== undefined) await contents.removeIfKept(replaced)
    return stored
  }

  async #create(
    connection: DuckDBConnection,
    entry: FileEntry & Pick<UploadedFile, 'contentKey'>,
    tables: readonly NewFileTable[],
  ): Promise<UploadedFile> {
    const queries = queriesOver(connection)
    const id = await nextId(queries, 'file')
    const sheets = []
    const warnings = [...entry.warnings]
    for (const [index, { name, columns, make }] of tables.entries()) {
      const made = await make(connection, tableName(id, index))
      warnings.push(...(made.warnings ?? []))
      sheets.push({ name: name ?? '', columns, rowCount: made.rowCount })
    }
    const [{ columns, rowCount } = { columns: [], rowCount: 0 }] = sheets
    const row = {
      ...entry,
      id,
      nameKey: fileKey(entry.name),
      columns,
      rowCount,
      warnings,
      sheets: tables.some(({ name }) => name !== null) ? sheets : [],
      createdAt: timestampOfMillis(this.#parts.now()),
    }
    await queries.insert(files).values(row)
    return fileOf(row)
  }
}

function nextPageSize(rows: readonly Row[]): number {
  const chars = rows.reduce((sum, { content = null }) => {
    return sum + (typeof content === 'string' ? content.length : 0)
  }, 0)
  const fitting = Math.floor((rows.length * CHARS_PER_PAGE) / Math.max(1, chars))
  return Math.min(Math.max(1, fitting), 4 * rows.length, ROWS_PER_PAGE)
}

function isSameName(file: { readonly name: string }, other: { readonly name: string }): boolean {
  return fileKey(file.name) === fileKey(other.name)
}

/** @throws AppError `file_not_found` if the file was dropped */
async function dropWithin(connection: DuckDBConnection, file: UploadedFile): Promise<void> {
  await deleteRow(connection, 'file', file)
  for (const { index } of tablesOfFile(file)) {
    await connection.run(`DROP TABLE ${tableName(file.id, index)}`)
  }
}

function tableName(fileId: number, index: number): string {
  return `${quote(FILES_SCHEMA)}.${quote(fileTable(fileId, index))}`
}
