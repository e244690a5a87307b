import type { AgentQuestion } from '../../agents/agent-question.ts'
import { COMPLETION, conversationOf } from '../conversation.ts'
import { type AddRoutes, type Edge, logStreamFailure, readJson } from '../edge.ts'
import { eventStream } from '../event-stream.ts'
import { route } from '../openapi.ts'
import { answerRecord } from '../wire.ts'
import { type AgentPath, namedAgent } from './agent-routes.ts'

const PATH = '/api/projects/:project_name/agents/:agent_name/completions'

const tag = 'Agents'

export const addCompletionRoutes: AddRoutes = (app, edge) => {
  const { agents } = edge.deps
  app.post(
    PATH,
    async ({ request, params }) => {
      const question = await questionOf(edge, request, params)
      const answer = await agents.complete(question, edge.scopeOf(request).signal)
      return Response.json(answerRecord(answer))
    },
    route({
      summary: 'Ask an agent',
      tag,
      body: COMPLETION,
      answers: { 200: 'The answer', 404: 'No such project or agent', 504: 'Out of time' },
    }),
  )
  app.post(
    `${PATH}/stream`,
    async ({ request, params }) => {
      const question = await questionOf(edge, request, params)
      const scope = edge.scopeOf(request)
      return eventStream(agents.ask(question, scope.signal), {
        scope,
        deltas: question.deltas,
        onFailure: logStreamFailure(edge, scope),
      })
    },
    route({
      summary: 'Ask an agent and watch its steps',
      tag,
      body: COMPLETION,
      answers: { 200: 'Chunks of data: {json}', 404: 'No such project or agent' },
      produces: 'text/event-stream',
    }),
  )
}

async function questionOf(edge: Edge, request: Request, path: AgentPath): Promise<AgentQuestion> {
  namedAgent(edge, path)
  const { messages, stream_options } = await readJson(edge, request, COMPLETION)
  const conversation = conversationOf(messages)
  return { ...conversation, agent: namedAgent(edge, path), deltas: stream_options?.deltas ?? false }
}
