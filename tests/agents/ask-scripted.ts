/** Asks an agent whose model plays scripted turns. */
import { expect } from 'bun:test'
import type { AnswerFindings, Citation } from '../../src/core/domain/agents/completion-event.ts'
import type { TestApp } from '../support/test-app.ts'
import { chatServer, type Said } from './chat-server.ts'

export interface ScriptedQuestion {
  readonly data: {
    readonly knowledge_bases?: readonly string[]
    readonly tables?: readonly string[]
    readonly mcp?: readonly object[]
  }
  readonly turns: readonly Said[]
  readonly params?: object
  readonly question?: string
}

export interface ScriptedAnswer {
  /** What each tool answered, as the model saw it. */
  readonly seen: readonly string[]
  readonly message: AnswerFindings & {
    readonly content: string
    readonly citations: readonly Citation[]
  }
  readonly warnings: readonly string[]
  /** The model's instructions before the question. */
  readonly system: string
  /** The tools offered to the model, by name. */
  readonly tools: ReadonlyMap<string, { readonly description: string; readonly parameters: object }>
}

const AGENTS = '/api/projects/mindsdb/agents'

/** The agent of an app for each set of parameters. Another agent would start another thread. */
const agents = new WeakMap<TestApp, Map<string, string>>()

/** Makes an agent with this definition, or changes the one that the app has. */
async function defined(
  app: TestApp,
  definition: { readonly model: object; readonly data: object; readonly params: object },
): Promise<string> {
  const known = agents.get(app) ?? new Map<string, string>()
  agents.set(app, known)
  const key = JSON.stringify(definition.params)
  const name = known.get(key) ?? `agent_${crypto.randomUUID().slice(0, 8)}`
  const { status } = known.has(key)
    ? await app.send('PUT', `${AGENTS}/${name}`, { agent: definition })
    : await app.send('POST', AGENTS, { agent: { name, ...definition } })
  expect(status).toBe(known.has(key) ? 200 : 201)
  known.set(key, name)
  return name
}

export async function askScripted(
  app: TestApp,
  { data, turns, params = {}, question = 'Well?' }: ScriptedQuestion,
): Promise<ScriptedAnswer> {
  const server = chatServer(...turns)
  try {
    const model = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: server.url }
    const whole = { knowledge_bases: [], tables: [], ...data }
    const name = await defined(app, { model, data: whole, params })
    const messages = [{ role: 'user', content: question }]
    const answer = await app.send('POST', `${AGENTS}/${name}/completions`, { messages })
    expect(answer).toMatchObject({ status: 200 })
    const body = answer.body as Pick<ScriptedAnswer, 'message'> & Partial<ScriptedAnswer>
    const last = server.requests.at(-1) as {
      messages: { role: string; content: string }[]
      tools?: { function: { name: string; description: string; parameters: object } }[]
    }
    return {
      seen: last.messages
        .filter(({ role }) => role === 'tool')
        .map(({ content }) => unfenced(content)),
      message: body.message,
      warnings: body.warnings ?? [],
      system: last.messages[0]?.content ?? '',
      tools: new Map((last.tools ?? []).map(({ function: tool }) => [tool.name, tool])),
    }
  } finally {
    server.close()
  }
}

/** Returns a result without the lines that mark it as data. */
function unfenced(content: string): string {
  return /<<<data (\w+)\n(.*)\n\1 data>>>$/s.exec(content)?.[2] ?? content
}

export function calls(name: string, input: object): Said {
  return { kind: 'call', name, input }
}

export function says(...pieces: readonly string[]): Said {
  return { kind: 'text', pieces }
}
