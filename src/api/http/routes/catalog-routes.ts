/** Everything that has a name, at once: what a client would otherwise ask each project for. */
import { t } from 'elysia'
import {
  agentsOf,
  knowledgeBasesOf,
  viewsOf,
} from '../../../core/domain/access/catalog-snapshot.ts'
import { mapConcurrent } from '../../../core/runtime/serial-queue.ts'
import { AGENT } from '../answers/records/agent-schemas.ts'
import { PROJECT, SCHEDULE } from '../answers/records/catalog-schemas.ts'
import { KNOWLEDGE_BASE } from '../answers/records/knowledge-base-schemas.ts'
import { agentRecord, projectRecord } from '../answers/wire.ts'
import { route } from '../openapi/openapi.ts'
import type { AddRoutes } from '../request/route-context.ts'
import { shownKnowledgeBase } from './knowledge-bases/knowledge-base-routes.ts'
import { scheduleRecord } from './schedule-routes.ts'

/** Without its statement, which may be long, and may name what not everybody may see. */
const LISTED_VIEW = t.Object(
  { id: t.Integer(), name: t.String(), project: t.String() },
  { $id: 'ListedView' },
)

export const CATALOG = t.Array(
  t.Object(
    {
      project: PROJECT,
      knowledge_bases: t.Array(KNOWLEDGE_BASE),
      agents: t.Array(AGENT),
      views: t.Array(LISTED_VIEW),
      jobs: t.Array(SCHEDULE, { description: 'Those that run by themselves' }),
    },
    { $id: 'ProjectContents' },
  ),
)

/** Of knowledge bases: what they warn of stands in the database, which others read, too. */
const READ_AT_ONCE = 4

export const addCatalogRoutes: AddRoutes = (app, context) => {
  app.get(
    '/api/catalog',
    async ({ request }) => {
      const snapshot = context.snapshotFor(request)
      const scheduled = Map.groupBy(context.deps.schedules.store.list(), (one) => one.projectId)
      const bounds = { concurrencyMax: READ_AT_ONCE, signal: context.scopeOf(request).signal }
      const shown = await mapConcurrent(snapshot.knowledgeBases, bounds, async (kb) => {
        return [kb.id, await shownKnowledgeBase(context, kb)] as const
      })
      const records = new Map(shown)
      const contents = snapshot.projects.map((project) => ({
        project: projectRecord(project),
        knowledge_bases: knowledgeBasesOf(snapshot, project).flatMap(
          ({ id }) => records.get(id) ?? [],
        ),
        agents: agentsOf(snapshot, project).map((agent) => agentRecord(agent)),
        views: viewsOf(snapshot, project).map(({ id, name }) => ({
          id,
          name,
          project: project.name,
        })),
        jobs: (scheduled.get(project.id) ?? []).map(scheduleRecord),
      }))
      return Response.json(contents)
    },
    route({
      needs: 'read',
      id: 'getCatalog',
      summary: 'List the projects, each with its knowledge bases, agents, views and jobs',
      description:
        'In one answer what the lists of each project say; views without their statements.',
      tag: 'Projects',
      answers: { 200: { description: 'The projects with what is in them', schema: CATALOG } },
    }),
  )
}
