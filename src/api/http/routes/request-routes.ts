/**
 * Signing in and out; running requests, which can be cancelled; and the most recent finished
 * requests.
 */
import { t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { DAY_MS, timestampOfMillis } from '../../../core/time.ts'
import type { Credentials } from '../access/authentication.ts'
import { recordOf } from '../answers/record-of.ts'
import {
  ANSWERED_REQUEST,
  NOTHING,
  RUNNING_REQUEST,
  TOKEN,
} from '../answers/records/server-schemas.ts'
import { bodySchema } from '../bodies/body.ts'
import { choice, queryParameters, text, wholeNumber } from '../bodies/query-parameters.ts'
import type { RouteContext } from '../request/route-context.ts'
import type { RecentRequest, RequestScope } from '../request/running-requests.ts'
import { documentedAs } from '../request/schema-words.ts'
import { resource } from './operation.ts'

/** `credentialsOf` checks types: existing clients expect its wording and send more fields. */
const LOGIN = bodySchema(
  documentedAs(
    t.Object({ username: t.Optional(t.Unknown()), password: t.Optional(t.Unknown()) }),
    t.Object(
      { username: t.String({ minLength: 1 }), password: t.String({ minLength: 1 }) },
      { additionalProperties: true, examples: [{ username: 'ada', password: '…' }] },
    ),
  ),
  { bytesMax: 16_384 },
)

export const loginOperations = resource('Server', (api, context) => {
  const { authentication } = context
  api.post('/api/login', {
    id: 'login',
    summary: 'Log in with a username and password, and get a token',
    needs: 'nothing',
    body: LOGIN,
    answers: {
      200: ['The token; also set as the cookie "session"', TOKEN],
      400: 'A field is missing or not a string',
      401: 'Wrong username or password',
      429: 'Too many failed logins from this address with this name',
    },
    async run({ request, scope, body }) {
      const credentials = credentialsOf(body)
      // A password may have been typed as the name by mistake, so only known names are logged.
      const known = authentication.knownName(credentials.username)
      if (authentication.isOn) scope.noteChange('login', known === undefined ? [] : [known])
      const { address, signal } = scope
      const { token, principal } = await authentication.login(credentials, address, signal)
      scope.principal = principal
      return authentication.tokenAnswer(token, request)
    },
  })
  api.post('/api/logout', {
    id: 'logout',
    summary: 'Log out and revoke the request’s token',
    needs: 'login',
    answers: { 200: ['An empty JSON string', NOTHING] },
    async run({ request }) {
      const session = await authentication.sessionOf(request)
      await authentication.logout(request)
      if (session !== null) context.deps.dropSessions(session.login)
      const cookie = authentication.clearedCookie(request)
      return Response.json('', { headers: { 'set-cookie': cookie } })
    },
  })
})

function credentialsOf({ username, password }: Record<string, unknown>): Credentials {
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
  if (isText(username) && isText(password)) return { username, password }
  const message = 'Username and password must be strings that are not empty'
  throw new AppError('invalid_credentials', message)
}

const REQUESTS = queryParameters({
  status: choice(['2xx', '3xx', '4xx', '5xx', 'failed'], {
    description: 'Requests with this status, or `failed` for any failure, even with status 200',
  }),
  route: text({ description: 'Requests whose route or path contains this', charsMax: 300 }),
  ms_min: wholeNumber({
    ...{ min: 0, max: DAY_MS, unset: 0 },
    description: 'Requests that took at least this many milliseconds',
  }),
  from: choice(['page', 'programs'], {
    description: 'Requests from this server’s own page, or all others',
  }),
  limit: wholeNumber({ min: 1, max: 1000, unset: 100, description: 'Maximum number of items' }),
})

export const requestOperations = resource('Server', (api, context) => {
  const { now } = context.deps
  api.get('/api/requests', {
    id: 'listRequests',
    summary: 'List the latest requests, newest first',
    description: 'Up to 1,000 requests since the server started.',
    needs: 'admin',
    query: REQUESTS,
    answers: { 200: ['The requests', t.Array(ANSWERED_REQUEST)] },
    run({ query }) {
      const found = context.requests.recent.list().filter((one) => isWanted(one, query))
      return found.slice(0, query.limit).map(answeredRecord)
    },
  })
  api.get('/api/requests/running', {
    id: 'listRunningRequests',
    summary: 'List running requests with their statements, oldest first',
    description:
      'This request is not listed. Only admins without a project limit see other users’ requests.',
    needs: 'login',
    answers: { 200: ['The requests', t.Array(RUNNING_REQUEST)] },
    run({ request }) {
      const nowMs = now()
      return seenBy(context, request).map((one) => runningRecord(one, nowMs))
    },
  })
  api.delete('/api/requests/:number', {
    id: 'cancelRequest',
    summary: 'Cancel a running request',
    description: 'The client gets the error "cancelled". Data already stored stays.',
    needs: 'login',
    run({ request, params, scope }) {
      const found = seenBy(context, request).find((one) => String(one.number) === params.number)
      if (found === undefined) {
        const message = `No request ${params.number.slice(0, 100)} is running; GET /api/requests/running lists them`
        throw new AppError('request_not_found', message)
      }
      scope.noteChange('cancelRequest', [found.route])
      found.abort(new AppError('cancelled', 'A user with the right to do so cancelled the request'))
    },
  })
})

function seenBy(context: RouteContext, request: Request): readonly RequestScope[] {
  const own = context.scopeOf(request)
  return context.requests.seenBy(own.principal).filter((one) => one !== own)
}

function isWanted(
  one: RecentRequest,
  { status, route: part = '', ms_min: msMin, from }: ReturnType<typeof REQUESTS.read>,
) {
  if (from !== undefined && one.isFromPage !== (from === 'page')) return false
  const isFailed = one.code !== null || one.status >= 400
  const isOfStatus =
    status === 'failed' ? isFailed : String(one.status).startsWith(status?.slice(0, 1) ?? '')
  return isOfStatus && one.ms >= msMin && (one.route.includes(part) || one.path.includes(part))
}

function runningRecord(scope: RequestScope, nowMs: number) {
  const { number, startMs, method, path, route: pattern, statement, principal } = scope
  return {
    ...{ number, started_at: timestampOfMillis(startMs), ms: Math.max(0, nowMs - startMs) },
    ...{ method, path: path.slice(0, 300), route: pattern, statement, request_id: scope.id },
    principal: principal.kind === 'open' ? null : `${principal.kind} ${principal.name}`,
  }
}

const answeredRecord = recordOf<RecentRequest>()(ANSWERED_REQUEST, {
  started_at: (one) => timestampOfMillis(one.startMs),
})
