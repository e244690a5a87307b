import { createTestApp, type TestApp, type TestAppOptions } from '../../support/test-app.ts'

/** A reply, a status that refuses, or null for no answer. */
export type Reply = string | number | null

export interface AskedModel {
  /** The first message. */
  readonly system: string
  /** The last message. */
  readonly prompt: string
}

export type EvaluatedRow = Readonly<Record<string, unknown>>

export interface EvaluatedAnswer {
  readonly rows: readonly EvaluatedRow[]
  readonly warnings: readonly string[]
}

/**
 * The product with the agent `mindsdb.helper`. A test decides what its model says. The same model
 * also judges.
 */
export interface AgentEvaluation {
  readonly app: TestApp
  /** The model's fields in SQL. */
  readonly model: string
  /** What the model was asked, in the order of arrival. */
  readonly asked: readonly AskedModel[]
  /** The largest number of questions that were answered at the same time. */
  readonly atOnceMax: () => number
  replies(reply: (asked: AskedModel, turn: number) => Reply | Promise<Reply>): void
  /** Runs `EVALUATE AGENT helper USING …`. @throws Error with the statement's message */
  evaluate(options: string, params?: Readonly<Record<string, unknown>>): Promise<EvaluatedAnswer>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export const KEY = 'sk-a-secret-of-the-test'

export async function openAgentEvaluation(options: TestAppOptions = {}): Promise<AgentEvaluation> {
  const asked: AskedModel[] = []
  let replyTo: (asked: AskedModel, turn: number) => Reply | Promise<Reply> = () => 'nothing'
  let open = 0
  let atOnce = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      open += 1
      atOnce = Math.max(atOnce, open)
      try {
        // The body of a chat request has messages, the first of which is the system's.
        const body = (await request.json()) as {
          readonly stream?: boolean
          readonly messages: readonly { readonly content: string }[]
        }
        const [first, last] = [body.messages[0]?.content ?? '', body.messages.at(-1)?.content ?? '']
        const question = { system: first, prompt: last }
        asked.push(question)
        const reply = await replyTo(question, asked.length)
        if (typeof reply === 'string') return answered(reply, body.stream === true)
        if (reply !== null) return Response.json({ error: { message: 'no' } }, { status: reply })
        await new Promise<void>((resolve) => {
          request.signal.addEventListener('abort', () => resolve(), { once: true })
        })
        return new Response(null, { status: 500 })
      } finally {
        open -= 1
      }
    },
  })
  const url = `http://127.0.0.1:${server.port}/v1`
  const fields = { provider: 'openai', model_name: 'm', api_key: KEY, base_url: url }
  const model = JSON.stringify(fields)
  const app = await createTestApp(options)
  await app.send('POST', '/api/sql/query', { query: `CREATE AGENT helper USING model = ${model}` })
  const close = async () => {
    await app.close()
    await server.stop(true)
  }
  return {
    app,
    model,
    asked,
    atOnceMax: () => atOnce,
    replies(reply) {
      replyTo = reply
    },
    evaluate: (sent, params) => evaluated(app, `EVALUATE AGENT helper USING ${sent}`, params),
    close,
    [Symbol.asyncDispose]: close,
  }
}

export async function evaluated(
  app: TestApp,
  query: string,
  params: Readonly<Record<string, unknown>> = {},
): Promise<EvaluatedAnswer> {
  const { body } = await app.send('POST', '/api/sql/query', { query, params })
  const answer = body as {
    readonly column_names?: readonly string[]
    readonly data?: readonly (readonly unknown[])[]
    readonly warnings?: readonly string[]
    readonly error_message?: string
  }
  if (answer.error_message !== undefined) throw new Error(answer.error_message)
  const { column_names: names = [], data = [], warnings = [] } = answer
  const rows = data.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])))
  return { rows, warnings }
}

/** Returns `(SELECT * FROM (VALUES …) AS t(…))`, a statement with questions. */
export function questions(columns: string, rows: readonly (readonly (string | null)[])[]): string {
  const literal = (value: string | null) => {
    return value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`
  }
  const values = rows.map((row) => `(${row.map(literal).join(', ')})`)
  return `questions = (SELECT * FROM (VALUES ${values.join(', ')}) AS t(${columns}))`
}

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

function answered(content: string, isStream: boolean): Response {
  const head = { id: 'c', created: 1, model: 'm' }
  if (!isStream) {
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
    return Response.json({ ...head, object: 'chat.completion', choices, usage: USAGE })
  }
  const object = 'chat.completion.chunk'
  const chunks = [
    { ...head, object, choices: [{ index: 0, delta: { role: 'assistant', content } }] },
    { ...head, object, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...head, object, choices: [], usage: USAGE },
  ]
  const lines = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  return new Response(`${lines.join('')}data: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })
}
