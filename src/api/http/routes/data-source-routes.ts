import { t } from 'elysia'
import {
  type CatalogSnapshot,
  findDataSource,
  findProject,
  requireDatabase,
  requireDataSource,
} from '../../../core/domain/access/catalog-snapshot.ts'
import type { DataSource, DataSourceDraft } from '../../../core/domain/flow/source-parameters.ts'
import { nameKey, quote } from '../../../core/domain/names.ts'
import type { ResultValue } from '../../../core/domain/query-result.ts'
import { AppError, notFound } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'
import {
  alterDatabase,
  checkDatabase,
  createDatabase,
  type DatabaseCheck,
  databaseDraft,
  dropDatabase,
  dropProject,
  shownParameters,
} from '../../../query/definitions/define-database.ts'
import type { Fields } from '../../../query/definitions/fields.ts'
import { recordOf } from '../answers/record-of.ts'
import {
  CONNECTION_FAILURE,
  CONNECTION_STATUS,
  DATABASE,
  DATABASE_CHECK,
  TABLE,
  TABLE_NAME,
} from '../answers/records/catalog-schemas.ts'
import { bodySchema } from '../bodies/body.ts'
import type { RouteContext } from '../request/route-context.ts'
import { anObject, maybe, open, strict } from '../request/schema-words.ts'
import { resource } from './operation.ts'

const DATABASES_PATH = '/api/databases'
const DATABASE_PATH = `${DATABASES_PATH}/:database_name` as const

const PARAMETERS = maybe(anObject())
const CHECKED = maybe(t.Boolean())
const NEW_DATABASE = bodySchema(
  strict({
    database: strict({ name: t.String(), engine: t.String(), parameters: PARAMETERS }),
    check_connection: CHECKED,
  }),
)
const CHANGE = bodySchema(
  strict({
    database: strict({
      name: maybe(t.String()),
      engine: maybe(t.String()),
      parameters: PARAMETERS,
    }),
    check_connection: CHECKED,
  }),
)
/** The parameters are fields next to the engine. */
const STATUS = bodySchema(open({ engine: t.String() }))

export const dataSourceOperations = resource('Databases', (api, context) => {
  const { catalog: deps } = context.deps
  api.post(DATABASES_PATH, {
    id: 'createDatabase',
    summary: 'Connect a database',
    description:
      'Stores the connection without testing it. With `check_connection`, a failure returns `{"status": "connection_error", "detail"}` and stores nothing.',
    needs: 'admin',
    body: NEW_DATABASE,
    answers: {
      200: ['The database does not respond; nothing was stored', CONNECTION_FAILURE],
      201: ['The database', DATABASE],
      409: 'The name is already in use',
    },
    async run({ body: { database, check_connection }, signal }) {
      const definition = { ...database, parameters: databaseFields(database.parameters) }
      if (check_connection === true) {
        const check = await checkDraft(context, databaseDraft(definition), signal)
        // Existing clients expect the failure in the body.
        if (!check.success) return failureRecord(check)
      }
      return Response.json(databaseRecord(await createDatabase(definition, deps)), { status: 201 })
    },
  })
  api.post(`${DATABASES_PATH}/status`, {
    id: 'checkNewDatabase',
    summary: 'Test a connection before storing it',
    needs: 'admin',
    body: STATUS,
    answers: { 200: ['Whether the database responds', CONNECTION_STATUS] },
    async run({ body: { engine, ...parameters }, signal }) {
      const draft = databaseDraft({ name: 'status', engine, parameters })
      const check = await checkDraft(context, draft, signal)
      return check.success ? { status: 'success' } : failureRecord(check)
    },
  })
  const change = async ({ params, snapshot, body, signal }: Change, mayCreate: boolean) => {
    const { database, check_connection: isChecked } = body
    const { database_name: name } = params
    const source = findDataSource(snapshot, name)
    const parameters = databaseFields(database.parameters)
    if (source === undefined && !mayCreate) throw notFound('database', name)
    if (database.name && nameKey(database.name) !== nameKey(name)) {
      throw new AppError('invalid_database', 'A database cannot be renamed; create another one')
    }
    const check = async (draft: DataSourceDraft) => {
      if (isChecked === true) await requireConnection(context, draft, signal)
    }
    if (source === undefined) {
      if (typeof database.engine !== 'string') {
        throw new AppError('missing_field', 'Field "engine" is required for a new database')
      }
      const definition = { name, engine: database.engine, parameters }
      await check(databaseDraft(definition))
      return Response.json(databaseRecord(await createDatabase(definition, deps)), { status: 201 })
    }
    const { engine = null } = database
    return databaseRecord(await alterDatabase(source, { engine, parameters }, deps, check))
  }
  api.put(DATABASE_PATH, {
    id: 'putDatabase',
    summary: 'Change or connect a database',
    description: 'Changes the parameters you send; null removes one.',
    needs: 'admin',
    body: CHANGE,
    answers: { 200: ['The changed database', DATABASE], 201: ['The new database', DATABASE] },
    run: (call) => change(call, true),
  })
  api.patch(DATABASE_PATH, {
    id: 'updateDatabase',
    summary: 'Change a database',
    needs: 'admin',
    body: CHANGE,
    answers: { 200: ['The changed database', DATABASE] },
    run: (call) => change(call, false),
  })
  api.delete(DATABASE_PATH, {
    id: 'deleteDatabase',
    summary: 'Disconnect a database, or delete a project',
    description: 'Rows copied from it are kept.',
    needs: 'admin',
    answers: { 409: 'A job or a source uses it' },
    async run({ params, snapshot }) {
      const project = findProject(snapshot, params.database_name)
      if (project !== undefined) await dropProject(project, deps)
      else await dropDatabase(requireDataSource(snapshot, params.database_name), deps)
    },
  })
  api.post(`${DATABASE_PATH}/check`, {
    id: 'checkDatabase',
    summary: 'Test the connection to a database',
    needs: 'admin',
    answers: { 200: ['Whether the database responds, and the error if not', DATABASE_CHECK] },
    async run({ params, snapshot, signal }) {
      const source = requireDataSource(snapshot, params.database_name)
      return checkRecord(await checkDatabase(source, deps, signal))
    },
  })
  api.get(`${DATABASE_PATH}/tables`, {
    id: 'listTables',
    summary: 'List the tables of a database',
    answers: { 200: ['The tables', t.Array(TABLE_NAME)], 502: 'The database does not respond' },
    async run({ request, params, snapshot }) {
      const name = requireDatabase(snapshot, params.database_name)
      const rows = await statusRows(context, request, `SHOW FULL TABLES FROM ${quote(name)}`)
      return rows.map(([table, kind]) => ({ name: table, type: tableType(kind) }))
    },
  })
  api.get(`${DATABASE_PATH}/tables/:table_name`, {
    id: 'getTable',
    summary: 'Get a table of a database with its columns',
    answers: { 200: ['The table', TABLE], 502: 'The database does not respond' },
    async run({ request, params, snapshot }) {
      const name = requireDatabase(snapshot, params.database_name)
      const path = `${quote(name)}.${quote(params.table_name)}`
      const rows = await statusRows(context, request, `SHOW FULL COLUMNS FROM ${path}`)
      const columns = rows.map(([column, type, , isNullable]) => {
        return { name: column, type, nullable: isNullable === 'YES' }
      })
      return { name: params.table_name, type: 'data', columns }
    },
  })
})

