/** A server with OpenAI's API that replays its turns for each question, with usage, and what a question to an agent needs. */
import type { TestApp } from '../support/test-app.ts'

export type Turn =
  | { readonly text: string; readonly reasoning?: string }
  | { readonly tool: string; readonly input: object }
  | { readonly status: number; readonly message: string }

export interface PlayedModel {
  readonly url: string
  close(): void
}

const USAGE = {
  prompt_tokens: 1000,
  completion_tokens: 100,
  total_tokens: 1100,
  prompt_tokens_details: { cached_tokens: 400 },
}

/** The number of assistant messages in a request decides the turn. */
export function playedModel(...turns: readonly Turn[]): PlayedModel {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { messages } = (await request.json()) as { messages: readonly { role: string }[] }
      const turn = turns[messages.filter(({ role }) => role === 'assistant').length]
      if (turn === undefined) return new Response('no turn left', { status: 500 })
      if ('status' in turn) {
        return Response.json({ error: { message: turn.message } }, { status: turn.status })
      }
      const body = chunksOf(turn)
        .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
        .join('')
      return new Response(`${body}data: [DONE]\n\n`, {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/v1`, close: () => void server.stop(true) }
}

function chunksOf(turn: Exclude<Turn, { status: number }>): readonly object[] {
  const chunk = (delta: object, finish_reason: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason }]
    return { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices }
  }
  const usage = { ...chunk({}), choices: [], usage: USAGE }
  if ('text' in turn) {
    const { reasoning = '' } = turn
    const thought = reasoning === '' ? [] : [chunk({ reasoning_content: reasoning })]
    return [...thought, chunk({ content: turn.text }), chunk({}, 'stop'), usage]
  }
  const called = {
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: turn.tool, arguments: JSON.stringify(turn.input) },
  }
  return [chunk({ tool_calls: [called] }), chunk({}, 'tool_calls'), usage]
}

export const AGENTS = '/api/projects/mindsdb/agents'

export async function createAgent(app: TestApp, name: string, model: object): Promise<void> {
  const agent = { name, model, data: { knowledge_bases: ['mindsdb.docs'] } }
  const { status, text } = await app.send('POST', AGENTS, { agent })
  if (status !== 201) throw new Error(text)
}

/** @returns the ID of the trace, also for a failed run */
export async function ask(
  app: TestApp,
  name: string,
  question: string,
  headers?: HeadersInit,
): Promise<string> {
  const body = { messages: [{ question, answer: null }] }
  const { text } = await app.send('POST', `${AGENTS}/${name}/completions/stream`, body, headers)
  return /"trace_id":"([^"]+)"/.exec(text)?.[1] ?? ''
}
