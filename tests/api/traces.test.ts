import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { AGENTS, ask, createAgent, type PlayedModel, playedModel } from './traces-fixture.ts'

const KEY = 'sk-test-5e1f0a9c7b3d'
const SQL = "SELECT chunk_content FROM docs WHERE content = 'days' LIMIT 1"

let app: TestApp
let model: PlayedModel

beforeAll(async () => {
  app = await createTestApp()
  await run('CREATE KNOWLEDGE_BASE docs')
  await run("INSERT INTO docs (id, content) VALUES ('7', 'You may return it in 30 days')")
})
afterAll(() => app.close())

beforeEach(async () => {
  model = playedModel(
    { tool: 'kb_query_tool', input: { sql_query: SQL } },
    { text: 'In 30 days.', reasoning: 'I read it.' },
  )
  await createAgent(app, 'helper', {
    provider: 'openai',
    model_name: 'gpt-4.1',
    api_key: KEY,
    base_url: model.url,
  })
})

afterEach(async () => {
  const { body } = await app.send('GET', AGENTS)
  for (const { name } of body as { name: string }[]) await app.send('DELETE', `${AGENTS}/${name}`)
  await app.send('DELETE', '/api/traces?all=true')
  model.close()
})

async function run(query: string): Promise<void> {
  const { body } = await app.send('POST', '/api/sql/query', { query })
  expect(body).toMatchObject({ type: 'ok' })
}

async function traceOf(id: string): Promise<Record<string, unknown>> {
  const { status, body } = await app.send('GET', `/api/traces/${id}`)
  expect(status).toBe(200)
  return body as Record<string, unknown>
}

async function listed(query = ''): Promise<Record<string, unknown>[]> {
  const { body } = await app.send('GET', `/api/traces${query}`)
  return (body as { items: Record<string, unknown>[] }).items
}

describe('a question leaves a trace', () => {
  test('that can be read at once, whole', async () => {
    const id = await ask(app, 'helper', 'In how many days?')
    expect(await traceOf(id)).toMatchObject({
      trace_id: id,
      project: 'mindsdb',
      agent: 'helper',
      provider: 'openai',
      model: 'gpt-4.1',
      question: 'In how many days?',
      answer: 'In 30 days.',
      outcome: 'answered',
      error_code: null,
      turn_count: 2,
      step_count: 1,
      turns: [
        { finish: 'tool_calls', tool_calls: 1 },
        { finish: 'stop', tool_calls: 0 },
      ],
      steps: [
        {
          tool: 'kb_query_tool',
          input: SQL,
          observation: expect.stringContaining('You may return it in 30 days'),
        },
      ],
    })
  })

  test('that is in the list, and in SQL', async () => {
    const first = await ask(app, 'helper', 'In how many days?')
    const second = await ask(app, 'helper', 'And in June?')
    expect((await listed()).map((one) => one.trace_id)).toEqual([second, first])
    expect(await listed('?limit=1')).toHaveLength(1)
    const rows = await app.rows(
      `SELECT agent, started_at::DATE = current_date, count(*), sum(turns)
        FROM information_schema.traces GROUP BY ALL`,
    )
    expect(rows).toEqual([['helper', true, 2, 4]])
    const steps = await app.rows(
      `SELECT s.step, s.kind, s.tool, t.question FROM information_schema.trace_steps AS s
        JOIN information_schema.traces AS t USING (trace_id)
        WHERE s.trace_id = '${second}' ORDER BY s.step`,
    )
    expect(steps).toEqual([
      [1, 'turn', null, 'And in June?'],
      [2, 'tool', 'kb_query_tool', 'And in June?'],
      [3, 'turn', null, 'And in June?'],
    ])
  })

  test('that can be rated, where the last rating counts', async () => {
    const id = await ask(app, 'helper', 'In how many days?')
    const path = `/api/traces/${id}/feedback`
    expect(await app.send('POST', path, { rating: -1 })).toMatchObject({ status: 200 })
    const { body } = await app.send('POST', path, { rating: 1, comment: 'Right after all' })
    expect(body).toMatchObject({ rating: 1, comment: 'Right after all' })
    expect(await traceOf(id)).toMatchObject({ feedback: { rating: 1 } })
    expect((await listed())[0]).toMatchObject({ feedback: { comment: 'Right after all' } })
    const sql = 'SELECT trace_id, rating, comment FROM information_schema.trace_feedback'
    expect(await app.rows(sql)).toEqual([[id, 1, 'Right after all']])
    for (const wrong of [
      { rating: 2 },
      { rating: 'good' },
      { comment: 'x' },
      { rating: 1, by: 1 },
    ]) {
      expect(await app.send('POST', path, wrong)).toMatchObject({ status: 400 })
    }
    expect(await app.send('POST', '/api/traces/none/feedback', { rating: 1 })).toMatchObject({
      status: 404,
      body: { code: 'trace_not_found' },
    })
  })
})

