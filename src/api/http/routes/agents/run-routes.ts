/** Questions to agents that are under way. What is over is a trace. */
import { t } from 'elysia'
import type { RunningQuestion } from '../../../../agents/questions/running-questions.ts'
import {
  askerOf,
  mayName,
  maySeeAsked,
  requireScope,
} from '../../../../core/domain/access/principal.ts'
import { runNotFound } from '../../../../core/domain/agents/agent-run.ts'
import { RUNNING_QUESTION } from '../../answers/records/agent-schemas.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

const ALL = '/api/agents/runs'

const tag = 'Agents'

export const addRunRoutes: AddRoutes = (app, { deps: { agents }, scopeOf }) => {
  const runsOf = (request: Request) => {
    const { principal } = scopeOf(request)
    const asker = askerOf(principal)
    return agents.runs().filter(({ projectName, askedBy }) => {
      return mayName(principal, projectName) && maySeeAsked(asker, askedBy)
    })
  }
  app.get(
    ALL,
    ({ request }) => {
      requireScope(scopeOf(request).principal, 'read')
      return Response.json(runsOf(request).map(runRecord))
    },
    route({
      needs: 'ask',
      id: 'listRunningQuestions',
      summary: 'List the questions that are being answered or wait',
      description:
        'Each with its trace_id, agent and project, the beginning of the question, its state (waiting, running), ' +
        'the steps so far, the seconds since it was asked, and the model',
      tag,
      answers: {
        200: { description: 'The questions, the oldest first', schema: t.Array(RUNNING_QUESTION) },
      },
    }),
  )
  app.delete(
    `${ALL}/:trace_id`,
    ({ request, params }) => {
      const isSeen = runsOf(request).some(({ traceId }) => traceId === params.trace_id)
      if (!isSeen) throw runNotFound(params.trace_id)
      agents.cancelRun(params.trace_id)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'ask',
      id: 'cancelQuestion',
      summary: 'Cancel a question: its stream ends with an error',
      description:
        'The call of the model and the running SQL are ended. Whoever asked gets the error "cancelled"',
      tag,
      answers: { 204: 'Cancelled', 404: 'No such question is running or waiting' },
    }),
  )
}

function runRecord({ traceId, agentName, projectName, model, ...run }: RunningQuestion) {
  const { question, state, steps, seconds } = run
  return {
    trace_id: traceId,
    agent: agentName,
    project: projectName,
    question,
    state,
    steps,
    seconds: Math.round(seconds * 1000) / 1000,
    model: { provider: model.provider, model_name: model.modelName },
  }
}
