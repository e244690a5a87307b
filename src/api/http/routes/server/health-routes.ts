/** Whether the server lives, is well, and what it counted: for whatever watches it. */
import { t } from 'elysia'
import type { HealthChecks } from '../../../../core/domain/server-state.ts'
import { AppError, type ErrorCode } from '../../../../core/errors.ts'
import { HEALTH, PING, READINESS } from '../../answers/records/server-schemas.ts'
import { route } from '../../openapi/openapi.ts'
import { errorResponse } from '../../request/error-response.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'

const WHAT_FAILS: Readonly<Record<keyof HealthChecks, string>> = {
  database: 'the database does not answer',
  disk: 'the disk of the data folder is full: nothing more is stored, reading goes on',
}

const tag = 'Server'

export const addHealthRoutes: AddRoutes = (app, context) => {
  const { deps } = context
  addMetricsRoute(app, context)
  app.get(
    '/api/util/ping',
    () => Response.json({ status: 'ok' }),
    route({
      needs: 'nothing',
      id: 'ping',
      summary: 'Liveness check: the process answers',
      description: 'Never fails while the process runs. What restarts the server asks this.',
      tag,
      answers: { 200: { description: 'It answers', schema: PING } },
    }),
  )
  app.get(
    '/healthz',
    async () => {
      const checks = await deps.health()
      const failing = failingOf(checks, context)
      if (failing.length === 0) return Response.json({ status: 'ok', checks })
      // Not thrown: a check that comes every few seconds is no failure to log each time.
      const error = new AppError('unhealthy', `Not healthy: ${failing.join('; ')}`)
      return errorResponse(error, deps.now())
    },
    route({
      needs: 'nothing',
      id: 'getHealth',
      summary: 'Health check: the database answers, and there is room to store',
      description:
        'Fails while somebody has to do something: for alarms. A restart does not make room on a disk, so what restarts the server asks `/api/util/ping`.',
      tag,
      answers: { 200: { description: 'All is well', schema: HEALTH }, 503: 'What is wrong' },
    }),
  )
  app.get(
    '/api/util/readiness',
    async () => {
      if (!context.isReady()) throw new AppError('shutting_down', 'The server is shutting down')
      const { database, disk } = await deps.health()
      if (database !== 'ok') {
        return errorResponse(new AppError('unhealthy', WHAT_FAILS.database), deps.now())
      }
      const warnings: readonly ErrorCode[] = ['storage_full']
      return Response.json(disk === 'ok' ? '' : { warnings })
    },
    route({
      needs: 'login',
      id: 'getReadiness',
      summary: 'Readiness check: requests are answered',
      description: 'A full disk is a warning here: whatever reads goes on.',
      tag,
      answers: {
        200: { description: 'Ready for requests', schema: READINESS },
        503: 'Shutting down, or the database does not answer',
      },
    }),
  )
}

const addMetricsRoute: AddRoutes = (app, { deps }) => {
  app.get(
    '/metrics',
    async ({ request }) => {
      const { contentType, text } = await deps.metrics.page(request.headers.get('accept'))
      const headers = { 'content-type': contentType, 'cache-control': 'no-store' }
      return new Response(text, { headers })
    },
    route({
      needs: deps.settings.metricsOpen ? 'nothing' : 'admin',
      id: 'getMetrics',
      summary: 'Metrics for Prometheus',
      description:
        'Counts, durations, sizes and queues, without names of what users made. OpenMetrics where `Accept` asks for it. With a login it needs `admin`, or EIDER_METRICS_OPEN=1.',
      tag,
      answers: {
        200: {
          description: 'The metrics',
          schema: t.String(),
          also: { 'application/openmetrics-text': t.String() },
        },
      },
      produces: 'text/plain',
    }),
  )
}

function failingOf(checks: HealthChecks, context: RouteContext): readonly string[] {
  const failing = (['database', 'disk'] as const)
    .filter((name) => checks[name] !== 'ok')
    .map((name) => WHAT_FAILS[name])
  return context.isReady() ? failing : ['the server is shutting down', ...failing]
}
