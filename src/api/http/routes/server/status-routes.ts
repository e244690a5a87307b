import { t } from 'elysia'
import { mayDo, type Principal, SCOPES } from '../../../../core/domain/access/principal.ts'
import type { ServerState } from '../../../../core/domain/server-state.ts'

import { BACKUP } from '../../answers/records/catalog-schemas.ts'
import { CONFIG, SETTING, STATUS } from '../../answers/records/server-schemas.ts'

import { backupRecord } from '../../answers/wire.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

/** The release whose API is served. Existing clients check it. */
const API_VERSION = '25.9.1.2'

export const addStatusRoutes: AddRoutes = (app, context) => {
  const { authentication } = context
  app.get(
    '/api/status',
    async ({ request }) => {
      const isConfirmed = await authentication.isConfirmed(request)
      const principal = isConfirmed ? (await authentication.identify(request)).principal : null
      const isAdmin = principal !== null && mayAll(principal)
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
        ...(principal === null ? {} : { principal: principalRecord(principal) }),
        // How busy the server is, and with what, is nobody else's business.
        ...(isAdmin ? stateRecord(context.deps.serverState()) : {}),
      })
    },
    route({
      needs: 'nothing',
      id: 'getStatus',
      summary: 'Get version, login state and available index types',
      tag: 'Server',
      answers: { 200: { description: 'The status', schema: STATUS } },
    }),
  )
  addSettingRoutes(app, context)
  addBackupRoutes(app, context)
  app.get(
    '/api/config',
    () => Response.json({ auth: { http_auth_enabled: authentication.isOn } }),
    route({
      needs: 'login',
      id: 'getConfig',
      summary: 'Get the public settings',
      tag: 'Server',
      answers: { 200: { description: 'The settings', schema: CONFIG } },
    }),
  )
}

function principalRecord({ kind, id, name, scopes, namespaces }: Principal) {
  const projects = namespaces === null ? null : [...namespaces]
  return { kind, id, name, scopes: SCOPES.filter((scope) => scopes.has(scope)), projects }
}

function stateRecord(state: ServerState) {
  const { last } = state.backups
  return {
    ...state,
    backups: { ...state.backups, last: last === null ? null : backupRecord(last) },
  }
}

const addSettingRoutes: AddRoutes = (app, { deps }) => {
  app.get(
    '/api/settings',
    () => {
      const records = deps.shownSettings().map(({ isSecret, isSet, ...shown }) => {
        return { ...shown, is_secret: isSecret, is_set: isSet }
      })
      return Response.json(records)
    },
    route({
      needs: 'admin',
      id: 'listSettings',
      summary: 'List the settings as they are, without secrets',
      description: 'They are environment variables: a change holds after a restart.',
      tag: 'Server',
      answers: { 200: { description: 'The settings', schema: t.Array(SETTING) } },
    }),
  )
}

const addBackupRoutes: AddRoutes = (app, { deps }) => {
  const tag = 'Backups'
  app.post(
    '/api/backup',
    // Not given the request's signal: a backup goes on when the client leaves.
    async () => Response.json(backupRecord(await deps.backups.create()), { status: 201 }),
    route({
      needs: 'admin',
      id: 'createBackup',
      summary: 'Make a backup of everything, while others read and write',
      tag,
      answers: {
        201: { description: 'The backup', schema: BACKUP },
        409: 'A backup is being made already',
        507: 'No space',
      },
    }),
  )
  app.get(
    '/api/backups',
    async () => Response.json((await deps.backups.list()).map(backupRecord)),
    route({
      needs: 'admin',
      id: 'listBackups',
      summary: 'List the backups, the newest first',
      tag,
      answers: { 200: { description: 'The backups', schema: t.Array(BACKUP) } },
    }),
  )
}

function mayAll(principal: Principal): boolean {
  return mayDo(principal, 'admin') && principal.namespaces === null
}
