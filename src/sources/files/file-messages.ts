/** What the server and a process that reads a database file say to each other. What the process says is checked. */

import { parseColumnType, typeText } from '../../core/domain/column-type.ts'
import type {
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import type { ResultColumn, ResultValue } from '../../core/domain/query-result.ts'
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
  /** Of this job alone, for what it writes. */
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

export type FileErrorCode = (typeof ERROR_CODES)[number]

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

/** A column of what is staged. */
export interface StagedFileColumn extends SourceColumn {
  /** It stands in the file as text, which becomes its type again. */
  readonly isText: boolean
}

export interface StagedAnswer {
  readonly columns: readonly StagedFileColumn[]
  readonly sizeBytes: number
  /** Of a line of CSV, the longest. */
  readonly lineBytesMax: number
}

/** The file that is written into the folder of a job. */
export const STAGED_FILES: Readonly<Record<FileEngine, string>> = {
  sqlite: 'rows.csv',
  duckdb: 'rows.parquet',
}

/** A type of DuckDB as columns here have it; what no column can have is read as text. */
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

/** Of an answer: names and types as they are shown. */
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
