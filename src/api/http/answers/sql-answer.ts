/** Answers a SQL statement in the requested format. */
import { t } from 'elysia'
import type {
  QueryContext,
  QueryResult,
  ResultColumn,
  ResultValue,
  RowEncoding,
} from '../../../core/domain/query-result.ts'
import { type AppError, ERRORS, toAppError } from '../../../core/errors.ts'
import { setStatement } from '../../../core/runtime/cancellation.ts'
import { csvRow } from '../../../core/text/csv.ts'
import type { QueryRequest } from '../../../query/run/run-query.ts'
import type { RouteContext } from '../request/route-context.ts'
import type { RequestScope } from '../request/running-requests.ts'
import { beginningWith, streamedResponse } from './streamed-response.ts'

export type AnswerFormat = SqlFormatName | 'parquet' | 'arrow'

/** For each format, whether existing clients expect a failure in the body. */
export const TELLS_FAILURE: Readonly<Record<AnswerFormat, boolean>> = {
  json: true,
  jsonlines: true,
  sse: true,
  csv: false,
  ndjson: false,
  parquet: false,
  arrow: false,
}

const PARQUET = 'application/vnd.apache.parquet'
const ARROW = 'application/vnd.apache.arrow.stream'

export const ROWS_AS = {
  'text/csv': t.String({ description: 'RFC 4180, with a header; null is empty' }),
  'application/x-ndjson': t.String({ description: 'One object per line' }),
  [PARQUET]: t.String({ format: 'binary' }),
  [ARROW]: t.String({ format: 'binary' }),
}

/** The first supported format in the Accept header; JSON without that header. */
export function acceptedFormat(accept: string | null): AnswerFormat {
  if (accept === null || accept.includes('application/json')) return 'json'
  if (accept.includes('text/csv')) return 'csv'
  if (accept.includes('application/x-ndjson')) return 'ndjson'
  if (accept.includes(PARQUET)) return 'parquet'
  return accept.includes(ARROW) ? 'arrow' : 'json'
}

/** With status 200 and `type` error where clients expect it; otherwise a problem. */
export async function statementAnswer(
  context: RouteContext,
  request: Request,
  statement: QueryRequest,
  given: {
    readonly format: AnswerFormat
    /** With status 200 in the format's own way, instead of as a problem. */
    readonly tellsFailure: boolean
  },
): Promise<Response> {
  const { format, tellsFailure } = given
  const scope = context.scopeOf(request)
  const onFailure = logStreamFailure(context, scope)
  try {
    context.deps.running.refuseSuspect(statement.sql)
    scope.running.statement(statement.sql)
    setStatement(scope.signal, statement.sql)
    if (format === 'parquet') {
      const { pieces } = await context.deps.exportRows(statement, scope.principal, scope.signal)
      return streamedResponse(pieces, { headers: { 'content-type': PARQUET }, scope })
    }
    if (format === 'arrow') {
      const wanted = { ...statement, encoding: 'arrow' as const }
      const result = await context.deps.query(wanted, scope.principal, scope.signal)
      if (result.kind === 'ok') return okAnswer(result, scope)
      const pieces = encodedPieces(result, 'arrow')
      return await piecesAnswer(pieces, { contentType: ARROW, scope, onFailure })
    }
    const result = await context.deps.query(statement, scope.principal, scope.signal)
    if (result.kind === 'ok') return okAnswer(result, scope)
    const wanted = statement.isExact === true ? exactly(result) : result
    const { rows } = wanted
    const how = sqlFormat(format)
    const isWritten = rows.ready === undefined && rows.encoded !== undefined
    const pieces =
      isWritten && how.encoding !== undefined
        ? encodedPieces(wanted, how.encoding)
        : textPieces(wanted, how, onFailure)
    return await piecesAnswer(pieces, { ...how, scope, onFailure })
  } catch (error) {
    if (scope.signal.aborted || !tellsFailure) throw error
    onFailure(error)
    return Response.json(errorRecord(toAppError(error), { db: statement.db }))
  }
}

type TableResult = Extract<QueryResult, { kind: 'table' }>

/** Numbers that JSON cannot express become strings. Rows that exist only as JSON stay. */
function exactly(result: TableResult): TableResult {
  const { ready: _, exactBatches, encoded, ...rows } = result.rows
  if (exactBatches === undefined) return result
  const own = { ...rows, batches: exactBatches }
  return {
    ...result,
    rows:
      encoded === undefined
        ? own
        : { ...own, encoded: (encoding, names) => encoded(encoding, names, true) },
  }
}

