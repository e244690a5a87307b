/** Answers a SQL statement in the requested format. */
import { t } from 'elysia'
import type { QueryResult, RowEncoding } from '../../../core/domain/query-result.ts'
import { ERRORS, toAppError } from '../../../core/errors.ts'
import { setStatement } from '../../../core/runtime/cancellation.ts'
import type { QueryRequest } from '../../../query/run/run-query.ts'
import type { RouteContext } from '../request/route-context.ts'
import type { RequestScope } from '../request/running-requests.ts'
import {
  type AnswerEnd,
  contextRecord,
  distinct,
  errorRecord,
  type ResultRow,
  type SqlFormat,
  type SqlFormatName,
  sqlFormat,
} from './sql-format.ts'
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
