import { t } from 'elysia'
import { DEFAULT_PROJECT } from '../../../core/domain/project.ts'
import { AppError } from '../../../core/errors.ts'
import { SQL_ANSWER, SQL_FUNCTION } from '../answers/records/server-schemas.ts'
import {
  type AnswerFormat,
  acceptedFormat,
  ROWS_AS,
  statementAnswer,
  TELLS_FAILURE,
} from '../answers/sql-answer.ts'
import { bodySchema } from '../bodies/body.ts'
import { resource } from '../openapi/operation.ts'
import {
  anObject,
  documentedAs,
  maybe,
  named,
  oneOf,
  optionally,
  orNull,
} from '../request/schema-words.ts'

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
  context: maybe(
    t.Object(
      { db: maybe(t.String()) },
      { additionalProperties: true, description: '`db`: where plain names are looked up' },
    ),
  ),
  params: maybe(anObject(PARAMS)),
  read_only: maybe(t.Boolean(), {
    description: 'Refuse what changes something or asks an agent, as a link does',
  }),
  exact: maybe(t.Boolean(), {
    description:
      'Texts for what a number of JSON cannot say: NaN, Infinity, -Infinity, and a DECIMAL of more than 15 digits',
  }),
  response_format: optionally(orNull(oneOf(['jsonlines', 'sse']))),
}

/** Existing clients know the words for a statement that is missing: the route has them. */
const QUERY = bodySchema(
  documentedAs(
    t.Object({ query: t.Optional(t.Unknown()), ...OTHERS }),
    named('SqlStatement', { query: STATEMENT, ...OTHERS }),
  ),
)

export const sqlOperations = resource('SQL', (api, context) => {
  api.get('/api/sql/functions', {
    id: 'listSqlFunctions',
    summary: 'List the functions that statements may call',
    description: 'For editors: each way to call one, what it does, and an example.',
    answers: { 200: ['By name', t.Array(SQL_FUNCTION)] },
    async run({ signal }) {
      const functions = await context.deps.sqlFunctions(signal)
      // They change with the version of the server alone.
      return Response.json(functions, { headers: { 'cache-control': 'private, max-age=3600' } })
    },
  })
  api.post('/api/sql/query', {
    id: 'runSql',
    summary: 'Run one SQL statement',
    needs: 'login',
    headers: {
      'X-Session': 'The session whose variables the statement reads and sets',
    },
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
    async run({ request, body: sent }) {
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
  })
})

/** @throws AppError `invalid_request` for a format that does not exist */
function formatOf(named: unknown, accept: string | null): AnswerFormat {
  if (named === 'jsonlines' || named === 'sse') return named
  if (named !== null && named !== undefined) {
    const message = '"response_format" must be "jsonlines", "sse" or null'
    throw new AppError('invalid_request', message, { title: 'Invalid stream format' })
  }
  return acceptedFormat(accept)
}