function okAnswer(result: Extract<QueryResult, { kind: 'ok' }>, scope: RequestScope): Response {
  const { affectedRows, skippedRows = null, context, warnings = [] } = result
  scope.skippedRows = skippedRows
  return Response.json({
    type: 'ok',
    affected_rows: affectedRows,
    context: contextRecord(context),
    ...(warnings.length === 0 ? {} : { warnings }),
  })
}

interface AnswerInit {
  readonly contentType: string
  readonly scope: RequestScope
  readonly onFailure: (error: unknown) => void
  /** Padding between two pieces, sent while the next rows are being computed. */
  readonly keepAlive?: string
}

/** As the client reads. A later failure cuts the connection. @throws AppError before two pieces */
async function piecesAnswer(
  pieces: AsyncGenerator<string | Uint8Array>,
  { contentType, scope, onFailure, keepAlive }: AnswerInit,
): Promise<Response> {
  const headers = { 'content-type': contentType }
  const first = await pieces.next()
  const second = first.done === true ? first : await pieces.next()
  if (first.done === true || second.done === true) {
    return new Response(first.value ?? null, { headers })
  }
  const whole = logged(beginningWith([first.value, second.value], pieces), onFailure)
  const padding = keepAlive === undefined ? {} : { keepAlive: { text: keepAlive } }
  return streamedResponse(whole, { headers, scope, ...padding })
}

async function* logged<T>(
  pieces: AsyncGenerator<T, void>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<T, void> {
  try {
    yield* pieces
  } catch (error) {
    onFailure(error)
    throw error
  }
}

/** The body as the engine writes it. */
async function* encodedPieces(
  { rows }: TableResult,
  encoding: RowEncoding,
): AsyncGenerator<Uint8Array, void> {
  if (rows.encoded === undefined) throw new Error('rows were asked for as they are written')
  const names = namesOf(rows.columns)
  yield* rows.encoded(encoding, encoding === 'ndjson' ? distinct(names) : names)
}

/** A piece per batch, and the tail; a single batch is one piece. */
async function* textPieces(
  { rows, context }: TableResult,
  format: SqlFormat,
  onFailure: (error: unknown) => void,
): AsyncGenerator<string, void> {
  const { columns, ready } = rows
  // Reading rows may add warnings.
  const end = (): AnswerEnd => ({ context, warnings: rows.warnings ?? [] })
  // The head comes first, because it may determine how rows are written.
  let text = format.head(columns, end().warnings)
  let count = 0
  try {
    for await (const batch of ready === undefined ? rows.batches : [ready]) {
      if (batch.length === 0) continue
      if (count === 1) yield text
      text = `${count === 0 ? text : ''}${format.rows(batch, count === 0)}`
      count += 1
      if (count === 1) continue
      yield text
      text = ''
    }
  } catch (error) {
    if (count < 2) throw error
    // Formats that cannot express a failure throw it.
    const tail = format.tail(end(), toAppError(error))
    onFailure(error)
    yield tail
    return
  }
  yield `${text}${format.tail(end(), null)}`
}

function logStreamFailure(context: RouteContext, scope: RequestScope): (error: unknown) => void {
  return (error) => {
    if (scope.signal.aborted) return
    const { code } = toAppError(error)
    scope.failure = code
    if (ERRORS[code].status >= 500) context.deps.logError({ requestId: scope.id, error })
  }
}

type ResultRow = readonly ResultValue[]

/** Writes a statement's rows in one format. All parts together form one complete body. */
interface SqlFormat {
  readonly contentType: string
  /** The engine's name for the format. For its own rows, the engine is faster. */
  readonly encoding?: 'csv' | 'ndjson'
  readonly keepAlive?: string
  /** @param warnings warnings known before the first row */
  head(columns: readonly ResultColumn[], warnings: readonly string[]): string
  /** @param isFirst whether no rows were written before */
  rows(rows: readonly ResultRow[], isFirst: boolean): string
  /** @param failure why the statement ended early; null if it did not */
  tail(end: AnswerEnd, failure: AppError | null): string
}

/** Information after the rows, for formats that have a place for it. */
interface AnswerEnd {
  readonly context: QueryContext
  readonly warnings: readonly string[]
}

/** The `context` of an answer, which a client may send with its next request. */
function contextRecord(context: QueryContext) {
  return { show_secrets: false, db: context.db }
}

/** The answer to a failed statement. */
function errorRecord(error: AppError, context: QueryContext) {
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
function distinct(names: readonly string[]): readonly string[] {
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
