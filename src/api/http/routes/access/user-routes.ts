import { t } from 'elysia'
import { type Principal, ROLE_SCOPES } from '../../../../core/domain/access/principal.ts'
import { AppError } from '../../../../core/errors.ts'
import {
  checkedPassword,
  createUser,
  type ListedUser,
  refuseFirstAdmin,
  type UserDeps,
  userChanges,
  visibleUsers,
} from '../../../../query/definitions/define-user.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

const ROLE = t.Union([t.Literal('admin'), t.Literal('editor'), t.Literal('viewer')], {
  description: `admin: all; editor: ${ROLE_SCOPES.editor.join(', ')}; viewer: ${ROLE_SCOPES.viewer.join(', ')}`,
})
const ROLE_NAME = t.String({ enum: Object.keys(ROLE_SCOPES) })
const PROJECTS = t.Union([t.Array(t.String()), t.Null()], {
  description: 'Projects, data sources, or "files", that the user may use; null: all',
})
const PASSWORD = t.String({ description: '8 to 1024 characters' })
const limits = { bytesMax: 65_536 }

/** Values are checked in `define-user.ts`, which SQL calls too. */
const CREATE = bodySchema(
  t.Object(
    { name: t.String(), password: PASSWORD, role: ROLE_NAME, projects: t.Optional(PROJECTS) },
    { additionalProperties: false },
  ),
  limits,
)
const CHANGE = bodySchema(
  t.Partial(t.Object({ password: PASSWORD, role: ROLE_NAME, projects: PROJECTS }), {
    additionalProperties: false,
  }),
  limits,
)
const OWN_PASSWORD = bodySchema(
  t.Object({ current_password: t.String(), password: PASSWORD }, { additionalProperties: false }),
  limits,
)

export const USER = t.Object({
  id: t.Integer({ description: '0: the user of the settings' }),
  name: t.String(),
  role: ROLE,
  projects: PROJECTS,
  created_by: t.String(),
  created_at: t.Union([t.String(), t.Null()]),
  updated_at: t.Union([t.String(), t.Null()]),
})
const ONE = '/api/users/:user_id'
const tag = 'Access'
const missing = { 404: 'No such user' }
const ofSettings = { 409: 'The user of the settings is changed there' }

export const addUserRoutes: AddRoutes = (app, context) => {
  const { authentication, deps } = context
  const { users } = deps
  const { firstAdmin } = authentication
  const userDeps: UserDeps = { users, snapshot: context.snapshot, firstAdmin }
  app.get(
    '/api/users',
    ({ request }) => {
      const { principal } = context.scopeOf(request)
      return Response.json(visibleUsers(principal, userDeps).map(userRecord))
    },
    route({
      needs: 'admin',
      id: 'listUsers',
      summary: 'List the users',
      tag,
      answers: { 200: { description: 'The users', schema: t.Array(USER) } },
    }),
  )
  app.post(
    '/api/users',
    async ({ request }) => {
      const fields = await readJson(context, request, CREATE)
      const { principal, signal } = context.scopeOf(request)
      const user = await createUser(fields, principal, userDeps, signal)
      return Response.json(userRecord(user), { status: 201 })
    },
    route({
      needs: 'admin',
      id: 'createUser',
      summary: 'Create a user',
      tag,
      body: CREATE,
      answers: {
        201: { description: 'The user', schema: USER },
        409: 'The name is in use, or the login is off',
      },
    }),
  )
  app.patch(
    ONE,
    async ({ request, params }) => {
      const fields = await readJson(context, request, CHANGE)
      const { principal, signal } = context.scopeOf(request)
      const found = userOf(params.user_id, principal, userDeps)
      context.scopeOf(request).noteTarget(found.name)
      const changes = userChanges(found, fields, principal, userDeps)
      return Response.json(userRecord(await users.change(found.id, changes, signal)))
    },
    route({
      needs: 'admin',
      id: 'changeUser',
      summary: 'Change the password, the role or the projects of a user',
      description: 'All of it holds at once. Another password ends the sessions of the user.',
      tag,
      body: CHANGE,
      answers: { 200: { description: 'The user', schema: USER }, ...missing, ...ofSettings },
    }),
  )
  app.delete(
    ONE,
    async ({ request, params }) => {
      const { principal } = context.scopeOf(request)
      const found = userOf(params.user_id, principal, userDeps)
      context.scopeOf(request).noteTarget(found.name)
      refuseFirstAdmin(found)
      await users.remove(found.id)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'admin',
      id: 'removeUser',
      summary: 'Remove a user and end their sessions',
      tag,
      answers: { 204: 'Removed', ...missing, ...ofSettings },
    }),
  )
  app.post(
    '/api/password',
    async ({ request }) => {
      const body = await readJson(context, request, OWN_PASSWORD)
      const scope = context.scopeOf(request)
      const { principal, address, signal } = scope
      scope.noteChange('changeOwnPassword', [principal.name])
      const sent = { current: body.current_password, password: checkedPassword(body.password) }
      const token = await authentication.changeOwnPassword(principal, sent, address, signal)
      const cookie = authentication.cookie(token, request)
      const headers = { 'set-cookie': cookie, 'cache-control': 'no-store' }
      return Response.json({ token }, { headers })
    },
    route({
      needs: 'login',
      id: 'changeOwnPassword',
      summary: 'Change the own password',
      description: 'It ends the sessions of the user; the answer has a token for a new one.',
      tag,
      body: OWN_PASSWORD,
      answers: {
        200: { description: 'A new token', schema: t.Object({ token: t.String() }) },
        401: 'The current password is another one',
        ...ofSettings,
      },
    }),
  )
}

function userOf(id: string, principal: Principal, deps: UserDeps): ListedUser {
  const found = visibleUsers(principal, deps).find((user) => String(user.id) === id)
  if (found !== undefined) return found
  const message = `There is no user with id ${id.slice(0, 100)}; GET /api/users lists them`
  throw new AppError('user_not_found', message)
}

function userRecord(user: ListedUser) {
  return {
    id: user.id,
    name: user.name,
    role: user.role,
    projects: user.namespaces,
    created_by: user.createdBy,
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  }
}
