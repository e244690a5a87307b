/** Projects, their contents, and views. */
import { t } from 'elysia'
import { ofProject, requireView } from '../../../core/domain/access/catalog-snapshot.ts'
import { requireNamespace } from '../../../core/domain/access/principal.ts'
import { nameKey } from '../../../core/domain/names.ts'
import { AppError } from '../../../core/errors.ts'
import { mapConcurrent } from '../../../core/runtime/serial-queue.ts'
import { createProject, dropProject } from '../../../query/definitions/define-database.ts'
import { AGENT } from '../answers/records/agent-schemas.ts'
import { PROJECT, SCHEDULE, VIEW } from '../answers/records/catalog-schemas.ts'
import { KNOWLEDGE_BASE } from '../answers/records/knowledge-base-schemas.ts'
import { agentRecord, projectRecord, viewRecord } from '../answers/wire.ts'
import { bodySchema } from '../bodies/body.ts'
import { integer, named, strict } from '../request/schema-words.ts'
import { scheduleRecord } from './job-routes.ts'
import { shownKnowledgeBase } from './knowledge-base-routes.ts'
import { type At, projectAt, resource } from './operation.ts'

const PROJECT_PATH = '/api/projects/:project_name'
const VIEWS_PATH = `${PROJECT_PATH}/views` as const
const VIEW_PATH = `${VIEWS_PATH}/:view_name` as const

const NEW_PROJECT = strict({ name: t.String() })
const PROJECT_TO_CREATE = bodySchema(strict({ project: NEW_PROJECT }))
/** A body without the wrapper object is accepted too. */
const CREATE_FLAT = bodySchema(
  strict({ name: t.Optional(t.String()), project: t.Optional(NEW_PROJECT) }),
)

export const projectOperations = resource('Projects', (api, { deps }) => {
  api.get('/api/projects', {
    id: 'listProjects',
    summary: 'List the projects',
    answers: { 200: ['The projects', t.Array(PROJECT)] },
    run: ({ snapshot }) => snapshot.projects.map(projectRecord),
  })
  api.post('/api/projects', {
    id: 'createProject',
    summary: 'Create a project',
    body: CREATE_FLAT,
    answers: { 201: ['The project', PROJECT], 409: 'The name is already in use' },
    async run({ request, body: sent, principal }) {
      const name = sent.name ?? PROJECT_TO_CREATE.check(sent, request.method).project.name
      requireNamespace(principal, name)
      return projectRecord(await createProject(name, deps.catalog))
    },
  })
  api.get(PROJECT_PATH, {
    id: 'getProject',
    summary: 'Get a project',
    find: projectAt,
    answers: { 200: ['The project', PROJECT] },
    run: ({ found }) => projectRecord(found),
  })
  api.delete(PROJECT_PATH, {
    id: 'deleteProject',
    summary: 'Delete a project and everything in it',
    find: projectAt,
    run: ({ found }) => dropProject(found, deps.catalog),
  })
})

/** Without the view's statement, which may be long or name something the caller may not see. */
const LISTED_VIEW = named('ListedView', { id: integer(), name: t.String(), project: t.String() })

export const CATALOG = t.Array(
  named('ProjectContents', {
    project: PROJECT,
    knowledge_bases: t.Array(KNOWLEDGE_BASE),
    agents: t.Array(AGENT),
    views: t.Array(LISTED_VIEW),
    jobs: t.Array(SCHEDULE, { description: 'Scheduled jobs' }),
  }),
)

/** For how many knowledge bases warnings are read in parallel. */
const READ_AT_ONCE = 4

/** The whole catalog in one answer, without a request per project. */
export const catalogOperations = resource('Projects', (api, context) => {
  api.get('/api/catalog', {
    id: 'getCatalog',
    summary: 'List the projects, each with its knowledge bases, agents, views and jobs',
    description: 'Returns everything in one response, including views but not their statements.',
    answers: { 200: ['The projects and their contents', CATALOG] },
    async run({ snapshot, principal, signal }) {
      const { store } = context.deps.schedulesFor(principal)
      const scheduled = Map.groupBy(store.list(), (one) => one.projectId)
      const bounds = { concurrencyMax: READ_AT_ONCE, signal }
      const shown = await mapConcurrent(snapshot.knowledgeBases, bounds, async (kb) => {
        return [kb.id, await shownKnowledgeBase(context, kb, principal)] as const
      })
      const records = new Map(shown)
      return snapshot.projects.map((project) => ({
        project: projectRecord(project),
        knowledge_bases: ofProject(snapshot.knowledgeBases, project).flatMap(
          ({ id }) => records.get(id) ?? [],
        ),
        agents: ofProject(snapshot.agents, project).map((agent) => agentRecord(agent)),
        views: ofProject(snapshot.views, project).map(({ id, name }) => {
          return { id, name, project: project.name }
        }),
        jobs: (scheduled.get(project.id) ?? []).map(scheduleRecord),
      }))
    },
  })
})

const CREATE_VIEW = bodySchema(strict({ view: strict({ name: t.String(), query: t.String() }) }))
const ALTER_VIEW = bodySchema(
  strict({ view: strict({ name: t.Optional(t.String()), query: t.String() }) }),
)
const NO_SELECT = 'The query is not a valid SELECT'

export const viewOperations = resource('Views', (api, { deps }) => {
  const { views } = deps
  const viewAt = ({ params, snapshot }: At<'project_name' | 'view_name'>) => {
    return requireView(snapshot, params.project_name, params.view_name)
  }
  api.get(VIEWS_PATH, {
    id: 'listViews',
    summary: 'List the views of a project',
    answers: { 200: ['The views', t.Array(VIEW)] },
    find: projectAt,
    run: ({ found, snapshot }) => ofProject(snapshot.views, found).map(viewRecord),
  })
  api.post(VIEWS_PATH, {
    id: 'createView',
    summary: 'Create a view',
    body: CREATE_VIEW,
    answers: { 201: ['The view', VIEW], 400: NO_SELECT, 409: 'The name is already in use' },
    async run({ params: { project_name: project }, body: { view }, principal, signal }) {
      const draft = { project, name: view.name, sql: view.query, database: project }
      return viewRecord(await views.create(draft, principal, signal))
    },
  })
  api.get(VIEW_PATH, {
    id: 'getView',
    summary: 'Get a view',
    answers: { 200: ['The view', VIEW] },
    find: viewAt,
    run: ({ found }) => viewRecord(found),
  })
  api.put(VIEW_PATH, {
    id: 'replaceView',
    summary: 'Replace a view’s query',
    find: viewAt,
    body: ALTER_VIEW,
    answers: { 200: ['The view', VIEW], 400: NO_SELECT },
    async run({ found: view, body: { view: sent }, principal, signal }) {
      if (sent.name !== undefined && nameKey(sent.name) !== nameKey(view.name)) {
        throw new AppError('invalid_request', 'A view cannot be renamed: "name" must not change')
      }
      return viewRecord(await views.alter(view, sent.query, principal, signal))
    },
  })
  api.delete(VIEW_PATH, {
    id: 'deleteView',
    summary: 'Delete a view',
    find: viewAt,
    run: ({ found: view }) => deps.catalog.catalog.dropView(view),
  })
})
