import { t } from 'elysia'
import { requireProject } from '../../../core/domain/access/catalog-snapshot.ts'
import { requireNamespace } from '../../../core/domain/access/principal.ts'
import { createProject, dropProject } from '../../../query/definitions/define-database.ts'
import { PROJECT } from '../answers/records/catalog-schemas.ts'
import { projectRecord } from '../answers/wire.ts'
import { bodySchema, readJson } from '../bodies/body.ts'
import { route } from '../openapi/openapi.ts'
import type { AddRoutes } from '../request/route-context.ts'

const NEW_PROJECT = t.Object({ name: t.String() }, { additionalProperties: false })
const CREATE = bodySchema(t.Object({ project: NEW_PROJECT }, { additionalProperties: false }))
/** The name without its wrapper is understood, too. */
const CREATE_FLAT = bodySchema(
  t.Object(
    { name: t.Optional(t.String()), project: t.Optional(NEW_PROJECT) },
    { additionalProperties: false },
  ),
)

const tag = 'Projects'

export const addProjectRoutes: AddRoutes = (app, context) => {
  app.get(
    '/api/projects',
    ({ request }) => Response.json(context.snapshotFor(request).projects.map(projectRecord)),
    route({
      needs: 'read',
      id: 'listProjects',
      summary: 'List the projects',
      tag,
      answers: { 200: { description: 'The projects', schema: t.Array(PROJECT) } },
    }),
  )
  app.post(
    '/api/projects',
    async ({ request }) => {
      const sent = await readJson(context, request, CREATE_FLAT)
      const name = sent.name ?? CREATE.check(sent, request.method).project.name
      requireNamespace(context.scopeOf(request).principal, name)
      return Response.json(projectRecord(await createProject(name, context.deps.catalog)), {
        status: 201,
      })
    },
    route({
      needs: 'write',
      id: 'createProject',
      summary: 'Create a project',
      tag,
      body: CREATE_FLAT,
      answers: {
        201: { description: 'The project', schema: PROJECT },
        409: 'The name is already in use',
      },
    }),
  )
  app.get(
    '/api/projects/:project_name',
    ({ params }) => {
      return Response.json(projectRecord(requireProject(context.snapshot(), params.project_name)))
    },
    route({
      needs: 'read',
      id: 'getProject',
      summary: 'Get a project',
      tag,
      answers: { 200: { description: 'The project', schema: PROJECT }, 404: 'No such project' },
    }),
  )
  app.delete(
    '/api/projects/:project_name',
    async ({ params }) => {
      const project = requireProject(context.snapshot(), params.project_name)
      await dropProject(project, context.deps.catalog)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'write',
      id: 'deleteProject',
      summary: 'Delete a project and everything in it',
      tag,
      answers: { 204: 'Deleted', 404: 'No such project' },
    }),
  )
}
