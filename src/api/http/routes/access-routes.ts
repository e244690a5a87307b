/** API keys, users, and the audit log of their changes. */

import { t } from 'elysia'
import { ROLE_SCOPES, SCOPES } from '../../../core/domain/access/principal.ts'
import type { AccessKey, AuditRecord } from '../../../core/domain/ports/access-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { definedFields } from '../../../core/json.ts'
import {
  checkedPassword,
  createKey,
  createUser,
  type ListedUser,
  refuseFirstAdmin,
  type UserDeps,
  userChanges,
  visibleKeys,
  visibleUsers,
} from '../../../query/definitions/define-user.ts'
import { recordOf } from '../answers/record-of.ts'
import { bodySchema } from '../bodies/body.ts'
import {
  moment,
  nextCursor,
  pageBefore,
  paging,
  queryParameters,
  text,
} from '../bodies/query-parameters.ts'
import { integer, maybe, orNull, strict, TEXTS } from '../request/schema-words.ts'
import { type Place, resource } from './operation.ts'

const limits = { bytesMax: 65_536 }
const ONE_USER = '/api/users/:user_id'

const projectsOf = (who: string) => {
  const description = `Projects, data sources or "files" that ${who} can use; null means all`
  return orNull(TEXTS, { description })
}
const KEY_PROJECTS = projectsOf('the key')
const USER_PROJECTS = projectsOf('the user')
const SCOPE = t.Union(SCOPES.map((scope) => t.Literal(scope)))

/** `createKey` checks the values. */
const CREATE_KEY = bodySchema(
  strict({
    name: t.String({
      description: 'A unique name that says what the key is for',
      examples: ['notebook'],
    }),
    scopes: t.Array(SCOPE, { examples: [['read', 'ask']] }),
    projects: t.Optional(KEY_PROJECTS),
    expires_at: maybe(t.String(), { description: 'A date or time, UTC by default' }),
    requests_per_minute: maybe(integer({ minimum: 0 }), {
      description: '0 means unlimited, null means EIDER_KEY_REQUESTS_PER_MINUTE',
    }),
  }),
  limits,
)

const KEY_FIELDS = {
  id: integer(),
  name: t.String(),
  prefix: t.String({ description: 'The start of the key, to identify it' }),
  scopes: t.Array(SCOPE),
  projects: KEY_PROJECTS,
  requests_per_minute: orNull(integer()),
  created_by: t.String(),
  created_at: t.String(),
  expires_at: orNull(t.String()),
  last_used_at: orNull(t.String()),
}
export const KEY = t.Object(KEY_FIELDS)
export const NEW_KEY = t.Object({ ...KEY_FIELDS, key: t.String() })

const keyRecord = recordOf<AccessKey>()(KEY, { projects: (key) => key.namespaces })

export const keyOperations = resource('Access', (api, { deps, snapshot }) => {
  const { keys, now, dropSessions } = deps
  api.get('/api/keys', {
    id: 'listKeys',
    summary: 'List the keys, without their secrets',
    needs: 'admin',
    answers: { 200: ['The keys', t.Array(KEY)] },
    run: ({ principal }) => visibleKeys(principal, keys).map(keyRecord),
  })
  api.post('/api/keys', {
    id: 'createKey',
    summary: 'Create a key',
    description: '`key` is the key itself. Copy it now: it is shown only once.',
    needs: 'admin',
    body: CREATE_KEY,
    answers: { 201: ['The key and its secret', NEW_KEY], 409: 'The name is already in use' },
    async run({ body: fields, principal }) {
      const made = await createKey(fields, principal, { keys, now, snapshot })
      const headers = { 'cache-control': 'no-store' }
      return Response.json({ ...keyRecord(made.key), key: made.text }, { status: 201, headers })
    },
  })
  api.delete('/api/keys/:key_id', {
    id: 'deleteKey',
    summary: 'Revoke a key',
    needs: 'admin',
    async run({ params: { key_id: id }, principal, scope }) {
      const found = visibleKeys(principal, keys).find((key) => String(key.id) === id)
      if (found === undefined) {
        const message = `There is no key with id ${id.slice(0, 100)}; GET /api/keys lists them`
        throw new AppError('key_not_found', message)
      }
      scope.noteTarget(found.name)
      await keys.remove(found.id)
      dropSessions(`key ${found.id}`)
    },
  })
})

const ROLE = t.Union([t.Literal('admin'), t.Literal('editor'), t.Literal('viewer')], {
  description: `admin: all; editor: ${ROLE_SCOPES.editor.join(', ')}; viewer: ${ROLE_SCOPES.viewer.join(', ')}`,
})
const PASSWORD = t.String({ description: '8 to 1024 characters' })

const CHANGED = { password: PASSWORD, role: ROLE, projects: USER_PROJECTS }
/** `define-user.ts` checks the values. */
const CREATE_USER = bodySchema(
  strict({ name: t.String(), ...CHANGED, projects: t.Optional(USER_PROJECTS) }),
  limits,
)
const CHANGE = bodySchema(t.Partial(t.Object(CHANGED), { additionalProperties: false }), limits)
const OWN_PASSWORD = bodySchema(
  strict({ current_password: t.String(), password: PASSWORD }),
  limits,
)

