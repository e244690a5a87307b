/** Databases elsewhere: made, changed, checked and looked into. */

import { t } from 'elysia'
import {
  findDataSource,
  findProject,
  requireDatabase,
  requireDataSource,
} from '../../../../core/domain/access/catalog-snapshot.ts'
import type { DataSource, DataSourceDraft } from '../../../../core/domain/flow/source-parameters.ts'
import { nameKey, quote } from '../../../../core/domain/identifier.ts'
import type { ResultValue } from '../../../../core/domain/query-result.ts'
import { AppError, notFound } from '../../../../core/errors.ts'
import { isObject } from '../../../../core/json.ts'
import {
  alterDatabase,
  checkDatabase,
  createDatabase,
  type DatabaseCheck,
  type DatabaseDefinition,
  databaseDraft,
  dropDatabase,
  dropProject,
  shownParameters,
} from '../../../../query/definitions/define-database.ts'
import type { Fields } from '../../../../query/definitions/fields.ts'
import {
  CONNECTION_FAILURE,
  CONNECTION_STATUS,
  DATABASE,
  DATABASE_CHECK,
  TABLE,
  TABLE_NAME,
} from '../../answers/records/catalog-schemas.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'
import { anObject } from '../../request/schema-words.ts'

const ALL = '/api/databases'
const ONE = `${ALL}/:database_name`

const PARAMETERS = t.Optional(t.Union([anObject(), t.Null()]))
const CHECKED = t.Optional(t.Union([t.Boolean(), t.Null()]))
const CREATE = bodySchema(
  t.Object(
    {
      database: t.Object(
        { name: t.String(), engine: t.String(), parameters: PARAMETERS },
        { additionalProperties: false },
      ),
      check_connection: CHECKED,
    },
    { additionalProperties: false },
  ),
)
const CHANGE = bodySchema(
  t.Object(
    {
      database: t.Object(
        {
          name: t.Optional(t.Union([t.String(), t.Null()])),
          engine: t.Optional(t.Union([t.String(), t.Null()])),
          parameters: PARAMETERS,
        },
        { additionalProperties: false },
      ),
      check_connection: CHECKED,
    },
    { additionalProperties: false },
  ),
)
/** The parameters stand beside the engine. */
const STATUS = bodySchema(t.Object({ engine: t.String() }, { additionalProperties: true }))

const tag = 'Databases'
const missing = { 404: 'No such database' }

