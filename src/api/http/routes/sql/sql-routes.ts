import { t } from 'elysia'
import { DEFAULT_PROJECT } from '../../../../core/domain/project.ts'
import { AppError } from '../../../../core/errors.ts'
import { SQL_ANSWER, SQL_FUNCTION } from '../../answers/records/server-schemas.ts'
import {
  type AnswerFormat,
  acceptedFormat,
  ROWS_AS,
  statementAnswer,
  TELLS_FAILURE,
} from '../../answers/sql-answer.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'
import { anObject, documentedAs, oneOf, optionally, orNull } from '../../request/schema-words.ts'
import { addSqlLinkRoute } from './sql-link-routes.ts'

const STATEMENT = t.String({
  description: 'One SQL statement',
  examples: ["SELECT id, relevance FROM teas WHERE content = 'without caffeine' LIMIT 1"],
})
/** A text for generated clients: beside JSON, which most of them ask for, its parts would only blur the type of that. */
const LINES = t.String({
  description:
    'A line (an event) with `type`, `column_names`, `column_types` as DuckDB names them, and `warnings` where there are some; then lists of rows; or a line with the failure',
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
  read_only: t.Optional(
    t.Union([t.Boolean(), t.Null()], {
      description: 'Refuse what changes something or asks an agent, as a link does',
    }),
  ),
  exact: t.Optional(
    t.Union([t.Boolean(), t.Null()], {
      description:
        'Texts for what a number of JSON cannot say: NaN, Infinity, -Infinity, and a DECIMAL of more than 15 digits',
    }),
  ),
  response_format: optionally(orNull(oneOf(['jsonlines', 'sse']))),
}

/** Existing clients know the words for a statement that is missing: the route has them. */
const QUERY = bodySchema(
  documentedAs(
    t.Object({ query: t.Optional(t.Unknown()), ...OTHERS }),
    t.Object({ query: STATEMENT, ...OTHERS }, { $id: 'SqlStatement' }),
  ),
)

export const addSqlRoutes: AddRoutes = (app, context) => {
  addSqlLinkRoute(app, context)
  app.get(
    '/api/sql/functions',
    async ({ request }) => {
      const functions = await context.deps.sqlFunctions(context.scopeOf(request).signal)
      // They change with the version of the server alone.
      return Response.json(functions, { headers: { 'cache-control': 'private, max-age=3600' } })
    },
    route({
      needs: 'read',
      id: 'listSqlFunctions',
      summary: 'List the functions that statements may call',
      description: 'For editors: each way to call one, what it does, and an example.',
      tag: 'SQL',
      answers: { 200: { description: 'By name', schema: t.Array(SQL_FUNCTION) } },
    }),
  )
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
      const statement = {
        ...{ sql: sent.query, db, params, session },
        ...(sent.read_only === true ? { isLink: true } : {}),
        ...(sent.exact === true ? { isExact: true } : {}),
      }
      const tellsFailure = TELLS_FAILURE[format]
      return statementAnswer(context, request, statement, { format, tellsFailure })
    },
    route({
      needs: 'login',
      id: 'runSql',
      headers: {
        'X-Session': 'The session whose variables the statement reads and sets',
      },
      summary: 'Run one SQL statement',
      tag: 'SQL',
      body: QUERY,
      answers: {
        200: {
          description:
            'The rows; or, as JSON, what failed, with type "error". As CSV, NDJSON, Parquet or Arrow a failure is a problem',
          schema: SQL_ANSWER,
          also: {
            ...ROWS_AS,
            'application/jsonlines': LINES,
            'text/event-stream': LINES,
          },
        },
      },
    }),
  )
}

/** @throws AppError `invalid_request` for a format that does not exist */
function formatOf(named: unknown, accept: string | null): AnswerFormat {
  if (named === 'jsonlines' || named === 'sse') return named
  if (named !== null && named !== undefined) {
    const message = '"response_format" must be "jsonlines", "sse" or null'
    throw new AppError('invalid_request', message, { title: 'Invalid stream format' })
  }
  return acceptedFormat(accept)
}
