/** Agents: questions and their streamed answers, stored conversations, runs and traces. */
import type { CompletionEvent } from '../../core/domain/agents/completion-event.ts'
import type {
  Conversation,
  ConversationList,
  RunningQuestion,
  Trace,
  TraceList,
} from './records.ts'
import { bodyOf, path, request, requestStream } from './request.ts'
import { linesOf } from './sql.ts'

export interface AgentName {
  readonly project: string
  readonly name: string
}

const agentPath = ({ project, name }: AgentName) => path`/api/projects/${project}/agents/${name}`

/** Set for a kept conversation: its id, or `new` to start one. Missing: nothing is kept. */
export interface Question extends AgentName {
  readonly text: string
  readonly conversationId?: string | undefined
}

/**
 * Asks, and reports events as they happen. In a conversation the server answers to the end, even if clients leave;
 * otherwise aborting ends the run on the server.
 * @returns whether the stream came to its end; false: it was cut off
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
 * Follows a question being answered in a conversation, from its start. Aborting stops only the following.
 * @returns whether the stream came to its end
 * @throws ApiError: 404 if nothing is running
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
      // The shape of the server's events.
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

/** @param cursor leads to the turns before those of a page; none: the newest */
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

/** Deletes a turn and those after it. */
export function deleteTurnsFrom(agent: AgentName, id: string, traceId: string): Promise<void> {
  const address = `${agentPath(agent)}${path`/conversations/${id}/turns/${traceId}`}`
  return request(address, { method: 'DELETE' })
}

export function listRuns(signal: AbortSignal): Promise<readonly RunningQuestion[]> {
  return request('/api/agents/runs', { signal })
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

export function readTrace(traceId: string, signal: AbortSignal): Promise<Trace> {
  return request(path`/api/traces/${traceId}`, { signal })
}

/** Replaces any earlier rating of this answer. */
export function rateTrace(
  traceId: string,
  feedback: { readonly rating: number; readonly comment?: string },
): Promise<void> {
  return request(path`/api/traces/${traceId}/feedback`, { method: 'POST', json: feedback })
}
