/**
 * The server's version, state, health, metrics, settings and backups, and the sizes of knowledge
 * bases.
 */
import { t } from 'elysia'
import { requireProject } from '../../../core/domain/access/catalog-snapshot.ts'
import { mayDo, type Principal, SCOPES } from '../../../core/domain/access/principal.ts'
import { nameKey } from '../../../core/domain/names.ts'
import type {
  HealthChecks,
  KnowledgeBaseUsage,
  ServerState,
  ShownSetting,
} from '../../../core/domain/server-state.ts'
import { AppError, type ErrorCode } from '../../../core/errors.ts'
import { recordOf } from '../answers/record-of.ts'
import { BACKUP } from '../answers/records/catalog-schemas.ts'
import {
  CONFIG,
  HEALTH,
  PING,
  READINESS,
  SETTING,
  STATUS,
  USAGE,
  USAGE_LIST,
} from '../answers/records/server-schemas.ts'
import { backupRecord } from '../answers/wire.ts'
import { offsetPaging, pageFrom, queryParameters, text, truth } from '../bodies/query-parameters.ts'
import { errorResponse } from '../request/error-response.ts'
import type { RouteContext } from '../request/route-context.ts'
import { resource } from './operation.ts'

/** The MindsDB release whose API this is. Existing clients check it. */
const API_VERSION = '25.9.1.2'

export const statusOperations = resource('Server', (api, { authentication, deps }) => {
  api.get('/api/status', {
    id: 'getStatus',
    summary: 'Get version, login state and available index types',
    needs: 'nothing',
    answers: { 200: ['The status', STATUS] },
    async run({ request }) {
      const isConfirmed = await authentication.isConfirmed(request)
      const principal = isConfirmed ? (await authentication.identify(request)).principal : null
      const isAdmin =
        principal !== null && mayDo(principal, 'admin') && principal.namespaces === null
      return {
        mindsdb_version: API_VERSION,
        eider_version: deps.settings.version,
        environment: 'local',
        auth: {
          confirmed: isConfirmed,
          http_auth_enabled: authentication.isOn,
          provider: authentication.isOn ? 'local' : 'disabled',
        },
        indexes: deps.indexes.possible(),
        ...(principal === null ? {} : { principal: principalRecord(principal) }),
        // Only admins may see how busy the server is, and with what.
        ...(isAdmin ? stateRecord(deps.serverState()) : {}),
      }
    },
  })
  api.get('/api/settings', {
    id: 'listSettings',
    summary: 'List the settings, without secrets',
    description: 'Settings are environment variables. Changes take effect after a restart.',
    needs: 'admin',
    answers: { 200: ['The settings', t.Array(SETTING)] },
    run: () => deps.shownSettings().map(settingRecord),
  })
  api.get('/api/config', {
    id: 'getConfig',
    summary: 'Get the public settings',
    needs: 'login',
    answers: { 200: ['The settings', CONFIG] },
    run: () => ({ auth: { http_auth_enabled: authentication.isOn } }),
  })
})

const settingRecord = recordOf<ShownSetting>()(SETTING)

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

export const backupOperations = resource('Backups', (api, { deps }) => {
  api.post('/api/backup', {
    id: 'createBackup',
    summary: 'Back up everything',
    needs: 'admin',
    answers: {
      201: ['The backup', BACKUP],
      409: 'A backup is already running',
      507: 'Not enough disk space',
    },
    // Without the request's signal, because a backup continues if the client disconnects.
    run: async () => backupRecord(await deps.backups.create()),
  })
  api.get('/api/backups', {
    id: 'listBackups',
    summary: 'List the backups, newest first',
    needs: 'admin',
    answers: { 200: ['The backups', t.Array(BACKUP)] },
    run: async () => (await deps.backups.list()).map(backupRecord),
  })
})

const WHAT_FAILS: Readonly<Record<keyof HealthChecks, string>> = {
  database: 'the database does not answer',
  disk: 'the disk of the data folder is full: writes fail, but reads still work',
}

