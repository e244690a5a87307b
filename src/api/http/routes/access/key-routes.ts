import { t } from 'elysia'
import { SCOPES } from '../../../../core/domain/access/principal.ts'
import type { AccessKey } from '../../../../core/domain/ports/access-ports.ts'
import { AppError } from '../../../../core/errors.ts'
import { createKey, visibleKeys } from '../../../../query/definitions/define-user.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

const SCOPE = t.Union(SCOPES.map((scope) => t.Literal(scope)))
const PROJECTS = t.Union([t.Array(t.String()), t.Null()], {
  description: 'Projects, data sources, or "files", that it may use; null: all',
})

/** Values are checked in `createKey`, which SQL calls too. */
const CREATE = bodySchema(
  t.Object(
    {
      name: t.String({ description: 'What the key is for; unique', examples: ['notebook'] }),
      scopes: t.Array(t.String({ enum: [...SCOPES] }), { examples: [['read', 'ask']] }),
      projects: t.Optional(PROJECTS),
      expires_at: t.Optional(
        t.Union([t.String(), t.Null()], { description: 'UTC unless it says otherwise' }),
      ),
      requests_per_minute: t.Optional(
        t.Union([t.Integer({ minimum: 0 }), t.Null()], {
          description: '0: without a limit; null: as EIDER_KEY_REQUESTS_PER_MINUTE says',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  { bytesMax: 65_536 },
)

const KEY_FIELDS = {
  id: t.Integer(),
  name: t.String(),
  prefix: t.String({ description: 'The beginning of the key, to know it by' }),
  scopes: t.Array(SCOPE),
  projects: PROJECTS,
  requests_per_minute: t.Union([t.Integer(), t.Null()]),
  created_by: t.String(),
  created_at: t.String(),
  expires_at: t.Union([t.String(), t.Null()]),
  last_used_at: t.Union([t.String(), t.Null()]),
}
export const KEY = t.Object(KEY_FIELDS)
export const NEW_KEY = t.Object({ ...KEY_FIELDS, key: t.String() })

const tag = 'Access'

export const addKeyRoutes: AddRoutes = (app, context) => {
  const { keys, now } = context.deps
  const accessDeps = { keys, now, snapshot: context.snapshot }
  app.get(
    '/api/keys',
    ({ request }) => {
      const { principal } = context.scopeOf(request)
      return Response.json(visibleKeys(principal, keys).map(keyRecord))
    },
    route({
      needs: 'admin',
      id: 'listKeys',
      summary: 'List the keys, without their secrets',
      tag,
      answers: { 200: { description: 'The keys', schema: t.Array(KEY) } },
    }),
  )
  app.post(
    '/api/keys',
    async ({ request }) => {
      const fields = await readJson(context, request, CREATE)
      const { principal } = context.scopeOf(request)
      const { key, text } = await createKey(fields, principal, accessDeps)
      const headers = { 'cache-control': 'no-store' }
      return Response.json({ ...keyRecord(key), key: text }, { status: 201, headers })
    },
    route({
      needs: 'admin',
      id: 'createKey',
      summary: 'Create a key',
      description: 'Its text is in `key` of this answer and nowhere else: keep it now.',
      tag,
      body: CREATE,
      answers: {
        201: {
          description: 'The key, shown this once',
          schema: NEW_KEY,
        },
        409: 'The name is already in use',
      },
    }),
  )
  app.delete(
    '/api/keys/:key_id',
    async ({ request, params }) => {
      const { principal } = context.scopeOf(request)
      const found = visibleKeys(principal, keys).find(({ id }) => String(id) === params.key_id)
      if (found === undefined) {
        const message = `There is no key with id ${params.key_id.slice(0, 100)}; GET /api/keys lists them`
        throw new AppError('key_not_found', message)
      }
      context.scopeOf(request).noteTarget(found.name)
      await keys.remove(found.id)
      context.deps.dropSessions(`key ${found.id}`)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'admin',
      id: 'deleteKey',
      summary: 'Revoke a key at once',
      tag,
      answers: { 204: 'Nobody comes in with it any more', 404: 'No such key' },
    }),
  )
}

function keyRecord(key: AccessKey) {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    scopes: key.scopes,
    projects: key.namespaces,
    requests_per_minute: key.requestsPerMinute,
    created_by: key.createdBy,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    last_used_at: key.lastUsedAt,
  }
}
