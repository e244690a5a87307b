import {
  alterKnowledgeBase,
  createKnowledgeBase,
  dropKnowledgeBase,
} from '../../catalog/knowledge-base-definitions.ts'
import {
  knowledgeBasesOf,
  requireKnowledgeBase,
  requireProject,
} from '../../domain/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { type AddRoutes, type Edge, readJson, snapshotOf } from '../edge.ts'
import {
  CREATE_KNOWLEDGE_BASE,
  knowledgeBaseUpdate,
  UPDATE_KNOWLEDGE_BASE,
} from '../knowledge-base-body.ts'
import { route } from '../openapi.ts'
import { knowledgeBaseRecord } from '../wire.ts'

const LIST = '/api/projects/:project_name/knowledge_bases'
const ONE = `${LIST}/:knowledge_base_name` as const

const tag = 'Knowledge bases'
const missing = { 404: 'No such project or knowledge base' }

interface KnowledgeBasePath {
  readonly project_name: string
  readonly knowledge_base_name: string
}

function named(edge: Edge, path: KnowledgeBasePath): KnowledgeBase {
  return requireKnowledgeBase(snapshotOf(edge), path.project_name, path.knowledge_base_name)
}

function recordOf({ deps }: Edge, kb: KnowledgeBase) {
  return knowledgeBaseRecord(kb, deps.catalog.reembeddings.progressOf(kb))
}

export const addKnowledgeBaseRoutes: AddRoutes = (app, edge) => {
  addListRoutes(app, edge)
  addOneRoutes(app, edge)
}

const addListRoutes: AddRoutes = (app, edge) => {
  app.get(
    LIST,
    ({ params }) => {
      const snapshot = snapshotOf(edge)
      const project = requireProject(snapshot, params.project_name)
      return Response.json(knowledgeBasesOf(snapshot, project).map((kb) => recordOf(edge, kb)))
    },
    route({
      summary: 'List the knowledge bases of a project',
      tag,
      answers: { 200: 'Their records', 404: 'No such project' },
    }),
  )
  app.post(
    LIST,
    async ({ request, params }) => {
      requireProject(snapshotOf(edge), params.project_name)
      const sent = await readJson(edge, request, CREATE_KNOWLEDGE_BASE)
      const { catalog } = edge.deps
      const kb = await createKnowledgeBase(params.project_name, sent.knowledge_base, catalog)
      return Response.json(recordOf(edge, kb), { status: 201 })
    },
    route({
      summary: 'Create a knowledge base',
      tag,
      body: CREATE_KNOWLEDGE_BASE,
      answers: { 201: 'Its record', 404: 'No such project', 409: 'The name is taken' },
    }),
  )
}

const addOneRoutes: AddRoutes = (app, edge) => {
  app.get(
    ONE,
    ({ params }) => Response.json(recordOf(edge, named(edge, params))),
    route({ summary: 'Read a knowledge base', tag, answers: { 200: 'Its record', ...missing } }),
  )
  app.put(
    ONE,
    async ({ request, params }) => {
      named(edge, params)
      const sent = await readJson(edge, request, UPDATE_KNOWLEDGE_BASE)
      await update(edge, named(edge, params), {
        ...knowledgeBaseUpdate(sent.knowledge_base),
        signal: edge.scopeOf(request).signal,
      })
      return Response.json('')
    },
    route({
      summary: 'Insert into a knowledge base, or alter it',
      tag,
      body: UPDATE_KNOWLEDGE_BASE,
      answers: { 200: 'Stored; an empty JSON string', ...missing },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await dropKnowledgeBase(named(edge, params), edge.deps.catalog)
      return new Response(null, { status: 204 })
    },
    route({
      summary: 'Delete a knowledge base with its chunks',
      tag,
      answers: { 204: 'Deleted', ...missing },
    }),
  )
}

type Update = ReturnType<typeof knowledgeBaseUpdate> & { readonly signal: AbortSignal }

/** The definition first: rows that come with another chunk size are cut by it. */
async function update(edge: Edge, kb: KnowledgeBase, wanted: Update): Promise<void> {
  const { deps } = edge
  const { definition, insert, signal } = wanted
  const isAltered = Object.keys(definition).length > 0
  const target = isAltered ? await alterKnowledgeBase(kb, definition, deps.catalog) : kb
  if (insert !== null) await deps.insert(target, insert, signal)
}
