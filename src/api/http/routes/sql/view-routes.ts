import { t } from 'elysia'
import {
  requireProject,
  requireView,
  viewsOf,
} from '../../../../core/domain/access/catalog-snapshot.ts'
import { nameKey } from '../../../../core/domain/identifier.ts'
import { AppError } from '../../../../core/errors.ts'
import { VIEW } from '../../answers/records/catalog-schemas.ts'
import { viewRecord } from '../../answers/wire.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

const ALL = '/api/projects/:project_name/views'
const ONE = `${ALL}/:view_name`

const CREATE = bodySchema(
  t.Object(
    { view: t.Object({ name: t.String(), query: t.String() }, { additionalProperties: false }) },
    { additionalProperties: false },
  ),
)
const ALTER = bodySchema(
  t.Object(
    {
      view: t.Object(
        { name: t.Optional(t.String()), query: t.String() },
        { additionalProperties: false },
      ),
    },
    { additionalProperties: false },
  ),
)

const tag = 'Views'
const missing = { 404: 'No such project or view' }

export const addViewRoutes: AddRoutes = (app, context) => {
  const { views } = context.deps
  app.get(
    ALL,
    ({ request, params }) => {
      const snapshot = context.snapshotFor(request)
      const project = requireProject(snapshot, params.project_name)
      return Response.json(viewsOf(snapshot, project).map(viewRecord))
    },
    route({
      needs: 'read',
      id: 'listViews',
      summary: 'List the views of a project',
      tag,
      answers: { 200: { description: 'The views', schema: t.Array(VIEW) }, 404: 'No such project' },
    }),
  )
  app.post(
    ALL,
    async ({ request, params: { project_name: project } }) => {
      const { view } = await readJson(context, request, CREATE)
      const { principal, signal } = context.scopeOf(request)
      const draft = { project, name: view.name, sql: view.query, database: project }
      return Response.json(viewRecord(await views.create(draft, principal, signal)), {
        status: 201,
      })
    },
    route({
      needs: 'write',
      id: 'createView',
      summary: 'Create a view',
      tag,
      body: CREATE,
      answers: {
        201: { description: 'The view', schema: VIEW },
        400: 'The query is not a valid SELECT',
        409: 'The name is already in use',
      },
    }),
  )
  addOneViewRoutes(app, context)
}

const addOneViewRoutes: AddRoutes = (app, context) => {
  const { views } = context.deps
  app.get(
    ONE,
    ({ request, params }) => {
      const view = requireView(context.snapshotFor(request), params.project_name, params.view_name)
      return Response.json(viewRecord(view))
    },
    route({
      needs: 'read',
      id: 'getView',
      summary: 'Get a view',
      tag,
      answers: { 200: { description: 'The view', schema: VIEW }, ...missing },
    }),
  )
  app.put(
    ONE,
    async ({ request, params }) => {
      const { view: sent } = await readJson(context, request, ALTER)
      const view = requireView(context.snapshot(), params.project_name, params.view_name)
      if (sent.name !== undefined && nameKey(sent.name) !== nameKey(view.name)) {
        throw new AppError('invalid_request', 'A view cannot be renamed: "name" must be its own')
      }
      const { principal, signal } = context.scopeOf(request)
      return Response.json(viewRecord(await views.alter(view, sent.query, principal, signal)))
    },
    route({
      needs: 'write',
      id: 'replaceView',
      summary: 'Replace the query of a view',
      tag,
      body: ALTER,
      answers: {
        200: { description: 'The view', schema: VIEW },
        400: 'The query is not a valid SELECT',
        ...missing,
      },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      const view = requireView(context.snapshot(), params.project_name, params.view_name)
      await context.deps.catalog.catalog.dropView(view)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'write',
      id: 'deleteView',
      summary: 'Delete a view',
      tag,
      answers: { 204: 'Deleted', ...missing },
    }),
  )
}
