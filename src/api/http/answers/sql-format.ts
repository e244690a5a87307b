import type { QueryContext, ResultColumn, ResultValue } from '../../../core/domain/query-result.ts'
import { csvRow } from '../../../core/domain/shown-values.ts'
import { type AppError, ERRORS } from '../../../core/errors.ts'

export type ResultRow = readonly ResultValue[]

/** Writes a statement's rows in one format. All parts together form one complete body. */
export interface SqlFormat {
  readonly contentType: string
  /** The engine's name for the format. For its own rows, the engine is faster. */
  readonly encoding?: 'csv' | 'ndjson'
  /** Padding between two parts, sent while the next rows are being computed. */
  readonly keepAlive?: string
  /** @param warnings warnings known before the first row */
  head(columns: readonly ResultColumn[], warnings: readonly string[]): string
  /** @param isFirst whether no rows were written before */
  rows(rows: readonly ResultRow[], isFirst: boolean): string
  /** @param failure why the statement ended early; null if it did not */
  tail(end: AnswerEnd, failure: AppError | null): string
}

/** Information after the rows, for formats that have a place for it. */
export interface AnswerEnd {
  readonly context: QueryContext
  readonly warnings: readonly string[]
}

/** The `context` of an answer, which a client may send with its next request. */
export function contextRecord(context: QueryContext) {
  return { show_secrets: false, db: context.db }
}

/** The answer to a failed statement. */
export function errorRecord(error: AppError, context: QueryContext) {
  return {
    type: 'error',
    error_code: ERRORS[error.code].number,
    error_message: messageOf(error),
    context: contextRecord(context),
  }
}

function messageOf({ message, excerpt }: AppError): string {
  return excerpt === undefined ? message : `${message}\n${excerpt}`
}

function inner(json: string): string {
  return json.slice(1, -1)
}

function namesOf(columns: readonly ResultColumn[]): readonly string[] {
  return columns.map((column) => column.name)
}

/** `type` comes last: a statement that fails after its first rows ends as JSON too. */
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

/** RFC 4180, with a header line. An empty string is quoted, a null is not. */
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

/** These formats cannot express a failure, so the connection is cut. */
function endOrThrow(failure: AppError | null): string {
  if (failure !== null) throw failure
  return ''
}

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

/** Numbers repeated column names, because an object cannot hold both. */
export function distinct(names: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return names.map((name) => {
    let unique = name
    for (let count = 1; seen.has(unique); count++) unique = `${name}_${count}`
    seen.add(unique)
    return unique
  })
}

/** A line with names and types, a line per batch. Clients read no warnings beyond the first. */
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
