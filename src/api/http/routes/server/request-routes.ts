/** Requests under way, to see and to end, and those that were answered last. */

import { t } from 'elysia'
import { mayDo, type Principal } from '../../../../core/domain/access/principal.ts'
import { timestampOfMillis } from '../../../../core/domain/timestamp.ts'
import { AppError } from '../../../../core/errors.ts'
import { DAY_MS } from '../../../../core/time.ts'
import { ANSWERED_REQUEST, RUNNING_REQUEST } from '../../answers/records/server-schemas.ts'
import { choice, queryParameters, text, wholeNumber } from '../../bodies/query-parameters.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'
import type { RecentRequest, RequestScope } from '../../request/running-requests.ts'

const tag = 'Server'

const QUERY = queryParameters({
  status: choice(['2xx', '3xx', '4xx', '5xx', 'failed'], {
    description: 'Those with such a status; `failed`: answered with an error, under any status',
  }),
  route: text({ description: 'Those whose route or path holds this', charsMax: 300 }),
  ms_min: wholeNumber({
    ...{ min: 0, max: DAY_MS, unset: 0 },
    description: 'Those that took at least so many milliseconds',
  }),
  from: choice(['page', 'programs'], {
    description: 'Those of the web page of this server, which says so itself, or all others',
  }),
  limit: wholeNumber({ min: 1, max: 1000, unset: 100, description: 'At most so many' }),
})

export const addRequestRoutes: AddRoutes = (app, context) => {
  const { now } = context.deps
  app.get(
    '/api/requests',
    ({ request }) => {
      const { limit, ...filter } = QUERY.read(request)
      const found = context.requests.recent.list().filter((one) => fits(one, filter))
      return Response.json(found.slice(0, limit).map(answeredRecord))
    },
    route({
      needs: 'admin',
      id: 'listRequests',
      summary: 'List the requests that were answered last, the newest first',
      description: 'The newest 1 000 are known, since the server was started.',
      tag,
      query: QUERY,
      answers: { 200: { description: 'The requests', schema: t.Array(ANSWERED_REQUEST) } },
    }),
  )
  app.get(
    '/api/requests/running',
    ({ request }) => {
      const nowMs = now()
      return Response.json(seenBy(context, request).map((one) => runningRecord(one, nowMs)))
    },
    route({
      needs: 'login',
      id: 'listRunningRequests',
      summary: 'List the requests under way with their statements, the oldest first',
      description:
        'Without this one. Those of others are for admins who are not limited to projects.',
      tag,
      answers: { 200: { description: 'The requests', schema: t.Array(RUNNING_REQUEST) } },
    }),
  )
  app.delete(
    '/api/requests/:number',
    ({ request, params }) => {
      const found = seenBy(context, request).find((one) => String(one.number) === params.number)
      if (found === undefined) {
        const message = `No request ${params.number.slice(0, 100)} is under way; GET /api/requests/running lists them`
        throw new AppError('request_not_found', message)
      }
      context.scopeOf(request).noteChange('cancelRequest', [found.route])
      found.abort(new AppError('cancelled', 'Somebody who may do so cancelled the request'))
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'login',
      id: 'cancelRequest',
      summary: 'Cancel a request under way: its statement, search or question ends',
      description: 'Whoever made it gets the error "cancelled". What it stored already stays.',
      tag,
      answers: { 204: 'It is told to end', 404: 'It is not under way, or of somebody else' },
    }),
  )
}

function seenBy(context: RouteContext, request: Request): readonly RequestScope[] {
  const own = context.scopeOf(request)
  const seesAll = mayDo(own.principal, 'admin') && own.principal.namespaces === null
  return context.requests.list().filter((one) => {
    return one !== own && (seesAll || isSame(one.principal, own.principal))
  })
}

function isSame(one: Principal, other: Principal): boolean {
  return one.kind === other.kind && one.id === other.id
}

interface Filter {
  readonly status: string | undefined
  readonly route: string | undefined
  readonly ms_min: number
  readonly from: 'page' | 'programs' | undefined
}

function fits(one: RecentRequest, { status, route: part = '', ms_min: msMin, from }: Filter) {
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

function answeredRecord({ startMs, requestId, isFromPage, ...entry }: RecentRequest) {
  const { ms, method, path, route: pattern, status, code, principal } = entry
  return {
    ...{ started_at: timestampOfMillis(startMs), ms, method, path, route: pattern, status },
    ...{ code, request_id: requestId, principal, is_from_page: isFromPage },
  }
}
