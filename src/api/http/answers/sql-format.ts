import type { QueryContext, ResultColumn, ResultValue } from '../../../core/domain/query-result.ts'
import { csvRow } from '../../../core/domain/shown-values.ts'
import { type AppError, ERRORS } from '../../../core/errors.ts'

export type ResultRow = readonly ResultValue[]

/** How the rows of a statement are written. All parts together are one complete body. */
export interface SqlFormat {
  readonly contentType: string
  /** The engine's name for the format; it writes the same bytes faster if the rows are its own. */
  readonly encoding?: 'csv' | 'ndjson'
  /**
   * Padding between two parts, sent while the next rows take time.
   */
  readonly keepAlive?: string
  /** @param warnings those known before the first row */
  head(columns: readonly ResultColumn[], warnings: readonly string[]): string
  /** @param isFirst no rows were written before */
  rows(rows: readonly ResultRow[], isFirst: boolean): string
  /** @param failure what ended the statement early */
  tail(end: AnswerEnd, failure: AppError | null): string
}

/** Facts that follow the rows, if the format has a place for them. */
export interface AnswerEnd {
  readonly context: QueryContext
  readonly warnings: readonly string[]
}

/** The `context` in an answer; a client may send it with its next request. */
export function contextRecord(context: QueryContext) {
  return { show_secrets: false, db: context.db }
}

/** The answer to a statement that failed. */
export function errorRecord(error: AppError, context: QueryContext) {
  return {
    type: 'error',
    error_code: ERRORS[error.code].number,
    error_message: messageOf(error),
    context: contextRecord(context),
  }
}

/** The message, and below it the place in the statement. */
function messageOf({ message, excerpt }: AppError): string {
  return excerpt === undefined ? message : `${message}\n${excerpt}`
}

function inner(json: string): string {
  return json.slice(1, -1)
}

function namesOf(columns: readonly ResultColumn[]): readonly string[] {
  return columns.map((column) => column.name)
}

/**
 * A query result as clients read it. `type` comes last, so that a statement that fails after its first rows still ends as
 * JSON with `error`.
 */
const JSON_FORMAT: SqlFormat = {
  contentType: 'application/json',
  keepAlive: '\n',
  head: (columns) => `{"column_names":${JSON.stringify(namesOf(columns))},"data":[`,
  rows: (rows, isFirst) => `${isFirst ? '' : ','}${inner(JSON.stringify(rows))}`,
  tail({ context, warnings }, failure) {
    const noted = warnings.length === 0 ? {} : { warnings }
    const end =
      failure === null
        ? { context: contextRecord(context), ...noted, type: 'table' }
        : errorRecord(failure, context)
    return `],${inner(JSON.stringify(end))}}`
  },
}

/**
 * RFC 4180, with names in the first line. An empty text is quoted, a null is not.
 */
const CSV_FORMAT: SqlFormat = {
  contentType: 'text/csv; charset=utf-8; header=present',
  encoding: 'csv',
  head: (columns) => csvLine(namesOf(columns)),
  rows: (rows) => rows.map(csvLine).join(''),
  tail: (_end, failure) => endOrThrow(failure),
}

function csvLine(values: readonly ResultValue[]): string {
  return csvRow(
    values.map((value) => {
      return typeof value === 'string' || value === null ? value : JSON.stringify(value)
    }),
  )
}

/**
 * These formats cannot express a failure: the connection is cut, so that no client takes a part for the whole.
 */
function endOrThrow(failure: AppError | null): string {
  if (failure !== null) throw failure
  return ''
}

/** One JSON object per row and line. */
function ndjsonFormat(): SqlFormat {
  let keys: readonly string[] = []
  return {
    contentType: 'application/x-ndjson',
    encoding: 'ndjson',
    head(columns) {
      keys = distinct(namesOf(columns)).map((name) => JSON.stringify(name))
      return ''
    },
    rows: (rows) => rows.map((row) => `${objectText(keys, row)}\n`).join(''),
    tail: (_end, failure) => endOrThrow(failure),
  }
}

function objectText(keys: readonly string[], row: ResultRow): string {
  return `{${row.map((value, index) => `${keys[index]}:${JSON.stringify(value)}`).join(',')}}`
}

/** Numbers repeated names: an object cannot hold both. */
export function distinct(names: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return names.map((name) => {
    let unique = name
    for (let count = 1; seen.has(unique); count++) unique = `${name}_${count}`
    seen.add(unique)
    return unique
  })
}

/**
 * The `response_format` of existing clients: a line with the names and types, then one line per batch of rows. Warnings are
 * in the first line, because those clients read every other line as rows.
 */
function lineFormat(contentType: string, wrap: (json: string) => string): SqlFormat {
  return {
    contentType,
    head: (columns, warnings) => {
      const noted = warnings.length === 0 ? {} : { warnings }
      const types = columns.map(({ type }) => type)
      const names = namesOf(columns)
      return wrap(
        JSON.stringify({ type: 'table', column_names: names, column_types: types, ...noted }),
      )
    },
    rows: (rows) => wrap(JSON.stringify(rows)),
    tail: ({ context }, failure) =>
      failure === null ? '' : wrap(JSON.stringify(errorRecord(failure, context))),
  }
}

export type SqlFormatName = 'json' | 'csv' | 'ndjson' | 'jsonlines' | 'sse'

const FORMATS: Readonly<Record<SqlFormatName, () => SqlFormat>> = {
  json: () => JSON_FORMAT,
  csv: () => CSV_FORMAT,
  ndjson: ndjsonFormat,
  jsonlines: () => lineFormat('application/jsonlines', (json) => `${json}\n`),
  sse: () => lineFormat('text/event-stream; charset=utf-8', (json) => `data: ${json}\n\n`),
}

export function sqlFormat(name: SqlFormatName): SqlFormat {
  return FORMATS[name]()
}
