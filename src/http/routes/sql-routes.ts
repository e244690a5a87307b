import { t } from 'elysia'
import { DEFAULT_PROJECT } from '../../domain/project.ts'
import { AppError, toAppError } from '../../errors.ts'
import { readJson } from '../body.ts'
import { bodySchema } from '../body-schema.ts'
import { type AddRoutes, type Edge, logStreamFailure } from '../edge.ts'
import { route } from '../openapi.ts'
import { sqlAnswer } from '../sql-answer.ts'
import { errorRecord, type SqlFormatName, sqlFormat } from '../sql-format.ts'
import { streamedResponse } from '../streamed-response.ts'

const QUERY = bodySchema(
  t.Object({
    query: t.Optional(t.Unknown({ description: 'One SQL statement; required' })),
    context: t.Optional(
      t.Union([t.Object({ db: t.Optional(t.Union([t.String(), t.Null()])) }), t.Null()]),
    ),
    params: t.Optional(t.Union([t.Object({}), t.Null()])),
    response_format: t.Optional(t.Unknown({ description: '"jsonlines", "sse" or null' })),
  }),
)

export const addSqlRoutes: AddRoutes = (app, edge) => {
  app.post(
    '/api/sql/query',
    async ({ request }) => {
      const sent = await readJson(edge, request, QUERY)
      if (typeof sent.query !== 'string') {
        throw new AppError('invalid_request', 'Please provide "query" with the request.')
      }
      const format = formatOf(sent.response_format, request.headers.get('accept'))
      const db = sent.context?.db || DEFAULT_PROJECT
      // The schema saw an object; JSON gives it no other keys than strings.
      const params = (sent.params ?? {}) as Readonly<Record<string, unknown>>
      return answer(edge, request, { statement: { sql: sent.query, db, params }, format })
    },
    route({
      summary: 'Run one SQL statement',
      tag: 'SQL',
      body: QUERY,
      answers: { 200: 'The rows; or what failed, with type "error"' },
    }),
  )
}

interface Asked {
  readonly statement: {
    readonly sql: string
    readonly db: string
    readonly params: Readonly<Record<string, unknown>>
  }
  readonly format: SqlFormatName | 'parquet'
}

const PARQUET = 'application/vnd.apache.parquet'

/** A statement that fails is answered with 200 and `type` error: clients look there. */
async function answer(
  edge: Edge,
  request: Request,
  { statement, format }: Asked,
): Promise<Response> {
  const scope = edge.scopeOf(request)
  const onFailure = logStreamFailure(edge, scope)
  try {
    if (format === 'parquet') {
      const { pieces } = await edge.deps.exportRows(statement, scope.signal)
      return streamedResponse(pieces, { headers: { 'content-type': PARQUET }, scope })
    }
    const result = await edge.deps.query(statement, scope.signal)
    return await sqlAnswer(result, { format: sqlFormat(format), scope, onFailure })
  } catch (error) {
    if (scope.signal.aborted) throw error
    onFailure(error)
    return Response.json(errorRecord(toAppError(error), { db: statement.db }))
  }
}

/** @throws AppError `invalid_request` for a format that there is not */
function formatOf(asked: unknown, accept: string | null): Asked['format'] {
  if (asked === 'jsonlines' || asked === 'sse') return asked
  if (asked !== null && asked !== undefined) {
    const message = '"response_format" must be "jsonlines", "sse" or null'
    throw new AppError('invalid_request', message, { title: 'Invalid stream format' })
  }
  if (accept === null || accept.includes('application/json')) return 'json'
  if (accept.includes('text/csv')) return 'csv'
  if (accept.includes('application/x-ndjson')) return 'ndjson'
  return accept.includes(PARQUET) ? 'parquet' : 'json'
}
