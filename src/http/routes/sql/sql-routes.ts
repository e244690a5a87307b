import { t } from 'elysia'
import { DEFAULT_PROJECT } from '../../../domain/project.ts'
import type { QueryResult } from '../../../domain/query-result.ts'
import { AppError, ERRORS, toAppError } from '../../../errors.ts'
import type { QueryRequest } from '../../../query/run-query.ts'
import { SQL_ANSWER, SQL_PART } from '../../answers/records/server-schemas.ts'
import {
  type AnswerEnd,
  contextRecord,
  errorRecord,
  type ResultRow,
  type SqlFormat,
  type SqlFormatName,
  sqlFormat,
} from '../../answers/sql-format.ts'
import { streamedResponse } from '../../answers/streamed-response.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { route } from '../../openapi/openapi.ts'
import { anObject, documentedAs, oneOf, optionally, orNull } from '../../openapi/schema-words.ts'
import type { AddRoutes, RouteContext } from '../../route-context.ts'
import type { RequestScope } from '../../running-requests.ts'

const STATEMENT = t.String({
  description: 'One SQL statement',
  examples: ["SELECT id, relevance FROM teas WHERE content = 'without caffeine' LIMIT 1"],
})
const PARAMS = t.Record(t.String(), t.Unknown(), { description: 'The values of `:name` in it' })

const OTHERS = {
  context: t.Optional(
    t.Union([
      t.Object(
        { db: t.Optional(t.Union([t.String(), t.Null()])) },
        { additionalProperties: true, description: '`db`: where plain names are looked up' },
      ),
      t.Null(),
    ]),
  ),
  params: t.Optional(t.Union([anObject(PARAMS), t.Null()])),
  response_format: optionally(orNull(oneOf(['jsonlines', 'sse']))),
}

/** Existing clients know the words for a statement that is missing: the route has them. */
const QUERY = bodySchema(
  documentedAs(
    t.Object({ query: t.Optional(t.Unknown()), ...OTHERS }),
    t.Object({ query: STATEMENT, ...OTHERS }),
  ),
)

export const addSqlRoutes: AddRoutes = (app, context) => {
  app.post(
    '/api/sql/query',
    async ({ request }) => {
      const sent = await readJson(context, request, QUERY)
      if (typeof sent.query !== 'string') {
        throw new AppError('invalid_request', 'Please provide "query" with the request.')
      }
      const format = formatOf(sent.response_format, request.headers.get('accept'))
      const db = sent.context?.db || DEFAULT_PROJECT
      // The schema saw an object; JSON gives it no other keys than strings.
      const params = (sent.params ?? {}) as Readonly<Record<string, unknown>>
      const session = await context.authentication.sessionOf(request)
      return answer(context, request, { sql: sent.query, db, params, session }, format)
    },
    route({
      needs: 'login',
      id: 'runSql',
      summary: 'Run one SQL statement',
      tag: 'SQL',
      body: QUERY,
      answers: {
        200: {
          description:
            'The rows; or, as JSON, what failed, with type "error". As CSV, NDJSON or Parquet a failure is a problem',
          schema: SQL_ANSWER,
          also: {
            'text/csv': t.String({ description: 'RFC 4180, the names first; a null is empty' }),
            'application/x-ndjson': t.String({
              description: 'An object for each row, on its line',
            }),
            'application/vnd.apache.parquet': t.String({ format: 'binary' }),
            'application/jsonlines': SQL_PART,
            'text/event-stream': SQL_PART,
          },
        },
      },
    }),
  )
}

type AnswerFormat = SqlFormatName | 'parquet'

const TELLS_FAILURE: Readonly<Record<AnswerFormat, boolean>> = {
  json: true,
  jsonlines: true,
  sse: true,
  csv: false,
  ndjson: false,
  parquet: false,
}

const PARQUET = 'application/vnd.apache.parquet'

/**
 * A statement that fails is answered with 200 and `type` error: clients look there. Who asked for rows in a format that
 * has no place for that gets a problem, as from every other route.
 */
