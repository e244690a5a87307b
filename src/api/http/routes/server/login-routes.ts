import { t } from 'elysia'
import { AppError } from '../../../../core/errors.ts'
import type { Credentials } from '../../access/authentication.ts'
import { NOTHING, TOKEN } from '../../answers/records/server-schemas.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'
import { documentedAs } from '../../request/schema-words.ts'

/** Types are checked in `credentialsOf`: existing clients know that wording, and they send more fields than these. */
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

export const addLoginRoutes: AddRoutes = (app, context) => {
  const { authentication } = context
  app.post(
    '/api/login',
    async ({ request }) => {
      const credentials = credentialsOf(await readJson(context, request, LOGIN))
      const scope = context.scopeOf(request)
      // What was typed may be a password: only names that there are get into the log.
      const known = authentication.knownName(credentials.username)
      if (authentication.isOn) scope.noteChange('login', known === undefined ? [] : [known])
      const { address, signal } = scope
      const { token, principal } = await authentication.login(credentials, address, signal)
      scope.principal = principal
      const cookie = authentication.cookie(token, request)
      const headers = { 'set-cookie': cookie, 'cache-control': 'no-store' }
      return Response.json({ token }, { headers })
    },
    route({
      needs: 'nothing',
      id: 'login',
      summary: 'Log in: get a token for a username and password',
      tag: 'Server',
      body: LOGIN,
      answers: {
        200: { description: 'The token; also set as the cookie "session"', schema: TOKEN },
        400: 'A field is missing or not a string',
        401: 'Wrong username or password',
        429: 'Too many wrong ones under this name from this address',
      },
    }),
  )
  app.post(
    '/api/logout',
    async ({ request }) => {
      const session = await authentication.sessionOf(request)
      await authentication.logout(request)
      if (session !== null) context.deps.dropSessions(session.login)
      const cookie = authentication.clearedCookie(request)
      return Response.json('', { headers: { 'set-cookie': cookie } })
    },
    route({
      needs: 'login',
      id: 'logout',
      summary: 'Log out: revoke the token of the request',
      tag: 'Server',
      answers: { 200: { description: 'An empty JSON string', schema: NOTHING } },
    }),
  )
}

function credentialsOf({ username, password }: Record<string, unknown>): Credentials {
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
  if (isText(username) && isText(password)) return { username, password }
  const message = 'Username and password must be strings that are not empty'
  throw new AppError('invalid_credentials', message)
}
