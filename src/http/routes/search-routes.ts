import { requireKnowledgeBase } from '../../domain/catalog-snapshot.ts'
import { readJson } from '../body.ts'
import { type AddRoutes, snapshotOf } from '../edge.ts'
import { route } from '../openapi.ts'
import { SEARCH, searchOrder, searchRecord } from '../search-body.ts'

export const addSearchRoutes: AddRoutes = (app, edge) => {
  app.post(
    '/api/projects/:project_name/knowledge_bases/:knowledge_base_name/search',
    async ({ request, params }) => {
      const { project_name, knowledge_base_name } = params
      const kb = requireKnowledgeBase(snapshotOf(edge), project_name, knowledge_base_name)
      const sent = await readJson(edge, request, SEARCH)
      const { signal } = edge.scopeOf(request)
      const answer = await edge.deps.search(kb, searchOrder(sent), signal)
      return Response.json(searchRecord(answer, sent.columns ?? null))
    },
    route({
      summary: 'Search a knowledge base',
      tag: 'Knowledge bases',
      body: SEARCH,
      answers: { 200: 'The chunks that fit best', 404: 'No such project or knowledge base' },
    }),
  )
}