describe('no secret is in a trace', () => {
  const leaks = async (id: string, secrets: readonly string[]) => {
    const { text } = await app.send('GET', `/api/traces/${id}`)
    const list = (await app.send('GET', '/api/traces')).text
    const rows = JSON.stringify([
      await app.rows('SELECT * FROM information_schema.traces'),
      await app.rows('SELECT * FROM information_schema.trace_steps'),
    ])
    return secrets.filter((secret) => `${text}${list}${rows}`.includes(secret))
  }

  test('the key of the model, in the question, a tool call or what it read', async () => {
    model.close()
    const input = { sql_query: `SELECT '${KEY}' AS k, 'Authorization: Bearer abcdef123456' AS h` }
    model = playedModel({ tool: 'kb_query_tool', input }, { text: `The key is ${KEY}.` })
    await createAgent(app, 'teller', {
      provider: 'openai',
      model_name: 'm',
      api_key: KEY,
      base_url: model.url,
    })
    const question = `Is ${KEY} right? See https://me:hunter2secret@host/x?token=tok-12345678`
    const id = await ask(app, 'teller', question)
    const trace = await traceOf(id)
    expect(trace).toMatchObject({ outcome: 'answered', answer: 'The key is ******.' })
    expect(trace.question).toStartWith('Is ****** right? See https://******@host/x?token=******')
    const secrets = [KEY, 'hunter2secret', 'tok-12345678', 'abcdef123456']
    expect(await leaks(id, secrets)).toEqual([])
  })

  test('a key and addresses that a provider echoes are removed', async () => {
    model.close()
    const echoed = `Incorrect API key provided: ${KEY} at http://user:pass-word-1@host`
    model = playedModel({ status: 401, message: echoed })
    await createAgent(app, 'refused', {
      provider: 'openai',
      model_name: 'm',
      api_key: KEY,
      base_url: model.url,
    })
    const id = await ask(app, 'refused', 'In how many days?')
    expect(await traceOf(id)).toMatchObject({
      outcome: 'failed',
      error_code: 'provider_refused',
      error: expect.stringContaining('401'),
      answer: null,
    })
    expect(await leaks(id, [KEY, 'pass-word-1'])).toEqual([])
  })
})

describe('the list', () => {
  const HOSTILE = "'; DROP TABLE eider.traces; -- %_\\ \u0000 \uD800 🌶 <script>"

  test('is filtered, and refuses what it does not know', async () => {
    const first = await ask(app, 'helper', 'In how many days?')
    const hostile = await ask(app, 'helper', HOSTILE)
    const found = async (query: string) => (await listed(query)).map((one) => one.trace_id)
    expect(await found('?agent=HELPER&project=mindsdb&outcome=answered')).toEqual([hostile, first])
    expect(await found('?agent=other')).toEqual([])
    expect(await found('?outcome=failed')).toEqual([])
    expect(await found('?purpose=evaluation')).toEqual([])
    expect(await found('?conversation_id=x')).toEqual([])
    expect(await found('?q=MANY%20days')).toEqual([first])
    expect(await found(`?q=${encodeURIComponent("'; DROP TABLE")}`)).toEqual([hostile])
    expect(await found('?q=%25_')).toEqual([hostile])
    expect(await found('?from=2020-01-01&to=2199-01-01T00:00:00Z')).toEqual([hostile, first])
    expect(await found('?to=2020-01-01')).toEqual([])
    for (const wrong of [
      'limit=0',
      'limit=1001',
      'limit=x',
      'cursor=x',
      'outcome=good',
      'from=yesterday',
      'to=2026-13-01',
      'page=1',
      'limit=1&limit=2',
      `q=${'x'.repeat(1001)}`,
    ]) {
      expect([wrong, (await app.send('GET', `/api/traces?${wrong}`)).status]).toEqual([wrong, 400])
    }
  })

  test('is emptied one by one, by agent, or as a whole, and never by mistake', async () => {
    await createAgent(app, 'other', { provider: 'builtin', model_name: 'extractive' })
    const id = await ask(app, 'helper', 'In how many days?')
    await ask(app, 'helper', 'And in June?')
    await ask(app, 'other', 'In how many days?')
    expect(await app.send('DELETE', `/api/traces/${id}`)).toMatchObject({ status: 204 })
    for (const method of ['GET', 'DELETE']) {
      expect(await app.send(method, `/api/traces/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'trace_not_found' },
      })
    }
    expect(await app.send('DELETE', '/api/traces')).toMatchObject({ status: 400 })
    expect(await app.send('DELETE', '/api/traces?all=true&agent=x')).toMatchObject({ status: 400 })
    expect((await app.send('DELETE', '/api/traces?agent=helper')).body).toEqual({ deleted: 1 })
    expect(await listed()).toMatchObject([{ agent: 'other', cost: 0 }])
    expect((await app.send('DELETE', '/api/traces?all=true')).body).toEqual({ deleted: 1 })
    expect(await app.rows('SELECT count(*) FROM information_schema.trace_steps')).toEqual([[0]])
  })

  test('keeps the traces of a dropped agent', async () => {
    await ask(app, 'helper', 'In how many days?')
    await app.send('DELETE', '/api/projects/mindsdb/agents/helper')
    expect(await listed()).toMatchObject([{ agent: 'helper' }])
  })

  test('needs the token where there is a login', async () => {
    const environment = { EIDER_USERNAME: 'a', EIDER_PASSWORD: 'secret-word' }
    const guarded = await createTestApp({ environment })
    for (const path of ['/api/traces', '/api/traces/x']) {
      expect(await guarded.send('GET', path)).toMatchObject({ status: 401 })
    }
    await guarded.close()
  })
})

test('an agent cannot read traces', async () => {
  model.close()
  const input = { sql_query: 'SELECT question FROM information_schema.traces' }
  model = playedModel({ tool: 'kb_query_tool', input }, { text: 'No.' })
  const named = { provider: 'openai', model_name: 'm', api_key: KEY, base_url: model.url }
  await createAgent(app, 'curious', named)
  const { steps } = await traceOf(await ask(app, 'curious', 'What did others ask?'))
  const [step] = steps as readonly { readonly observation: string }[]
  expect(step?.observation).toContain('information_schema')
  expect(step?.observation).not.toContain('What did others ask?')
})