interface Change {
  readonly params: { readonly database_name: string }
  readonly snapshot: CatalogSnapshot
  readonly body: ReturnType<typeof CHANGE.check>
  readonly signal: AbortSignal
}

function databaseFields(sent: unknown): Fields {
  return isObject(sent) ? sent : {}
}

/** @throws AppError `source_failed`, reported as a mistake in the request */
async function requireConnection(
  context: RouteContext,
  draft: DataSourceDraft,
  signal: AbortSignal,
): Promise<void> {
  const check = await checkDraft(context, draft, signal)
  if (check.success) return
  throw new AppError('invalid_database', check.errorMessage, { title: 'Connection error' })
}

/** Checks a source that is not saved, under an unused id. */
async function checkDraft(
  context: RouteContext,
  draft: DataSourceDraft,
  signal: AbortSignal,
): Promise<DatabaseCheck> {
  const { catalog: deps } = context.deps
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1))
  const source: DataSource = { ...draft, id: -1 - random, createdAt: '', updatedAt: '' }
  try {
    return await checkDatabase(source, deps, signal)
  } finally {
    await deps.sources.forget(source)
  }
}

export async function statusRows(
  context: RouteContext,
  request: Request,
  sql: string,
): Promise<readonly (readonly ResultValue[])[]> {
  const { principal, signal } = context.scopeOf(request)
  const result = await context.deps.query({ sql, db: 'files', params: {} }, principal, signal)
  return result.kind === 'table' ? (await Array.fromAsync(result.rows.batches)).flat() : []
}

function tableType(kind: ResultValue | undefined): string {
  const type = String(kind).toLowerCase()
  return type === 'base table' ? 'data' : type.replaceAll(' ', '_')
}

export const databaseRecord = recordOf<DataSource>()(DATABASE, {
  ...{ type: () => 'data', visible: () => true, deletable: () => true, class_type: () => 'sql' },
  connection_data: shownParameters,
  connection_status: () => undefined,
})

export const checkRecord = recordOf<DatabaseCheck>()(DATABASE_CHECK)

function failureRecord({ errorMessage }: DatabaseCheck) {
  return { status: 'connection_error', detail: errorMessage }
}
