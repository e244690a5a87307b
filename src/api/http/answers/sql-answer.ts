/** Answers a SQL statement in the requested format. */
import { t } from 'elysia'
import type {
  QueryContext,
  QueryResult,
  ResultColumn,
  ResultValue,
  RowEncoding,
} from '../../../core/domain/query-result.ts'
import { csvRow } from '../../../core/domain/shown-values.ts'
import { type AppError, ERRORS, toAppError } from '../../../core/errors.ts'
import { setStatement } from '../../../core/runtime/cancellation.ts'
import type { QueryRequest } from '../../../query/run/run-query.ts'
import type { RouteContext } from '../request/route-context.ts'
import type { RequestScope } from '../request/running-requests.ts'
import { streamedResponse } from './streamed-response.ts'

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
      return await encodedAnswer(result, 'arrow', { contentType: ARROW, scope, onFailure })
    }
    const result = await context.deps.query(statement, scope.principal, scope.signal)
    if (result.kind === 'ok') return okAnswer(result, scope)
    const wanted = statement.isExact === true ? exactly(result) : result
    return await sqlAnswer(wanted, { format: sqlFormat(format), scope, onFailure })
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

interface AnswerInit {
  readonly format: SqlFormat
  readonly scope: RequestScope
  readonly onFailure: (error: unknown) => void
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

/** A later failure cuts the connection. @throws AppError before the third piece */
async function encodedAnswer(
  { rows }: TableResult,
  encoding: RowEncoding,
  { contentType, scope, onFailure }: { readonly contentType: string } & Omit<AnswerInit, 'format'>,
): Promise<Response> {
  const all = rows.columns.map(({ name }) => name)
  const names = encoding === 'ndjson' ? distinct(all) : all
  const pieces = rows.encoded?.(encoding, names)[Symbol.asyncIterator]()
  if (pieces === undefined) throw new Error('rows were asked for as they are written')
  const headers = { 'content-type': contentType }
  const first = await pieces.next()
  const second = first.done === true ? first : await pieces.next()
  if (second.done === true) return new Response(first.value ?? null, { headers })
  const whole = piecesAfter([first.value, second.value], pieces, onFailure)
  return streamedResponse(whole, { headers, scope })
}

async function* piecesAfter(
  first: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* first
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      yield next.value
    }
  } catch (error) {
    onFailure(error)
    throw error
  } finally {
    await rest.return?.()
  }
}

/** Batch by batch, as the client reads. @throws AppError before the second batch */
async function sqlAnswer(result: TableResult, init: AnswerInit): Promise<Response> {
  const { format, scope } = init
  const { ready, columns, warnings = [] } = result.rows
  if (ready !== undefined) {
    // The head comes first, because it may determine how rows are written.
    const head = format.head(columns, warnings)
    const rows = ready.length === 0 ? '' : format.rows(ready, true)
    const text = `${head}${rows}${format.tail(endOfRows(result), null)}`
    return new Response(text, { headers: { 'content-type': format.contentType } })
  }
  const { contentType, encoding } = format
  if (encoding !== undefined && result.rows.encoded !== undefined) {
    return encodedAnswer(result, encoding, { ...init, contentType })
  }
  const batches = withRows(result.rows.batches)
  const first = await batches.next()
  const second = first.done === true ? first : await batches.next()
  const head = format.head(columns, warnings)
  const start = first.done === true ? head : `${head}${format.rows(first.value, true)}`
  const headers = { 'content-type': format.contentType }
  if (second.done === true) {
    return new Response(`${start}${format.tail(endOfRows(result), null)}`, { headers })
  }
  const rest = restOf(batches, second.value, { ...init, result })
  const keepAlive = format.keepAlive === undefined ? {} : { keepAlive: { text: format.keepAlive } }
  return streamedResponse(startingWith(start, rest), { headers, scope, ...keepAlive })
}

function endOfRows({ context, rows: { warnings = [] } }: TableResult): AnswerEnd {
  return { context, warnings }
}

async function* withRows(batches: TableResult['rows']['batches']) {
  for await (const batch of batches) {
    if (batch.length > 0) yield batch
  }
}

async function* startingWith(start: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield start
  yield* rest
}

async function* restOf(
  batches: AsyncGenerator<readonly ResultRow[]>,
  second: readonly ResultRow[],
  { format, result, onFailure }: AnswerInit & { readonly result: TableResult },
): AsyncGenerator<string> {
  let tail = ''
  try {
    yield format.rows(second, false)
    for await (const batch of batches) yield format.rows(batch, false)
    tail = format.tail(endOfRows(result), null)
  } catch (error) {
    onFailure(error)
    tail = format.tail(endOfRows(result), toAppError(error))
  } finally {
    await batches.return(undefined)
  }
  yield tail
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
