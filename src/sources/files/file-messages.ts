/**
 * The messages between the server and a process that reads a database file. Messages from the
 * process are checked.
 */
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
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'

export type FileEngine = 'sqlite' | 'duckdb'

export type FileAsk =
  | { readonly kind: 'check' | 'tables' }
  | { readonly kind: 'columns'; readonly table: SourceTableName }
  | { readonly kind: 'describe'; readonly sql: string }
  | { readonly kind: 'stage'; readonly select: SourceSelect }

/** A request about one file, which stays open only until it is answered. */
export interface FileJob {
  readonly id: number
  readonly engine: FileEngine
  readonly path: string
  readonly ask: FileAsk
  readonly folder: string
  readonly limits: { readonly memoryBytes: number; readonly outputBytes: number }
}

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

/** Returns null if the message is not a valid reply to this job. */
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

export interface StagedAnswer {
  readonly columns: readonly (SourceColumn & {
    /** True if the file has the column as text, to be converted back to its type. */
    readonly isText: boolean
  })[]
  readonly sizeBytes: number
  /** The length of the longest CSV line. */
  readonly lineBytesMax: number
}

/** The name of the file that is written to the job's folder. */
export const STAGED_FILES: Readonly<Record<FileEngine, string>> = {
  sqlite: 'rows.csv',
  duckdb: 'rows.parquet',
}

/** Returns the metadata type for a DuckDB column type. Unsupported types are read as text. */
export function columnTypeHere(type: string): string {
  const parsed = parseColumnType(type)
  return parsed === null ? 'VARCHAR' : typeText(parsed)
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

/** The columns of an answer, with names and types for display. */
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

/** Finds the file of a data source, which must be inside EIDER_SOURCES_DIR. */

/** Files next to a database file that the engines also read. */
const COMPANIONS = ['-wal', '-shm', '-journal', '.wal']

/** @param folder EIDER_SOURCES_DIR, or null if it is not set @throws AppError `source_failed` */
export async function filePlace(
  source: DataSource,
  folder: string | null,
): Promise<{
  /** A path without symbolic links. */
  readonly path: string
  /** The path as the parameter gives it, for messages. */
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
    throw refuse(
      'set EIDER_SOURCES_DIR to a folder that contains it, and db_file to the path below it',
    )
  }
  if (isAbsolute(shown) || shown.split(/[/\\]/).includes('..')) {
    throw refuse('its path must be relative to the folder of EIDER_SOURCES_DIR, without ..')
  }
  // The SQLite client strips spaces and would open another file.
  if (shown.trim() !== shown) throw refuse('its name starts or ends with a space')
  const root = await realpath(folder).catch(() => {
    throw refuse('the folder of EIDER_SOURCES_DIR does not exist or cannot be read')
  })
  const path = await realpath(join(root, shown)).catch((error: unknown) => {
    throw refuse(WHY_NOT[systemCodeOf(error) ?? ''] ?? 'it cannot be opened')
  })
  const inside = root.endsWith(sep) ? root : `${root}${sep}`
  if (!path.startsWith(inside)) throw refuse('it leads out of the folder of EIDER_SOURCES_DIR')
  // Opening a pipe would wait forever.
  if (!(await stat(path)).isFile()) throw refuse('it is not a regular file')
  for (const ending of COMPANIONS) {
    const beside = await lstat(`${path}${ending}`).catch(() => null)
    if (beside !== null && !beside.isFile())
      throw refuse(`${ending} next to it is not a regular file`)
  }
  return { path, shown }
}

const WHY_NOT: Readonly<Record<string, string | undefined>> = {
  ENOENT: 'there is no such file in the folder of EIDER_SOURCES_DIR',
  ENOTDIR: 'there is no such file in the folder of EIDER_SOURCES_DIR',
  EACCES: 'the server may not read it',
  ELOOP: 'its symbolic links lead in a circle',
}

/** What a process does with one file, for any engine. Each call may take long. */

export interface OpenedFile {
  check(): Promise<void>
  tables(): Promise<readonly DescribedSourceTable[]>
  /** Returns an empty list if the table does not exist. */
  columns(table: SourceTableName): Promise<readonly SourceColumn[]>
  describe(sql: string): Promise<readonly SourceColumn[]>
  /** Writes the rows into the folder of the job. */
  stage(select: SourceSelect): Promise<StagedAnswer>
  close(): void
}

const COLUMNS_MAX = 2000

export function requireColumnCount(count: number): void {
  if (count === 0) throw new Error('the statement gives no rows')
  if (count <= COLUMNS_MAX) return
  throw new Error(`the statement gives more than ${COLUMNS_MAX} columns; name those you need`)
}
