/** OpenAI's `/v1/models`: agents, and knowledge bases that the default agent answers from. */
import { t } from 'elysia'
import { modelsFor, type NamedModel, requireModel } from '../../openai/named-models.ts'
import { resource } from '../../openapi/operation.ts'

const MODEL = t.Object({
  id: t.String({ description: 'project.name' }),
  object: t.Literal('model'),
  created: t.Integer({ description: 'Seconds since 1970' }),
  owned_by: t.String({ description: 'The project' }),
  name: t.String(),
  kind: t.Union([t.Literal('agent'), t.Literal('knowledge_base')]),
})
const MODELS = t.Object({ object: t.Literal('list'), data: t.Array(MODEL) })

export const modelOperations = resource('OpenAI', (api, context) => {
  api.get('/v1/models', {
    id: 'listModels',
    summary: 'List what can be asked: agents and knowledge bases',
    needs: 'login',
    answers: { 200: ['Those that the key may ask', MODELS] },
    run({ principal }) {
      const data = modelsFor(context.snapshot(), principal).map(modelRecord)
      return { object: 'list', data }
    },
  })
  api.get('/v1/models/:model', {
    id: 'getModel',
    summary: 'Get an agent or knowledge base as a model',
    needs: 'login',
    answers: { 200: ['The model', MODEL] },
    run: ({ params, principal }) =>
      modelRecord(requireModel(context.snapshot(), principal, params.model)),
  })
})

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
