/**
 * A chat model like those of real providers: it searches first, then writes what it found with its
 * source, and counts tokens.
 */
export interface WritingModel {
  readonly url: string
  /** Every body that it received. */
  readonly requests: readonly Asked[]
  close(): void
}

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

const USAGE = { prompt_tokens: 50, completion_tokens: 10, total_tokens: 60 }

/** @param statement the statement with which it searches */
export function writingModel(statement: string): WritingModel {
  const requests: Asked[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const asked = (await request.json()) as Asked
      requests.push(asked)
      return new Response(eventsOf(asked, statement), {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    requests,
    close: () => void server.stop(true),
  }
}

function eventsOf({ messages }: Asked, statement: string): string {
  const found = messages.findLast(({ role }) => role === 'tool')
  const system = String(messages.find(({ role }) => role === 'system')?.content ?? '')
  const isForm = system.includes('The form of the answer')
  const chunkId = /\d*[\w-]+:content:\d+of\d+:\d+to\d+/.exec(String(found?.content ?? ''))?.[0]
  const chunk = (delta: object, finish_reason: string | null = null) => {
    return {
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason }],
    }
  }
  const input = JSON.stringify({ sql_query: statement })
  const call = {
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: 'kb_query_tool', arguments: input },
  }
  const answer = isForm
    ? ['{"origin": "South', ' Africa", "caffeine": false}']
    : ['Rooibos comes from ', `South Africa [${chunkId ?? 'nothing'}].`]
  const chunks =
    found === undefined
      ? [chunk({ role: 'assistant', tool_calls: [call] }), chunk({}, 'tool_calls')]
      : [...answer.map((content) => chunk({ content })), chunk({}, 'stop')]
  const usage = { ...chunk({}), choices: [], usage: USAGE }
  return `${[...chunks, usage].map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`
}
