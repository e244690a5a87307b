/** What each knowledge base takes of memory and disk. */
import { requireProject } from '../../../../core/domain/access/catalog-snapshot.ts'
import { nameKey } from '../../../../core/domain/identifier.ts'
import type { KnowledgeBaseUsage } from '../../../../core/domain/server-state.ts'
import { USAGE_LIST } from '../../answers/records/server-schemas.ts'
import { queryParameters, text, truth, wholeNumber } from '../../bodies/query-parameters.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

const QUERY = queryParameters({
  project: text({ description: 'Those of a project' }),
  without_disk: truth({
    description: 'Leaves out the disk, which takes longest to count: it is null',
  }),
  limit: wholeNumber({ min: 1, max: 1000, unset: 100, description: 'At most so many' }),
  offset: wholeNumber({
    ...{ min: 0, max: Number.MAX_SAFE_INTEGER, isCut: true, unset: 0 },
    description: 'Leaves out so many: `next` of the page before',
  }),
})

export const addUsageRoutes: AddRoutes = (app, context) => {
  app.get(
    '/api/usage',
    async ({ request }) => {
      const { project, limit, offset, without_disk: isWithoutDisk } = QUERY.read(request)
      const snapshot = context.snapshotFor(request)
      if (project !== undefined) requireProject(snapshot, project)
      const wanted = snapshot.knowledgeBases.filter(({ projectName }) => {
        return project === undefined || nameKey(projectName) === nameKey(project)
      })
      const page = wanted.slice(offset, offset + limit)
      const { signal } = context.scopeOf(request)
      const used = await context.deps.usage(page, { signal, isDiskWanted: !isWithoutDisk })
      const end = offset + page.length
      const next = end < wanted.length ? end : null
      return Response.json({ items: used.map(usageRecord), total: wanted.length, next })
    },
    route({
      needs: 'read',
      id: 'listUsage',
      summary: 'List what each knowledge base takes of memory and disk',
      description:
        'As it is now, right after inserts and deletes. The disk counts whole blocks of the database file: what was deleted gives them back with the next clean-up or VACUUM.',
      tag: 'Server',
      query: QUERY,
      answers: { 200: { description: 'A page of them', schema: USAGE_LIST } },
    }),
  )
}

function usageRecord({ disk, vectors, rowBytes, index, ...kb }: KnowledgeBaseUsage) {
  return {
    ...{ project: kb.project, knowledge_base: kb.knowledgeBase },
    ...{ documents: kb.documentCount, chunks: kb.chunkCount, dimensions: kb.dimensions },
    disk: disk && { texts: disk.texts, vectors: disk.vectors, keywords: disk.keywords },
    memory: { vectors: vectors.bytes, rows: rowBytes },
    vectors: { copy: vectors.kind, count: vectors.count },
    index: { type: index.type, state: index.state, detail: index.detail },
  }
}
