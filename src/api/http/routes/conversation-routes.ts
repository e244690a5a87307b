/**
 * Stored conversations with agents. Questions are asked through `/completions` with a
 * `conversation_id`.
 */
import { completionStream } from '../../../agents/questions/completion-stream.ts'
import type {
  LiveTurns,
  TurnInProgress,
  WatchedEvent,
} from '../../../agents/questions/live-turns.ts'
import { askerOf, type Principal, requireScope } from '../../../core/domain/access/principal.ts'
import type { Agent } from '../../../core/domain/agents/agent.ts'
import type { CompletionEvent } from '../../../core/domain/agents/completion-event.ts'
import type { KeptTurn } from '../../../core/domain/ports/conversation-ports.ts'
import { recordOf } from '../answers/record-of.ts'
import {
  COMPLETION_EVENT,
  CONVERSATION,
  CONVERSATION_LIST,
  CONVERSATION_SUMMARY,
  CONVERSATION_TURN,
  TURN_IN_PROGRESS,
} from '../answers/records/agent-schemas.ts'
import { eventStream } from '../answers/streamed-response.ts'
import { nextCursor, pageBefore, paging, queryParameters } from '../bodies/query-parameters.ts'
import { type At, agentAt, resource } from './operation.ts'

const CONVERSATIONS_PATH = '/api/projects/:project_name/agents/:agent_name/conversations'
const CONVERSATION_PATH = `${CONVERSATIONS_PATH}/:conversation_id` as const
const PAGING = queryParameters(paging('Items per page'))
const BUSY = { 409: 'A question is running in this conversation' }

export const conversationOperations = resource('Agents', (api, context) => {
  const { conversations } = context.deps
  api.get(CONVERSATIONS_PATH, {
    id: 'listConversations',
    summary: 'List an agent’s conversations, most recent first',
    needs: 'ask',
    query: PAGING,
    find: readableAgentAt,
    answers: {
      200: ['`items`, and `next`: the cursor of the next page, or null', CONVERSATION_LIST],
    },
    async run({ principal, query, found: agent }) {
      const asker = askerOf(principal)
      const { items, next } = await conversations.list(agent, pageBefore(query), asker)
      return { items: items.map(summaryRecord), next: nextCursor(next) }
    },
  })
  api.get(CONVERSATION_PATH, {
    id: 'getConversation',
    summary: 'Get a conversation with its latest turns, in order',
    needs: 'ask',
    query: PAGING,
    find: readableAgentAt,
    answers: {
      200: ['The conversation, and `next`: the cursor of earlier turns, or null', CONVERSATION],
    },
    async run({ params: { conversation_id: id }, principal, query, found: agent }) {
      const page = pageBefore(query)
      return conversationRecord(await conversations.get(agent, id, page, askerOf(principal)))
    },
  })
  api.get(`${CONVERSATION_PATH}/stream`, {
    id: 'watchConversation',
    summary: 'Stream a conversation’s running question',
    description:
      'Sends all the question’s events, each with `at_ms`, the milliseconds since it was asked. Disconnecting does not cancel it.',
    needs: 'ask',
    produces: 'text/event-stream',
    find: readableAgentAt,
    answers: { 200: ['Server-sent events: `data: {json}`', COMPLETION_EVENT] },
    run({ params: { conversation_id: id }, principal, scope, signal, found: agent }) {
      const watched = conversations.watch(agent, id, askerOf(principal), signal)
      // The request that asked the question logs its failure.
      const events = completionStream(withTimes(watched), { deltas: true, onFailure: () => {} })
      return eventStream(events, scope)
    },
  })
  api.delete(CONVERSATION_PATH, {
    id: 'deleteConversation',
    summary: 'Delete a conversation',
    description: 'The traces of its questions are kept.',
    needs: 'ask',
    find: agentAt,
    answers: BUSY,
    run({ params, principal, found: agent }) {
      return conversations.remove(agent, params.conversation_id, askerOf(principal))
    },
  })
  api.delete(`${CONVERSATION_PATH}/turns/:trace_id`, {
    id: 'deleteTurns',
    summary: 'Delete a turn of a conversation and all later ones',
    description: 'Deleting the first turn deletes the conversation. Traces are kept.',
    needs: 'ask',
    find: agentAt,
    answers: BUSY,
    run({ params: { conversation_id: id, trace_id: traceId }, principal, found: agent }) {
      return conversations.removeFrom(agent, id, traceId, askerOf(principal))
    },
  })
})

/** Needs the right to read the agent, because conversations contain texts that the agent found. */
function readableAgentAt(
  place: At<'project_name' | 'agent_name'> & { readonly principal: Principal },
): Agent {
  requireScope(place.principal, 'read')
  return agentAt(place)
}

async function* withTimes(
  watched: AsyncGenerator<WatchedEvent, void>,
): AsyncGenerator<CompletionEvent, void> {
  for await (const { event, atMs } of watched) yield { ...event, at_ms: atMs }
}

type Listed = Awaited<ReturnType<LiveTurns['list']>>['items'][number]
const summaryRecord = recordOf<Listed>()(CONVERSATION_SUMMARY)

const progressRecord = recordOf<TurnInProgress>()(TURN_IN_PROGRESS, {
  seconds: (turn) => Math.round(turn.seconds * 1000) / 1000,
})

const turnRecord = recordOf<KeptTurn>()(CONVERSATION_TURN, { warnings: () => [] })

const conversationRecord = recordOf<Awaited<ReturnType<LiveTurns['get']>>>()(CONVERSATION, {
  turns: ({ turns }) => turns.map((turn) => ({ ...turnRecord(turn), ...turn.findings })),
  running: ({ running }) => running && progressRecord(running),
  next: ({ next }) => nextCursor(next),
})
