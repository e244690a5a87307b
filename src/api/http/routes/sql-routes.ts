import { t } from 'elysia'
import { DEFAULT_PROJECT } from '../../../core/domain/names.ts'
import { AppError } from '../../../core/errors.ts'
import { parsedJson } from '../../../core/json.ts'
import type { Authentication, Identity } from '../access/authentication.ts'
import { keyTextOf } from '../access/rate-limits.ts'
import { SQL_ANSWER, SQL_FUNCTION } from '../answers/records/server-schemas.ts'
import {
  type AnswerFormat,
  acceptedFormat,
  ROWS_AS,
  statementAnswer,
  TELLS_FAILURE,
} from '../answers/sql-answer.ts'
import { bodySchema } from '../bodies/body.ts'
import { choice, filters, queryParameters, text } from '../bodies/query-parameters.ts'
import type { RouteContext } from '../request/route-context.ts'
import type { RequestScope } from '../request/running-requests.ts'
import {
  anObject,
  documentedAs,
  maybe,
  named,
  oneOf,
  optionally,
  orNull,
} from '../request/schema-words.ts'
import { resource } from './operation.ts'

const STATEMENT = t.String({
  description: 'One SQL statement',
  examples: ["SELECT id, relevance FROM teas WHERE content = 'without caffeine' LIMIT 1"],
})
/** Most generated clients request JSON; more detail here would only blur the type. */
const LINES = t.String({
  description:
    'A line (or event) with `type`, `column_names`, `column_types` (DuckDB’s names) and any `warnings`; then lists of rows; or a line with the error',
})

const PARAMS = t.Record(t.String(), t.Unknown(), {
  description: 'Values for `:name` in the statement',
})

const OTHER_TYPES = {
  context: maybe(
    t.Object(
      { db: maybe(t.String()) },
      { additionalProperties: true, description: '`db` is the project for unqualified names' },
    ),
  ),
  params: maybe(anObject(PARAMS)),
  read_only: maybe(t.Boolean(), {
    description: 'Refuses statements that change something or ask an agent',
  }),
  exact: maybe(t.Boolean(), {
    description:
      'Returns values that JSON numbers cannot hold (NaN, ±Infinity, DECIMALs of over 15 digits) as text',
  }),
  response_format: optionally(orNull(oneOf(['jsonlines', 'sse']))),
}

/** The route checks for a missing statement, because existing clients expect its wording. */
const QUERY = bodySchema(
  documentedAs(
    t.Object({ query: t.Optional(t.Unknown()), ...OTHER_TYPES }),
    named('SqlStatement', { query: STATEMENT, ...OTHER_TYPES }),
  ),
)

