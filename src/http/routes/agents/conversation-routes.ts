/** Conversations with agents that are kept. A question of one is asked by `/completions` with its `conversation_id`. */

import { askerOf, requireScope } from '../../../domain/access/principal.ts'
import type {
  ConversationSummary,
  KeptTurn,
  Page,
} from '../../../domain/ports/conversation-ports.ts'
import { CONVERSATION, CONVERSATION_LIST } from '../../answers/records/agent-schemas.ts'
import { cursor, queryParameters, wholeNumber } from '../../bodies/query-parameters.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../route-context.ts'
import { namedAgent } from './agent-routes.ts'

const ALL = '/api/projects/:project_name/agents/:agent_name/conversations'
const ONE = `${ALL}/:conversation_id` as const

const tag = 'Agents'
const missing = { 404: 'No such project, agent or conversation' }
const PAGING = queryParameters({
  limit: wholeNumber({ min: 1, max: 1000, unset: 50, description: 'Items of a page' }),
  cursor: cursor(),
})

export const addConversationRoutes: AddRoutes = (app, context) => {
  const { conversations } = context.deps
  const askerIn = (request: Request) => askerOf(context.scopeOf(request).principal)
  /** Texts that the agent found stand in them. */
  const requireReader = (request: Request) => {
    requireScope(context.scopeOf(request).principal, 'read')
  }
  app.get(
    ALL,
    async ({ request, params }) => {
      requireReader(request)
      const agent = namedAgent(context, params)
      const { items, next } = await conversations.list(agent, pageOf(request), askerIn(request))
      return Response.json({ items: items.map(summaryRecord), next: nextOf(next) })
    },
    route({
      needs: 'ask',
      id: 'listConversations',
      summary: 'List the conversations with an agent that are kept, the one asked last first',
      tag,
      query: PAGING,
      answers: {
        200: {
          description: 'items, next (the cursor of the rest, or null)',
          schema: CONVERSATION_LIST,
        },
        404: 'No such project or agent',
      },
    }),
  )
  app.get(
    ONE,
    async ({ request, params }) => {
      requireReader(request)
      const agent = namedAgent(context, params)
      const found = await conversations.get(
        agent,
        params.conversation_id,
        pageOf(request),
        askerIn(request),
      )
      const { summary, turns, next } = found
      const record = { ...summaryRecord(found), summary, turns: turns.map(turnRecord) }
      return Response.json({ ...record, next: nextOf(next) })
    },
    route({
      needs: 'ask',
      id: 'getConversation',
      summary: 'Get a conversation: its newest turns, the oldest of them first',
      tag,
      query: PAGING,
      answers: {
        200: {
          description: 'The conversation, next (the cursor of the turns before, or null)',
          schema: CONVERSATION,
        },
        ...missing,
      },
    }),
  )
  app.delete(
    ONE,
    async ({ request, params }) => {
      const agent = namedAgent(context, params)
      await conversations.remove(agent, params.conversation_id, askerIn(request))
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'ask',
      id: 'deleteConversation',
      summary: 'Delete a conversation',
      description: 'Traces of its questions stay',
      tag,
      answers: { 204: 'Deleted', ...missing, 409: 'One of its questions is being answered' },
    }),
  )
  app.delete(
    `${ONE}/turns/:trace_id`,
    async ({ request, params }) => {
      const { conversation_id: id, trace_id: traceId } = params
      const asker = askerIn(request)
      await conversations.removeFrom(namedAgent(context, params), id, traceId, asker)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'ask',
      id: 'deleteTurns',
      summary: 'Delete a turn of a conversation and those after it, to ask otherwise',
      description: 'Of the first turn: the conversation. Traces stay',
      tag,
      answers: {
        204: 'Deleted',
        404: 'No such project, agent, conversation or turn',
        409: 'One of its questions is being answered',
      },
    }),
  )
}

/** @throws AppError `unknown_field`, `invalid_request` */
function pageOf(request: Request): Page {
  const { limit, cursor: before } = PAGING.read(request)
  return { limit, before: before === undefined ? null : Number(before) }
}

function nextOf(next: number | null): string | null {
  return next === null ? null : String(next)
}

function summaryRecord(found: ConversationSummary) {
  return {
    conversation_id: found.conversationId,
    title: found.title,
    turn_count: found.turnCount,
    started_at: found.startedAt,
    ended_at: found.endedAt,
  }
}

function turnRecord(turn: KeptTurn) {
  return {
    question: turn.question,
    answer: turn.answer,
    outcome: turn.outcome,
    error_code: turn.errorCode,
    trace_id: turn.traceId,
    citations: turn.citations,
    started_at: turn.startedAt,
    ended_at: turn.endedAt,
  }
}
