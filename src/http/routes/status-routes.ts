import { AppError } from '../../errors.ts'
import { route } from '../openapi.ts'
import type { AddRoutes } from '../route-context.ts'

/** The release whose API is served. Existing clients check it. */
const API_VERSION = '25.9.1.2'

export const addStatusRoutes: AddRoutes = (app, context) => {
  const { authentication } = context
  app.get(
    '/api/status',
    async ({ request }) => {
      const isConfirmed = await authentication.isConfirmed(request)
      return Response.json({
        mindsdb_version: API_VERSION,
        eider_version: context.deps.settings.version,
        environment: 'local',
        auth: {
          confirmed: isConfirmed,
          http_auth_enabled: authentication.isOn,
          provider: authentication.isOn ? 'local' : 'disabled',
        },
        indexes: context.deps.indexes.possible(),
        // How busy the server is, and with what, is nobody else's business.
        ...(isConfirmed ? context.deps.serverState() : {}),
      })
    },
    route({
      summary: 'Get version, login state and available index types',
      tag: 'Server',
      answers: { 200: 'The status' },
      isPublic: true,
    }),
  )
  const alive = route({
    summary: 'Liveness check',
    tag: 'Server',
    answers: { 200: '{"status":"ok"}' },
    isPublic: true,
  })
  app.get('/api/util/ping', () => Response.json({ status: 'ok' }), alive)
  app.get('/healthz', () => Response.json({ status: 'ok' }), alive)
  app.get(
    '/api/util/readiness',
    () => {
      if (context.isReady()) return Response.json('')
      throw new AppError('shutting_down', 'The server is shutting down')
    },
    route({
      summary: 'Readiness check',
      tag: 'Server',
      answers: { 200: 'Ready for requests', 503: 'Shutting down' },
    }),
  )
  app.get(
    '/api/config',
    () => Response.json({ auth: { http_auth_enabled: authentication.isOn } }),
    route({
      summary: 'Get the public settings',
      tag: 'Server',
      answers: { 200: 'The settings' },
    }),
  )
}
