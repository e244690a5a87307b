/** Conversations with agents that are kept. A question of one is asked by `/completions` with its `conversation_id`. */

import { completionStream } from '../../../../agents/questions/completion-stream.ts'
import type { TurnInProgress, WatchedEvent } from '../../../../agents/questions/live-turn.ts'
import { askerOf, requireScope } from '../../../../core/domain/access/principal.ts'
import type { CompletionEvent } from '../../../../core/domain/agents/completion-event.ts'
import type {
  ConversationSummary,
  KeptTurn,
  Page,
} from '../../../../core/domain/ports/conversation-ports.ts'
import { eventStream } from '../../answers/event-stream.ts'
import { COMPLETION_EVENT } from '../../answers/records/agent-schemas.ts'
import { CONVERSATION, CONVERSATION_LIST } from '../../answers/records/conversation-schemas.ts'
import { cursor, queryParameters, wholeNumber } from '../../bodies/query-parameters.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'
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
      const records = items.map((item) => {
        return { ...summaryRecord(item), is_running: item.isRunning }
      })
      return Response.json({ items: records, next: nextOf(next) })
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
      const { summary, turns, running, next } = found
      const record = { ...summaryRecord(found), summary, turns: turns.map(turnRecord) }
      return Response.json({
        ...record,
        running: running === null ? null : progressRecord(running),
        next: nextOf(next),
      })
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
  addWatchRoute(app, context)
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

/** What is being answered, for a second window and for a page that was loaded again. */
const addWatchRoute: AddRoutes = (app, context) => {
  app.get(
    `${ONE}/stream`,
    async ({ request, params }) => {
      const scope = context.scopeOf(request)
      requireScope(scope.principal, 'read')
      const agent = namedAgent(context, params)
      const asker = askerOf(scope.principal)
      const watched = context.deps.conversations.watch(
        agent,
        params.conversation_id,
        asker,
        scope.signal,
      )
      // A failure is logged by whoever asked.
      const events = completionStream(withTimes(watched), { deltas: true, onFailure: () => {} })
      return eventStream(events, scope)
    },
    route({
      needs: 'ask',
      id: 'watchConversation',
      summary: 'Watch the question of a conversation that is being answered, from its beginning',
      description:
        'The events of its stream with at_ms, milliseconds since it was asked. Leaving does not end it',
      tag,
      answers: {
        200: { description: 'Chunks of data: {json}', schema: COMPLETION_EVENT },
        404: 'No such project, agent or conversation, or none of its questions is being answered',
      },
      produces: 'text/event-stream',
    }),
  )
}

async function* withTimes(
  watched: AsyncGenerator<WatchedEvent, void>,
): AsyncGenerator<CompletionEvent, void> {
  for await (const { event, atMs } of watched) yield { ...event, at_ms: atMs }
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

function progressRecord({ traceId, question, startedAt, seconds }: TurnInProgress) {
  return {
    trace_id: traceId,
    question,
    started_at: startedAt,
    seconds: Math.round(seconds * 1000) / 1000,
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
    ...(turn.findings ?? { warnings: [] }),
    started_at: turn.startedAt,
    ended_at: turn.endedAt,
  }
}
