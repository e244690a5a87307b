/** The messages between the server and a process that reads a database file. The process's messages are checked. */
import { lstat, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import { parseColumnType, typeText } from '../../core/domain/column-type.ts'
import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import { sourceParameters } from '../../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import type { ResultColumn, ResultValue } from '../../core/domain/query-result.ts'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'

export type FileEngine = 'sqlite' | 'duckdb'

export type FileAsk =
  | { readonly kind: 'check' | 'tables' }
  | { readonly kind: 'columns'; readonly table: SourceTableName }
  | { readonly kind: 'describe'; readonly sql: string }
  | { readonly kind: 'read' | 'stage'; readonly select: SourceSelect }

/** One question about one file, which is open only as long as that takes. */
export interface FileJob {
  readonly id: number
  readonly engine: FileEngine
  readonly path: string
  readonly ask: FileAsk
  /** For this job only, for its output. */
  readonly folder: string
  readonly limits: { readonly memoryBytes: number; readonly outputBytes: number }
}

/** `next` asks for the next rows of a `read`. */
export type FileRequest =
  | { readonly kind: 'job'; readonly job: FileJob }
  | { readonly kind: 'next'; readonly id: number }

export type FileReply =
  | { readonly kind: 'answer'; readonly id: number; readonly json: string }
  | {
      readonly kind: 'failed'
      readonly id: number
      readonly code: FileErrorCode
      readonly message: string
    }

const ERROR_CODES = ['source_failed', 'storage_full'] as const

type FileErrorCode = (typeof ERROR_CODES)[number]

const MESSAGE_CHARS_MAX = 1000

/** null: no reply to this job. */
export function replyOf(message: unknown, id: number): FileReply | null {
  if (!isObject(message) || message.id !== id) return null
  if (message.kind === 'answer' && typeof message.json === 'string') {
    return { kind: 'answer', id, json: message.json }
  }
  const code = ERROR_CODES.find((known) => known === message.code)
  if (message.kind !== 'failed' || code === undefined) return null
  const text = typeof message.message === 'string' ? message.message : ''
  return { kind: 'failed', id, code, message: text.slice(0, MESSAGE_CHARS_MAX) }
}

/** Rows of a `read`; JSON, so that nothing but its values can come. */
export interface RowsAnswer {
  readonly rows: readonly (readonly ResultValue[])[]
  readonly isLast: boolean
}

export interface StagedAnswer {
  readonly columns: readonly (SourceColumn & {
    /** The file has it as text, which becomes its type again. */
    readonly isText: boolean
  })[]
  readonly sizeBytes: number
  /** The longest line of CSV. */
  readonly lineBytesMax: number
}

/** The file that is written into the folder of a job. */
export const STAGED_FILES: Readonly<Record<FileEngine, string>> = {
  sqlite: 'rows.csv',
  duckdb: 'rows.parquet',
}

/** DuckDB's type of a column as a metadata type; unsupported ones are read as text. */
export function columnTypeHere(type: string): string {
  const parsed = parseColumnType(type)
  return parsed === null ? 'VARCHAR' : typeText(parsed)
}

export function rowsOf(value: unknown, columnCount: number): RowsAnswer | null {
  if (!isObject(value) || typeof value.isLast !== 'boolean' || !Array.isArray(value.rows)) {
    return null
  }
  const isRow = (row: unknown) => Array.isArray(row) && row.length === columnCount
  // Parsed JSON holds nothing but its values.
  return value.rows.every(isRow) ? (value as unknown as RowsAnswer) : null
}

export function columnsOf(value: unknown): readonly SourceColumn[] | null {
  if (!Array.isArray(value) || !value.every(isObject)) return null
  return value.map(columnOf)
}

function columnOf({ name, type, nativeType, isNullable }: Readonly<Record<string, unknown>>) {
  return {
    name: String(name),
    type: columnTypeHere(String(type)),
    nativeType: String(nativeType),
    isNullable: isNullable !== false,
  }
}

/** For an answer: names and types for display. */
export function shownColumnsOf(value: unknown): readonly ResultColumn[] | null {
  if (!Array.isArray(value) || !value.every(isObject)) return null
  return value.map(({ name, type }) => ({ name: String(name), type: String(type) }))
}

export function tablesOf(value: unknown): readonly DescribedSourceTable[] | null {
  if (!Array.isArray(value) || !value.every(isObject)) return null
  return value.map(({ schema, name, kind, columns }) => ({
    schema: schema === null ? null : String(schema),
    name: String(name),
    kind: kind === 'view' ? 'view' : 'table',
    columns: columnsOf(columns) ?? [],
  }))
}

export function stagedOf(value: unknown): StagedAnswer | null {
  if (!isObject(value) || !Array.isArray(value.columns) || !value.columns.every(isObject)) {
    return null
  }
  const columns = value.columns.map((one) => ({ ...columnOf(one), isText: one.isText === true }))
  return {
    columns,
    sizeBytes: Number(value.sizeBytes),
    lineBytesMax: Math.trunc(Number(value.lineBytesMax)) || 0,
  }
}

/** Where a data source's file is: below one folder only. */

/** Files next to a database file that the engines read. */
const COMPANIONS = ['-wal', '-shm', '-journal', '.wal']

/**
 * @param folder EIDER_SOURCES_DIR; null: not set
 * @throws AppError `source_failed`
 */
export async function filePlace(
  source: DataSource,
  folder: string | null,
): Promise<{
  /** Without a symbolic link in it. */
  readonly path: string
  /** As its parameter says it, for messages. */
  readonly shown: string
}> {
  const shown = String(sourceParameters(source.engine, source.parameters).db_file)
  const refuse = (why: string) => {
    return new AppError(
      'source_failed',
      `Data source ${source.name} (${source.engine} file ${shown.slice(0, 200)}): ${why}`,
    )
  }
  if (folder === null) {
    throw refuse('no file may be read; set EIDER_SOURCES_DIR to the folder that it lies in')
  }
  if (isAbsolute(shown) || shown.split(/[/\\]/).includes('..')) {
    throw refuse('it must be named from the folder of EIDER_SOURCES_DIR on, without ..')
  }
  // SQLite's client takes blanks off, and would open another file.
  if (shown.trim() !== shown) throw refuse('its name has blanks at an end')
  const root = await realpath(folder).catch(() => {
    throw refuse('the folder of EIDER_SOURCES_DIR is not there or may not be read')
  })
  const path = await realpath(join(root, shown)).catch((error: unknown) => {
    throw refuse(WHY_NOT[systemCodeOf(error) ?? ''] ?? 'it cannot be opened')
  })
  const inside = root.endsWith(sep) ? root : `${root}${sep}`
  if (!path.startsWith(inside)) throw refuse('it leads out of the folder of EIDER_SOURCES_DIR')
  // Opening a pipe would wait for ever.
  if (!(await stat(path)).isFile()) throw refuse('it is not a regular file')
  for (const ending of COMPANIONS) {
    const beside = await lstat(`${path}${ending}`).catch(() => null)
    if (beside !== null && !beside.isFile()) throw refuse(`${ending} beside it is no regular file`)
  }
  return { path, shown }
}

const WHY_NOT: Readonly<Record<string, string | undefined>> = {
  ENOENT: 'there is no such file in the folder of EIDER_SOURCES_DIR',
  ENOTDIR: 'there is no such file in the folder of EIDER_SOURCES_DIR',
  EACCES: 'the server may not read it',
  ELOOP: 'its symbolic links lead in a circle',
}

/** A process's work on one file, with any engine. It may be busy for as long as it likes. */

export interface OpenedFile {
  /** Reads a little of it. */
  check(): Promise<void>
  tables(): Promise<readonly DescribedSourceTable[]>
  /** Empty: the table does not exist. */
  columns(table: SourceTableName): Promise<readonly SourceColumn[]>
  describe(sql: string): Promise<readonly SourceColumn[]>
  read(select: SourceSelect): Promise<FileRows>
  /** Writes the rows into the folder of the job. */
  stage(select: SourceSelect): Promise<StagedAnswer>
  close(): void
}

export interface FileRows {
  readonly columns: readonly ResultColumn[]
  /** null: no more are left. */
  next(): Promise<readonly (readonly ResultValue[])[] | null>
}

export const COLUMNS_MAX = 2000