export const healthOperations = resource('Server', (api, context) => {
  const { deps } = context
  api.get('/metrics', {
    id: 'getMetrics',
    summary: 'Get metrics for Prometheus',
    description:
      'Returns counts, durations, sizes and queues, without names chosen by users. Send `Accept: application/openmetrics-text` for OpenMetrics. If the server has a login, this needs `admin` or EIDER_METRICS_OPEN=1.',
    needs: deps.settings.metricsOpen ? 'nothing' : 'admin',
    produces: 'text/plain',
    answers: {
      200: {
        description: 'The metrics',
        schema: t.String(),
        also: { 'application/openmetrics-text': t.String() },
      },
    },
    async run({ request }) {
      const { contentType, text } = await deps.metrics.page(request.headers.get('accept'))
      const headers = { 'content-type': contentType, 'cache-control': 'no-store' }
      return new Response(text, { headers })
    },
  })
  api.get('/api/util/ping', {
    id: 'ping',
    summary: 'Check that the process answers (liveness)',
    description: 'For supervisors that restart the server. It never fails while the process runs.',
    needs: 'nothing',
    answers: { 200: ['The process answers', PING] },
    run: () => ({ status: 'ok' }),
  })
  api.get('/healthz', {
    id: 'getHealth',
    summary: 'Check that the database answers and the disk is not full (health)',
    description:
      'For alerts: a failure lasts until an operator acts. A restart does not free disk space, so supervisors should call `/api/util/ping`.',
    needs: 'nothing',
    answers: { 200: ['The server is healthy', HEALTH], 503: 'The problem' },
    async run() {
      const checks = await deps.health()
      const failing = failingOf(checks, context)
      if (failing.length === 0) return { status: 'ok', checks }
      // Not thrown, so that a check every few seconds does not fill the log.
      const error = new AppError('unhealthy', `Not healthy: ${failing.join('; ')}`)
      return errorResponse(error, deps.now())
    },
  })
  api.get('/api/util/readiness', {
    id: 'getReadiness',
    summary: 'Check that the server accepts requests (readiness)',
    description: 'A full disk is only a warning here, because reads still work.',
    needs: 'login',
    answers: {
      200: ['Ready for requests', READINESS],
      503: 'The server is shutting down, or the database does not respond',
    },
    run: () => readiness(context),
  })
})

async function readiness({ deps, isReady }: RouteContext) {
  if (!isReady()) throw new AppError('shutting_down', 'The server is shutting down')
  const { database, disk } = await deps.health()
  if (database !== 'ok') {
    return errorResponse(new AppError('unhealthy', WHAT_FAILS.database), deps.now())
  }
  const warnings: readonly ErrorCode[] = ['storage_full']
  return disk === 'ok' ? '' : { warnings }
}

function failingOf(checks: HealthChecks, context: RouteContext): readonly string[] {
  const failing = (['database', 'disk'] as const)
    .filter((name) => checks[name] !== 'ok')
    .map((name) => WHAT_FAILS[name])
  return context.isReady() ? failing : ['the server is shutting down', ...failing]
}

const USED = queryParameters({
  project: text({ description: 'Knowledge bases of this project' }),
  without_disk: truth({
    description: 'Leave out disk usage, which is slow to count; it is then null',
  }),
  ...offsetPaging({ min: 1, description: 'Maximum number of items' }),
})

export const usageOperations = resource('Server', (api, context) => {
  api.get('/api/usage', {
    id: 'listUsage',
    summary: 'List the memory and disk usage of each knowledge base',
    description:
      'Current values. Disk usage is in whole blocks of the database file. Blocks of deleted rows are freed by the next clean-up or VACUUM.',
    query: USED,
    answers: { 200: ['A page of knowledge bases', USAGE_LIST] },
    async run({ snapshot, query: { project, without_disk: isWithoutDisk, ...paging }, signal }) {
      if (project !== undefined) requireProject(snapshot, project)
      const wanted = snapshot.knowledgeBases.filter(({ projectName }) => {
        return project === undefined || nameKey(projectName) === nameKey(project)
      })
      const { items, ...page } = pageFrom(wanted, paging)
      const used = await context.deps.usage(items, { signal, isDiskWanted: !isWithoutDisk })
      return { items: used.map(usageRecord), ...page }
    },
  })
})

const usageRecord = recordOf<KnowledgeBaseUsage>()(USAGE, {
  documents: (kb) => kb.documentCount,
  chunks: (kb) => kb.chunkCount,
  memory: ({ vectors, rowBytes }) => ({ vectors: vectors.bytes, rows: rowBytes }),
  vectors: ({ vectors }) => ({ copy: vectors.kind, count: vectors.count }),
})
