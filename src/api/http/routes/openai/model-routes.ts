/** OpenAI's `/v1/models`: agents, and knowledge bases that the default agent answers from. */
import { t } from 'elysia'
import { modelsFor, type NamedModel, requireModel } from '../../openai/named-models.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

const MODEL = t.Object({
  id: t.String({ description: 'project.name' }),
  object: t.Literal('model'),
  created: t.Integer({ description: 'Seconds since 1970' }),
  owned_by: t.String({ description: 'The project' }),
  name: t.String(),
  kind: t.Union([t.Literal('agent'), t.Literal('knowledge_base')]),
})
const MODELS = t.Object({ object: t.Literal('list'), data: t.Array(MODEL) })

const tag = 'OpenAI'

export const addModelRoutes: AddRoutes = (app, context) => {
  app.get(
    '/v1/models',
    ({ request }) => {
      const { principal } = context.scopeOf(request)
      const data = modelsFor(context.snapshot(), principal).map(modelRecord)
      return Response.json({ object: 'list', data })
    },
    route({
      needs: 'login',
      id: 'listModels',
      summary: 'List what can be asked: agents and knowledge bases',
      tag,
      answers: { 200: { description: 'Those that the key may ask', schema: MODELS } },
    }),
  )
  app.get(
    '/v1/models/:model',
    ({ request, params }) => {
      const { principal } = context.scopeOf(request)
      return Response.json(modelRecord(requireModel(context.snapshot(), principal, params.model)))
    },
    route({
      needs: 'login',
      id: 'getModel',
      summary: 'Get an agent or knowledge base as a model',
      tag,
      answers: { 200: { description: 'The model', schema: MODEL }, 404: 'No such model' },
    }),
  )
}

function modelRecord({ id, kind, agent }: NamedModel) {
  return {
    id,
    object: 'model',
    created: Math.floor(Date.parse(`${agent.createdAt.slice(0, 19)}Z`) / 1000),
    owned_by: agent.projectName,
    // Open WebUI shows it in the place of the id.
    name: id,
    kind,
  }
}