export const USER = t.Object({
  id: integer({ description: '0: the user in the settings' }),
  name: t.String(),
  role: ROLE,
  projects: USER_PROJECTS,
  created_by: t.String(),
  created_at: orNull(t.String()),
  updated_at: orNull(t.String()),
})
const ofSettings = { 409: 'This user is defined in the settings and can only be changed there' }

const userRecord = recordOf<ListedUser>()(USER, { projects: (user) => user.namespaces })

export const userOperations = resource('Access', (api, { authentication, deps, snapshot }) => {
  const { users } = deps
  const userDeps: UserDeps = { users, snapshot, firstAdmin: authentication.firstAdmin }
  const userAt = ({ params, principal }: Place<{ readonly user_id: string }>): ListedUser => {
    const { user_id: id } = params
    const found = visibleUsers(principal, userDeps).find((user) => String(user.id) === id)
    if (found !== undefined) return found
    const message = `There is no user with id ${id.slice(0, 100)}; GET /api/users lists them`
    throw new AppError('user_not_found', message)
  }
  api.get('/api/users', {
    id: 'listUsers',
    summary: 'List the users',
    needs: 'admin',
    answers: { 200: ['The users', t.Array(USER)] },
    run: ({ principal }) => visibleUsers(principal, userDeps).map(userRecord),
  })
  api.post('/api/users', {
    id: 'createUser',
    summary: 'Create a user',
    needs: 'admin',
    body: CREATE_USER,
    answers: { 201: ['The user', USER], 409: 'The name is in use, or the login is off' },
    async run({ body: fields, principal, signal }) {
      return userRecord(await createUser(fields, principal, userDeps, signal))
    },
  })
  api.patch(ONE_USER, {
    id: 'changeUser',
    summary: 'Change a user’s password, role or projects',
    description: 'Takes effect immediately. A new password ends the user’s sessions.',
    needs: 'admin',
    find: userAt,
    body: CHANGE,
    answers: { 200: ['The user', USER], ...ofSettings },
    async run({ found, body: fields, principal, signal, scope }) {
      scope.noteTarget(found.name)
      const changes = userChanges(found, fields, principal, userDeps)
      return userRecord(await users.change(found.id, changes, signal))
    },
  })
  api.delete(ONE_USER, {
    id: 'removeUser',
    summary: 'Remove a user and end their sessions',
    needs: 'admin',
    find: userAt,
    answers: ofSettings,
    async run({ found, scope }) {
      scope.noteTarget(found.name)
      refuseFirstAdmin(found)
      await users.remove(found.id)
    },
  })
  api.post('/api/password', {
    id: 'changeOwnPassword',
    summary: 'Change your own password',
    description: 'Ends all your sessions and returns a token for a new one.',
    needs: 'login',
    body: OWN_PASSWORD,
    answers: {
      200: ['A new token', t.Object({ token: t.String() })],
      401: 'The current password is wrong',
      ...ofSettings,
    },
    async run({ request, body, principal, scope, signal }) {
      scope.noteChange('changeOwnPassword', [principal.name])
      const sent = { current: body.current_password, password: checkedPassword(body.password) }
      const { address } = scope
      const token = await authentication.changeOwnPassword(principal, sent, address, signal)
      return authentication.tokenAnswer(token, request)
    },
  })
})

const charsMax = 1_000

const AUDIT = queryParameters({
  ...paging('Entries per page'),
  principal: text({ description: 'Name of the user or key', charsMax }),
  action: text({
    description: 'An action such as `createKey`, `DROP KNOWLEDGE_BASE` or `login`',
    charsMax,
  }),
  outcome: text({ description: '`ok`, or an error code', charsMax }),
  from: moment({ description: 'Entries from this time on' }),
  to: moment({ description: 'Entries before this time' }),
})

const AUDIT_RECORD = t.Object({
  number: integer(),
  happened_at: t.String(),
  principal: t.Object({ kind: t.String(), id: t.String(), name: t.String() }),
  action: t.String(),
  targets: t.Array(t.String()),
  outcome: t.String(),
  address: t.String(),
  request_id: t.String(),
  occurrences: integer(),
  skipped_rows: integer({ description: 'Rows skipped for empty content' }),
})
export const AUDIT_LIST = t.Object({ items: t.Array(AUDIT_RECORD), next: orNull(t.String()) })

const auditRecord = recordOf<AuditRecord>()(AUDIT_RECORD, {
  principal: ({ principalKind: kind, principalId: id, principalName: name }) => ({
    kind,
    id,
    name,
  }),
})

export const auditOperations = resource('Access', (api, { deps }) => {
  api.get('/api/audit', {
    id: 'listAuditLog',
    summary: 'List the audit log, newest first',
    description: 'Entries contain names, never the content of statements or bodies.',
    needs: 'admin',
    query: AUDIT,
    answers: { 200: ['`items`, and `next`: the cursor of the next page, or null', AUDIT_LIST] },
    async run({ query: { limit, cursor, ...filter }, principal }) {
      if (principal.namespaces !== null) {
        const message = 'The audit log is for admins who are not limited to projects'
        throw new AppError('forbidden', message)
      }
      const page = pageBefore({ limit, cursor })
      const { items, next } = await deps.audit.list(definedFields(filter), page)
      return { items: items.map(auditRecord), next: nextCursor(next) }
    },
  })
})