export const addDataSourceRoutes: AddRoutes = (app, context) => {
  const { catalog: deps } = context.deps
  app.post(
    ALL,
    async ({ request }) => {
      const { database, check_connection } = await readJson(context, request, CREATE)
      const definition = definitionOf(database)
      const { signal } = context.scopeOf(request)
      if (check_connection === true) {
        const check = await checkDraft(context, databaseDraft(definition), signal)
        // Existing clients look for the failure in the body.
        if (!check.success) return Response.json(failureRecord(check))
      }
      return Response.json(databaseRecord(await createDatabase(definition, deps)), { status: 201 })
    },
    route({
      needs: 'admin',
      id: 'createDatabase',
      summary: 'Make a database known',
      description:
        'Nothing connects, unless `check_connection` is true: where that fails, the answer is `{"status": "connection_error", "detail"}` and nothing is made.',
      tag,
      body: CREATE,
      answers: {
        200: { description: 'It does not answer; nothing was made', schema: CONNECTION_FAILURE },
        201: { description: 'The database', schema: DATABASE },
        409: 'The name is already in use',
      },
    }),
  )
  app.post(
    `${ALL}/status`,
    async ({ request }) => {
      const { engine, ...parameters } = await readJson(context, request, STATUS)
      const draft = databaseDraft({ name: 'status', engine, parameters })
      const check = await checkDraft(context, draft, context.scopeOf(request).signal)
      return Response.json(check.success ? { status: 'success' } : failureRecord(check))
    },
    route({
      needs: 'admin',
      id: 'checkNewDatabase',
      summary: 'Check the connection to a database that is not known',
      tag,
      body: STATUS,
      answers: { 200: { description: 'Whether it answers', schema: CONNECTION_STATUS } },
    }),
  )
  const change = async (request: Request, name: string, mayCreate: boolean) => {
    const { database, check_connection } = await readJson(context, request, CHANGE)
    const source = findDataSource(context.snapshot(), name)
    const parameters = fieldsOf(database.parameters)
    const { signal } = context.scopeOf(request)
    if (source === undefined && !mayCreate) throw notFound('database', name)
    if (database.name && nameKey(database.name) !== nameKey(name)) {
      throw new AppError('invalid_database', 'A database keeps its name; make another one instead')
    }
    if (source === undefined) {
      if (typeof database.engine !== 'string') {
        throw new AppError('missing_field', 'Field "engine" is required for a new database')
      }
      const definition = { name, engine: database.engine, parameters }
      if (check_connection === true)
        await requireConnection(context, databaseDraft(definition), signal)
      return Response.json(databaseRecord(await createDatabase(definition, deps)), { status: 201 })
    }
    const { engine = null } = database
    const altered = await alterDatabase(source, { engine, parameters }, deps, async (draft) => {
      if (check_connection === true) await requireConnection(context, draft, signal)
    })
    return Response.json(databaseRecord(altered))
  }
  app.put(
    ONE,
    ({ request, params }) => change(request, params.database_name, true),
    route({
      needs: 'admin',
      id: 'putDatabase',
      summary: 'Change a database, or make it known',
      description: 'Parameters that are named change, null removes them, others stay.',
      tag,
      body: CHANGE,
      answers: {
        200: { description: 'The changed database', schema: DATABASE },
        201: { description: 'The new database', schema: DATABASE },
      },
    }),
  )
  app.patch(
    ONE,
    ({ request, params }) => change(request, params.database_name, false),
    route({
      needs: 'admin',
      id: 'updateDatabase',
      summary: 'Change a database',
      tag,
      body: CHANGE,
      answers: { 200: { description: 'The changed database', schema: DATABASE }, ...missing },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      const snapshot = context.snapshot()
      const project = findProject(snapshot, params.database_name)
      if (project !== undefined) await dropProject(project, deps)
      else await dropDatabase(requireDataSource(snapshot, params.database_name), deps)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'admin',
      id: 'deleteDatabase',
      summary: 'Forget a database, or delete a project',
      description: 'What was stored of its rows stays.',
      tag,
      answers: { 204: 'Deleted', ...missing, 409: 'A job or a source reads it' },
    }),
  )
  app.post(
    `${ONE}/check`,
    async ({ request, params }) => {
      const source = requireDataSource(context.snapshot(), params.database_name)
      const check = await checkDatabase(source, deps, context.scopeOf(request).signal)
      return Response.json(checkRecord(check))
    },
    route({
      needs: 'admin',
      id: 'checkDatabase',
      summary: 'Check the connection to a database',
      tag,
      answers: {
        200: { description: 'Whether it answers, and what is wrong', schema: DATABASE_CHECK },
        ...missing,
      },
    }),
  )
  app.get(
    `${ONE}/tables`,
    async ({ request, params }) => {
      const name = requireDatabase(context.snapshot(), params.database_name)
      const rows = await rowsOf(context, request, `SHOW FULL TABLES FROM ${quote(name)}`)
      return Response.json(rows.map(([table, kind]) => ({ name: table, type: tableType(kind) })))
    },
    route({
      needs: 'read',
      id: 'listTables',
      summary: 'List the tables of a database',
      tag,
      answers: {
        200: { description: 'The tables', schema: t.Array(TABLE_NAME) },
        ...missing,
        502: 'It does not answer',
      },
    }),
  )
  app.get(
    `${ONE}/tables/:table_name`,
    async ({ request, params }) => {
      const name = requireDatabase(context.snapshot(), params.database_name)
      const path = `${quote(name)}.${quote(params.table_name)}`
      const rows = await rowsOf(context, request, `SHOW FULL COLUMNS FROM ${path}`)
      const columns = rows.map(([column, type, , isNullable]) => {
        return { name: column, type, nullable: isNullable === 'YES' }
      })
      return Response.json({ name: params.table_name, type: 'data', columns })
    },
    route({
      needs: 'read',
      id: 'getTable',
      summary: 'Get a table of a database with its columns',
      tag,
      answers: {
        200: { description: 'The table', schema: TABLE },
        404: 'No such database or table',
        502: 'It does not answer',
      },
    }),
  )
}

function definitionOf(sent: {
  readonly name: string
  readonly engine: string
  readonly parameters?: unknown
}): DatabaseDefinition {
  return { ...sent, parameters: fieldsOf(sent.parameters) }
}

function fieldsOf(sent: unknown): Fields {
  return isObject(sent) ? sent : {}
}

/** @throws AppError `source_failed` as a request that is wrong */
async function requireConnection(
  context: RouteContext,
  draft: DataSourceDraft,
  signal: AbortSignal,
): Promise<void> {
  const check = await checkDraft(context, draft, signal)
  if (check.success) return
  throw new AppError('invalid_database', check.errorMessage, { title: 'Connection error' })
}

/** Of what is not stored yet, under an id that nothing has. */
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

/** The rows of a statement of ours. */
export async function rowsOf(
  context: RouteContext,
  request: Request,
  sql: string,
): Promise<readonly (readonly ResultValue[])[]> {
  const { principal, signal } = context.scopeOf(request)
  const result = await context.deps.query({ sql, db: 'files', params: {} }, principal, signal)
  const rows: (readonly ResultValue[])[] = []
  if (result.kind === 'table') {
    for await (const batch of result.rows.batches) rows.push(...batch)
  }
  return rows
}

function tableType(kind: ResultValue | undefined): string {
  const type = String(kind).toLowerCase()
  return type === 'base table' ? 'data' : type.replaceAll(' ', '_')
}

export function databaseRecord(source: DataSource) {
  return {
    name: source.name,
    type: 'data',
    id: source.id,
    engine: source.engine,
    visible: true,
    deletable: true,
    class_type: 'sql',
    connection_data: shownParameters(source),
    created_at: source.createdAt,
    updated_at: source.updatedAt,
  }
}

export function checkRecord({ success, errorMessage }: DatabaseCheck) {
  return { success, error_message: errorMessage }
}

function failureRecord({ errorMessage }: DatabaseCheck) {
  return { status: 'connection_error', detail: errorMessage }
}