export const sqlOperations = resource('SQL', (api, context) => {
  api.get('/api/sql/functions', {
    id: 'listSqlFunctions',
    summary: 'List the available SQL functions',
    description: 'For code editors. Lists every signature with a description and an example.',
    answers: { 200: ['The functions, by name', t.Array(SQL_FUNCTION)] },
    async run({ signal }) {
      const functions = await context.deps.sqlFunctions(signal)
      // The list changes only with the server's version.
      return Response.json(functions, { headers: { 'cache-control': 'private, max-age=3600' } })
    },
  })
  api.post('/api/sql/query', {
    id: 'runSql',
    summary: 'Run one SQL statement',
    needs: 'login',
    headers: {
      'X-Session': 'The session whose variables the statement uses',
    },
    body: QUERY,
    answers: {
      200: {
        description:
          'The rows. A failed statement returns 200 with type "error" in JSON, and a problem with an error status in CSV, NDJSON, Parquet and Arrow',
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
      const format = requestedFormat(sent.response_format, request.headers.get('accept'))
      const db = sent.context?.db || DEFAULT_PROJECT
      // The schema has checked that it is an object, and JSON keys are always strings.
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

/** @throws AppError `invalid_request` for an unknown format */
function requestedFormat(named: unknown, accept: string | null): AnswerFormat {
  if (named === 'jsonlines' || named === 'sse') return named
  if (named !== null && named !== undefined) {
    const message = '"response_format" must be "jsonlines", "sse" or null'
    throw new AppError('invalid_request', message, { title: 'Invalid stream format' })
  }
  return acceptedFormat(accept)
}

/** The name of each format in a URL, and its file extension. */
const LINK_FORMATS = {
  json: 'json',
  csv: 'csv',
  ndjson: 'ndjson',
  parquet: 'parquet',
  arrow: 'arrows',
} as const satisfies Partial<Record<AnswerFormat, string>>

type LinkFormat = keyof typeof LINK_FORMATS

/** `p.name=value` in a URL sets the placeholder `:name`. */
const PLACEHOLDER = /^p\.(.+)$/s

const LINK = queryParameters(
  {
    query: text({
      description:
        'One SELECT, SHOW, DESCRIBE or EXPLAIN. Other statements, and a SELECT that asks an agent, get `sql_not_a_query`',
      examples: ['SELECT * FROM files.sales'],
    }),
    format: choice(['json', 'csv', 'ndjson', 'parquet', 'arrow'], {
      description:
        'The format; `arrow` is the IPC stream. The default is the format in `Accept`, else JSON',
    }),
    db: text({ description: 'The project for unqualified names' }),
    params: filters({ description: 'Values for the placeholders `:name`, as a JSON object' }),
    download: text({ description: 'Download under this file name; `1` means the name `result`' }),
    key: text({ description: 'A key with the single scope `read`, if EIDER_URL_KEYS allows it' }),
  },
  { ignoresOthers: true },
)

const DESCRIPTION = `For notebooks, spreadsheets and links: \`pd.read_csv("…/api/sql/query?format=csv&query=SELECT …")\`. \`p.name=value\` sets the placeholder \`:name\`. The value is JSON, such as a number, \`true\` or \`null\`, or else plain text.

In every format, a failure returns a problem with an error status. Pages on other sites cannot send this request. HEAD runs the statement up to its first rows and returns the status and headers of GET.`

export const sqlLinkOperations = resource('SQL', (api, context) => {
  const answer = async (request: Request) => {
    refuseForeignLink(request, context.authentication)
    const { sql, db, params, format, headers } = resultLink(request)
    const statement = { sql, db, params, session: null, isLink: true }
    const wanted = { format, tellsFailure: false }
    const response = await statementAnswer(context, request, statement, wanted)
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
    return response
  }
  // Elysia's own HEAD would read all rows to count their bytes.
  api.head(SQL_PATH, {
    summary: 'Check a link',
    isHidden: true,
    run: async ({ request, scope }) => headOf(await answer(request), scope),
  })
  api.get(SQL_PATH, {
    id: 'runSqlLink',
    summary: 'Run one SELECT from a URL',
    description: DESCRIPTION,
    query: LINK,
    answers: { 200: { description: 'The rows', schema: SQL_ANSWER, also: ROWS_AS } },
    run: ({ request }) => answer(request),
  })
})

/** The status and headers of the answer to GET. Ends the statement without reading rows. */
async function headOf(response: Response, { isStreaming }: RequestScope): Promise<Response> {
  const { status } = response
  const headers = new Headers(response.headers)
  if (isStreaming) {
    await response.body?.cancel()
    // Without this header Bun would send a length of 0, which clients take for an empty answer.
    headers.set('transfer-encoding', 'chunked')
  } else headers.set('content-length', String((await response.arrayBuffer()).byteLength))
  return new Response(null, { status, headers })
}

/** @throws AppError `invalid_request`, `missing_parameter` */
function resultLink(request: Request) {
  const { searchParams } = new URL(request.url)
  checkNames(searchParams)
  const sent = LINK.read(request)
  if (sent.query === undefined || sent.query.trim() === '') {
    throw new AppError('missing_parameter', 'The URL needs the parameter "query" with one SELECT')
  }
  const accepted = acceptedFormat(request.headers.get('accept'))
  const format = sent.format ?? (isLinkFormat(accepted) ? accepted : 'json')
  const named = [...searchParams].flatMap(([name, value]) => {
    const [, placeholder] = PLACEHOLDER.exec(name) ?? []
    return placeholder === undefined ? [] : [[placeholder, placeholderValue(value)] as const]
  })
  return {
    sql: sent.query,
    format,
    db: sent.db ?? DEFAULT_PROJECT,
    params: { ...sent.params, ...Object.fromEntries(named) },
    headers: headersOf(format, sent.download),
  }
}

function checkNames(searchParams: URLSearchParams): void {
  for (const name of searchParams.keys()) {
    if (Object.hasOwn(LINK.parameters, name) || PLACEHOLDER.test(name)) continue
    const known = `there are: ${Object.keys(LINK.parameters).join(', ')} and p.<name>`
    throw new AppError('unknown_field', `Unknown parameter "${name.slice(0, 100)}"; ${known}`)
  }
}

function isLinkFormat(name: string): name is LinkFormat {
  return Object.hasOwn(LINK_FORMATS, name)
}

/** Valid JSON is parsed; anything else is a string, as are numbers JavaScript would round. */
function placeholderValue(sent: string): unknown {
  const value = parsedJson(sent)
  if (value === undefined) return sent
  const isRounded =
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
  return isRounded ? sent : value
}

/** Characters to replace, so that the result is a valid file name everywhere. */
const UNFIT = /[^\p{L}\p{N}._ -]+/gu
const FILE_NAME_CHARS_MAX = 100

function headersOf(format: LinkFormat, download: string | undefined) {
  const isNamed = download !== undefined && !['1', 'true'].includes(download)
  const named = (isNamed ? download : 'result').replaceAll(UNFIT, '_').slice(0, FILE_NAME_CHARS_MAX)
  const ending = `.${LINK_FORMATS[format]}`
  const name = named.toLowerCase().endsWith(ending) ? named : `${named}${ending}`
  // Browsers can show JSON but only download the other formats.
  const isStored = download !== undefined || (format !== 'json' && format !== 'ndjson')
  const kind = isStored ? 'attachment' : 'inline'
  return {
    'content-disposition': `${kind}; filename*=UTF-8''${encodeURIComponent(name)}`,
    'cache-control': 'private, no-store',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
}

/** Queries in URLs: whose rights they use, and protection against other sites opening them. */

const SQL_PATH = '/api/sql/query'

/** Undefined without one. @throws AppError `url_key_refused`, `unauthorized`, `rate_limited` */
export function linkIdentity(
  request: Request,
  { authentication, deps }: Pick<RouteContext, 'authentication' | 'deps'>,
): Identity | undefined {
  const key = keyInAddress(request)
  if (key === undefined) return undefined
  const instead = 'send it as "Authorization: Bearer …"'
  if (!deps.settings.urlKeys) {
    const detail = 'This server does not accept keys in URLs, because URLs are often logged'
    throw new AppError('url_key_refused', `${detail}; ${instead}, or set EIDER_URL_KEYS=1`)
  }
  const identity = authentication.identifyByKey(key)
  const { scopes } = identity.principal
  if (scopes.size === 1 && scopes.has('read')) return identity
  const detail = 'Only a key with the single scope "read" may be part of a URL'
  throw new AppError('url_key_refused', `${detail}; ${instead}, or create such a key`)
}

function keyInAddress({ method, url }: Request): string | undefined {
  if ((method !== 'GET' && method !== 'HEAD') || !url.includes(`${SQL_PATH}?`)) return undefined
  const { pathname, searchParams } = new URL(url)
  return pathname === SQL_PATH ? (searchParams.get('key') ?? undefined) : undefined
}

/**
 * Refuses a query URL that a page of another site opens, embeds or links to. It would run with the
 * rights of the signed-in user, or on the machine of the person reading that page. Browsers send a
 * request's origin in `Sec-Fetch-Site`; `none` means that the URL was typed or bookmarked. They
 * omit the header on unsafe connections (plain HTTP to another machine), where a cookie alone is
 * therefore not enough. Programs do not send it. A request with a key or token is allowed, because
 * a page that knows only the URL has neither.
 * @throws AppError `forbidden_origin`
 */
function refuseForeignLink(request: Request, { isOn }: Authentication): void {
  const { headers } = request
  const hasToken = /^bearer /i.test(headers.get('authorization') ?? '')
  if (hasToken || keyTextOf(request) !== undefined || keyInAddress(request) !== undefined) return
  const site = headers.get('sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return
  const source = site === null ? (headers.get('origin') ?? headers.get('referer')) : null
  if (source !== null && isSameHost(source, request)) return
  if (source !== null || site !== null) throw refused('a page of another site opened it')
  if (isOn) throw refused('a page of another site may have opened it')
}

/** Ignores the scheme, because a proxy may use HTTPS in front of the server. */
function isSameHost(source: string, request: Request): boolean {
  if (!URL.canParse(source)) return false
  const { host, protocol } = new URL(source)
  const target = request.headers.get('host') ?? new URL(request.url).host
  const defaultPort = protocol === 'https:' ? /:443$/ : /:80$/
  return host === target.toLowerCase().replace(defaultPort, '')
}

function refused(why: string): AppError {
  const detail = `The statement in this address was not run, because ${why}`
  const how = 'type the URL, or send a token as "Authorization: Bearer …"'
  return new AppError('forbidden_origin', `${detail}; ${how}`)
}
