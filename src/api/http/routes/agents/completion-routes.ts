import { completionStream } from '../../../../agents/questions/completion-stream.ts'
import type { AskedQuestion } from '../../../../agents/questions/conversations.ts'
import { responseFormatOf } from '../../../../agents/questions/response-format.ts'
import { askerOf } from '../../../../core/domain/access/principal.ts'
import { eventStream } from '../../answers/event-stream.ts'
import { ANSWER, COMPLETION_EVENT } from '../../answers/records/agent-schemas.ts'
import { answerRecord } from '../../answers/wire.ts'
import { readJson } from '../../bodies/body.ts'
import { COMPLETION, conversationOf } from '../../bodies/conversation.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'
import { type AgentPath, namedAgent } from './agent-routes.ts'

const PATH = '/api/projects/:project_name/agents/:agent_name/completions'

const tag = 'Agents'

export const addCompletionRoutes: AddRoutes = (app, context) => {
  const { agents } = context.deps
  app.post(
    PATH,
    async ({ request, params }) => {
      const question = await questionOf(context, request, params)
      const answer = await agents.complete(question, context.scopeOf(request).signal)
      return Response.json(answerRecord(answer))
    },
    route({
      needs: 'ask',
      id: 'askAgent',
      summary: 'Ask an agent',
      tag,
      body: COMPLETION,
      answers: {
        200: { description: 'The answer', schema: ANSWER },
        404: 'No such project, agent or conversation',
        409: 'The conversation has a question under way, or is full',
        504: 'Out of time',
      },
    }),
  )
  app.post(
    `${PATH}/stream`,
    async ({ request, params }) => {
      const question = await questionOf(context, request, params)
      const scope = context.scopeOf(request)
      const events = completionStream(agents.ask(question, scope.signal), {
        deltas: question.deltas,
        onFailure: (failure, traceId) => {
          scope.failure = failure.code
          const error = failure.cause ?? failure
          context.deps.logError({ requestId: scope.id, traceId, error })
        },
      })
      return eventStream(events, scope)
    },
    route({
      needs: 'ask',
      id: 'streamAgent',
      summary: 'Ask an agent and watch its steps',
      tag,
      body: COMPLETION,
      answers: {
        200: { description: 'Chunks of data: {json}', schema: COMPLETION_EVENT },
        404: 'No such project, agent or conversation',
        409: 'The conversation has a question under way, or is full',
      },
      produces: 'text/event-stream',
    }),
  )
}

async function questionOf(
  context: RouteContext,
  request: Request,
  path: AgentPath,
): Promise<AskedQuestion> {
  // 404 before the body is read, and again after it: the agent may change meanwhile.
  namedAgent(context, path)
  const body = await readJson(context, request, COMPLETION)
  const conversation = conversationOf(body.messages)
  const answerForm = responseFormatOf(body.response_format)
  return {
    ...conversation,
    agent: namedAgent(context, path),
    asker: askerOf(context.scopeOf(request).principal),
    deltas: body.stream_options?.deltas ?? false,
    isBackground: body.background ?? false,
    traceParent: request.headers.get('traceparent') ?? undefined,
    ...(answerForm === undefined ? {} : { answerForm }),
    ...(typeof body.conversation_id === 'string' ? { conversationId: body.conversation_id } : {}),
  }
}
