/** Agents: questions and their streamed answers, stored conversations, runs and traces. */
import type { CompletionEvent } from '../../core/domain/agents/completion-event.ts'
import type { Agent, Conversation, ConversationList, TraceList } from './records.ts'
import { ApiError, bodyOf, path, request, requestStream } from './request.ts'
import { linesOf } from './sql.ts'

export interface AgentName {
  readonly project: string
  readonly name: string
}

const agentPath = ({ project, name }: AgentName) => path`/api/projects/${project}/agents/${name}`

/** Unless one with this name exists. @throws ApiError */
export async function ensureAgent(
  { project, name }: AgentName,
  data: Agent['data'],
): Promise<void> {
  const json = { agent: { name, data } }
  try {
    await request(path`/api/projects/${project}/agents`, { method: 'POST', json })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'agent_exists')) throw error
  }
}

/** The id of a stored conversation, or `new` to start one. If missing, nothing is stored. */
export interface Question extends AgentName {
  readonly text: string
  readonly conversationId?: string | undefined
}

/**
 * Asks a question and reports its events. In a conversation, the server completes the answer even
 * if clients leave; otherwise, aborting stops it on the server.
 * @returns whether the stream ended normally; false if it was cut off
 * @throws ApiError
 */
export async function askAgent(
  question: Question,
  tell: (event: CompletionEvent) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const { text, conversationId } = question
  const json = {
    messages: [{ role: 'user', content: text }],
    stream_options: { deltas: true },
    ...(conversationId === undefined ? {} : { conversation_id: conversationId, background: true }),
  }
  const address = `${agentPath(question)}/completions/stream`
  return told(await requestStream(address, { method: 'POST', json, signal }), tell)
}

/**
 * Watches a question that is being answered in a conversation, from its start. Aborting only stops
 * watching.
 * @returns whether the stream ended normally
 * @throws ApiError 404 if no question is running
 */
export async function watchAnswer(
  agent: AgentName,
  conversationId: string,
  tell: (event: CompletionEvent) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const address = `${agentPath(agent)}${path`/conversations/${conversationId}/stream`}`
  return told(await requestStream(address, { signal }), tell)
}

function told(response: Response, tell: (event: CompletionEvent) => void): Promise<boolean> {
  return bodyOf(response, async () => {
    for await (const line of linesOf(response)) {
      if (!line.startsWith('data: ')) continue
      // The server's events have this form.
      const event = JSON.parse(line.slice(6)) as CompletionEvent
      if ('type' in event && event.type === 'end') return true
      tell(event)
    }
    return false
  })
}

export function listConversations(
  agent: AgentName,
  limit: number,
  signal: AbortSignal,
): Promise<ConversationList> {
  return request(`${agentPath(agent)}/conversations?limit=${limit}`, { signal })
}

/** @param cursor from a page, to read the turns before it; empty for the newest page */
export function readConversation(
  agent: AgentName,
  id: string,
  { cursor, signal }: { readonly cursor?: string; readonly signal?: AbortSignal },
): Promise<Conversation> {
  const query = new URLSearchParams({ limit: '50', ...(cursor === undefined ? {} : { cursor }) })
  const address = `${agentPath(agent)}${path`/conversations/${id}`}?${query}`
  return request(address, signal === undefined ? {} : { signal })
}

export function deleteConversation(agent: AgentName, id: string): Promise<void> {
  return request(`${agentPath(agent)}${path`/conversations/${id}`}`, { method: 'DELETE' })
}

export function deleteTurnsFrom(agent: AgentName, id: string, traceId: string): Promise<void> {
  const address = `${agentPath(agent)}${path`/conversations/${id}/turns/${traceId}`}`
  return request(address, { method: 'DELETE' })
}

export function cancelRun(traceId: string): Promise<void> {
  return request(path`/api/agents/runs/${traceId}`, { method: 'DELETE' })
}

export function listTraces(
  filters: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<TraceList> {
  return request(`/api/traces?${new URLSearchParams(filters)}`, { signal })
}

/** Replaces any earlier rating of this answer. */
export function rateTrace(traceId: string, rating: number): Promise<void> {
  return request(path`/api/traces/${traceId}/feedback`, { method: 'POST', json: { rating } })
}