async function answer(
  context: RouteContext,
  request: Request,
  statement: QueryRequest,
  format: AnswerFormat,
): Promise<Response> {
  const scope = context.scopeOf(request)
  const onFailure = logStreamFailure(context, scope)
  try {
    context.deps.running.refuseSuspect(statement.sql)
    scope.running.statement(statement.sql)
    if (format === 'parquet') {
      const { pieces } = await context.deps.exportRows(statement, scope.principal, scope.signal)
      return streamedResponse(pieces, { headers: { 'content-type': PARQUET }, scope })
    }
    const result = await context.deps.query(statement, scope.principal, scope.signal)
    return await sqlAnswer(result, { format: sqlFormat(format), scope, onFailure })
  } catch (error) {
    if (scope.signal.aborted || !TELLS_FAILURE[format]) throw error
    onFailure(error)
    return Response.json(errorRecord(toAppError(error), { db: statement.db }))
  }
}

/** @throws AppError `invalid_request` for a format that does not exist */
function formatOf(named: unknown, accept: string | null): AnswerFormat {
  if (named === 'jsonlines' || named === 'sse') return named
  if (named !== null && named !== undefined) {
    const message = '"response_format" must be "jsonlines", "sse" or null'
    throw new AppError('invalid_request', message, { title: 'Invalid stream format' })
  }
  if (accept === null || accept.includes('application/json')) return 'json'
  if (accept.includes('text/csv')) return 'csv'
  if (accept.includes('application/x-ndjson')) return 'ndjson'
  return accept.includes(PARQUET) ? 'parquet' : 'json'
}

type TableResult = Extract<QueryResult, { kind: 'table' }>

interface AnswerInit {
  readonly format: SqlFormat
  readonly scope: RequestScope
  readonly onFailure: (error: unknown) => void
}

/**
 * The result of a statement as an answer. Rows are written batch by batch as the client reads
 * them; a result of one batch, as most are, goes out in one piece.
 * @throws AppError when reading fails before the second batch
 */
async function sqlAnswer(result: QueryResult, init: AnswerInit): Promise<Response> {
  if (result.kind === 'ok') {
    const { affectedRows, context, warnings = [] } = result
    return Response.json({
      type: 'ok',
      affected_rows: affectedRows,
      context: contextRecord(context),
      ...(warnings.length === 0 ? {} : { warnings }),
    })
  }
  const { format, scope } = init
  const { ready } = result.rows
  if (ready !== undefined) {
    // In this order: a format may learn from its head what rows are written with.
    const head = format.head(result.rows.columns)
    const rows = ready.length === 0 ? '' : format.rows(ready, true)
    const text = `${head}${rows}${format.tail(endOf(result), null)}`
    return new Response(text, { headers: { 'content-type': format.contentType } })
  }
  const batches = withRows(result.rows.batches)
  const first = await batches.next()
  const second = first.done === true ? first : await batches.next()
  const head = format.head(result.rows.columns)
  const start = first.done === true ? head : `${head}${format.rows(first.value, true)}`
  const headers = { 'content-type': format.contentType }
  if (second.done === true) {
    return new Response(`${start}${format.tail(endOf(result), null)}`, { headers })
  }
  const rest = restOf(batches, second.value, { ...init, result })
  const keepAlive = format.keepAlive === undefined ? {} : { keepAlive: { text: format.keepAlive } }
  return streamedResponse(startingWith(start, rest), { headers, scope, ...keepAlive })
}

function endOf({ context, rows: { warnings = [] } }: TableResult): AnswerEnd {
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
    tail = format.tail(endOf(result), null)
  } catch (error) {
    onFailure(error)
    tail = format.tail(endOf(result), toAppError(error))
  } finally {
    await batches.return(undefined)
  }
  yield tail
}

/** For a failure after the answer has begun: it is logged here, and the answer reports it in its own format. */
function logStreamFailure(context: RouteContext, scope: RequestScope): (error: unknown) => void {
  return (error) => {
    if (scope.signal.aborted) return
    const { code } = toAppError(error)
    if (ERRORS[code].status >= 500) context.deps.logError({ requestId: scope.id, error })
  }
}
