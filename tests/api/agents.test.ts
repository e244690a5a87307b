import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const AGENTS = '/api/projects/mindsdb/agents'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  const kbs = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', kbs, { knowledge_base: { name: 'birds' } })
  const rows = [
    { id: 'eider', content: 'The eider is a large sea duck. Its down fills quilts.' },
    { id: 'swift', content: 'The swift sleeps on the wing. It eats insects.' },
  ]
  await t.send('PUT', `${kbs}/birds`, { knowledge_base: { rows } })
})
afterAll(() => t.close())

const post = (fields: Record<string, unknown>) => t.send('POST', AGENTS, { agent: fields })
const put = (name: string, fields: Record<string, unknown>) => {
  return t.send('PUT', `${AGENTS}/${name}`, { agent: fields })
}
const data = { knowledge_bases: ['mindsdb.birds'], tables: [] }

describe('records', () => {
  test('the key is shown to the request that carried it, and masked ever after', async () => {
    const model = { provider: 'openai', model_name: 'gpt-4o', api_key: 'sk-secret' }
    const created = await post({
      name: 'keyed',
      model,
      data,
      prompt_template: 'Answer about birds',
    })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({
      name: 'keyed',
      model,
      data,
      prompt_template: 'Answer about birds',
    })
    for (const path of [AGENTS, `${AGENTS}/keyed`]) {
      const read = await t.send('GET', path)
      expect(read.text).not.toContain('sk-secret')
      expect(read.text).toContain('******')
    }
    const renamed = await put('keyed', { name: 'renamed' })
    expect(renamed.text).not.toContain('sk-secret')
    expect(renamed.body).toMatchObject({ name: 'renamed', prompt_template: 'Answer about birds' })
    expect((await t.send('GET', `${AGENTS}/keyed`)).status).toBe(404)
    const changed = await put('renamed', { model: { ...model, api_key: 'sk-other' } })
    expect(changed.body).toMatchObject({ model: { api_key: 'sk-other' } })
    const masked = await put('renamed', { model: { ...model, api_key: '******' } })
    expect(masked.text).not.toContain('sk-')
    expect(masked.body).toMatchObject({ model: { api_key: '******' } })
    const prompted = await put('renamed', { prompt_template: 'x' })
    expect(prompted.text).not.toContain('sk-')
  })

  test('null resets a limit; a limit that is not sent is kept', async () => {
    const name = 'limited'
    await post({ name, data, params: { timeout: 9, max_steps: 3, mode: 'sql' } })
    const paramsAfter = async (params: object) => {
      await put(name, { params })
      return (await t.send('GET', `${AGENTS}/${name}`)).body
    }
    const steps = { max_steps: 3, mode: 'sql' }
    expect(await paramsAfter({ timeout: null })).toHaveProperty('params', steps)
    expect(await paramsAfter({ mode: null })).toHaveProperty('params', steps)
    const both = { timeout: 5, mode: 'text' }
    expect(await paramsAfter({ ...both, max_steps: null })).toHaveProperty('params', both)
    await put(name, { timeout: null, params: null })
    expect(await paramsAfter({})).toHaveProperty('params', both)
  })

  test('the empty string and the empty object clear', async () => {
    await post({ name: 'cleared', data, prompt_template: 'x' })
    await put('cleared', { prompt_template: '', data: {} })
    const { body } = await t.send('GET', `${AGENTS}/cleared`)
    expect(body).not.toHaveProperty('prompt_template', 'x')
    expect(JSON.stringify(body)).not.toContain('birds')
  })

  test('a PUT with If-Match changes only the agent that its client has read', async () => {
    await post({ name: 'shared', data, prompt_template: 'first' })
    const versionOf = async () => {
      return (await t.send('GET', `${AGENTS}/shared`)).headers.get('etag') ?? ''
    }
    const save = (prompt_template: string, ifMatch: string) => {
      const headers = { 'if-match': ifMatch }
      return t.send('PUT', `${AGENTS}/shared`, { agent: { prompt_template } }, headers)
    }
    const read = await versionOf()
    const [mine, theirs] = await Promise.all([save('mine', read), save('theirs', read)])
    expect([mine?.status, theirs?.status].sort()).toEqual([200, 412])
    const refused = mine?.status === 412 ? mine : theirs
    expect(refused?.body).toMatchObject({ code: 'agent_changed' })
    const now = await versionOf()
    expect(now).not.toBe(read)
    const again = await save('again', `"other", W/${now}`)
    expect([again.status, again.headers.get('etag')]).toEqual([200, await versionOf()])
    expect((await save('any', '*')).status).toBe(200)
    expect((await put('shared', { prompt_template: 'without' })).status).toBe(200)
  })

  test('what the Python client sends is accepted', async () => {
    const sent = {
      name: 'py',
      model_name: null,
      provider: null,
      data,
      model: null,
      prompt_template: null,
      params: {},
    }
    const created = await post(sent)
    expect(created.status).toBe(201)
    expect(created.body).toHaveProperty('created_at')
    expect((await put('py', sent)).status).toBe(200)
  })

  test('a stored key is not sent to another address', async () => {
    const model = {
      provider: 'openai',
      model_name: 'm',
      api_key: 'sk-victim',
      base_url: 'http://a.test/v1',
    }
    await post({ name: 'victim', model, data })
    const masked = { ...model, api_key: '******' }
    const elsewhere = await put('victim', { model: { ...masked, base_url: 'http://b.test/v1' } })
    expect([elsewhere.status, elsewhere.text]).toEqual([400, expect.stringContaining('api_key')])
    expect((await put('victim', { model: masked })).status).toBe(200)
  })

  test('names in data have one or two parts, quoted or not', async () => {
    const quoted = { knowledge_bases: ['`mindsdb`.`birds`', ' mindsdb.birds '] }
    const created = await post({ name: 'quoting', data: quoted })
    expect(created.body).toMatchObject({
      data: { knowledge_bases: ['mindsdb.birds', 'mindsdb.birds'] },
    })
    for (const wrong of [
      { knowledge_bases: ['a.b.c'] },
      { tables: ['alone'] },
      { knowledge_bases: [''] },
    ]) {
      expect((await post({ name: 'wrong', data: wrong })).status).toBe(400)
    }
  })

  test('errors keep the titles that clients know', async () => {
    expect(await post({ name: 'py' })).toMatchObject({
      status: 409,
      body: { title: 'Agent already exists' },
    })
    expect(await post({})).toMatchObject({ status: 400, body: { title: 'Missing field' } })
    expect(await t.send('POST', AGENTS, {})).toMatchObject({
      status: 400,
      body: { title: 'Missing parameter' },
    })
    expect(await put('nope', { prompt_template: 'x' })).toMatchObject({
      status: 400,
      body: { title: 'Creation is not allowed' },
    })
    expect(await post({ name: 'p', params: { colour: 1 } })).toMatchObject({ status: 400 })
    const unknown = await post({ name: 'p', model: { provider: 'nope', model_name: 'm' } })
    expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining('builtin')])
    expect(await t.send('DELETE', `${AGENTS}/nope`)).toMatchObject({ status: 404 })
    expect(await t.send('DELETE', `${AGENTS}/py`)).toMatchObject({ status: 204, text: '' })
  })
})

type Event = Record<string, unknown>

function eventsOf(text: string): readonly Event[] {
  const chunks = text.split('\n\n').filter((chunk) => chunk !== '' && !chunk.startsWith(':'))
  return chunks.map((chunk) => {
    expect(chunk.startsWith('data: ')).toBe(true)
    return JSON.parse(chunk.slice('data: '.length)) as Event
  })
}

describe('questions', () => {
  const ask = (name: string, messages: unknown, path = 'completions/stream') => {
    return t.send('POST', `${AGENTS}/${name}/${path}`, { messages })
  }
  const question = [{ question: 'What is the eider?', answer: '' }]

  test('the stream is start, pairs of actions and steps, output, end', async () => {
    await post({ name: 'ornithologist', data })
    const answer = await ask('ornithologist', question)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toStartWith('text/event-stream')
    const events = eventsOf(answer.text)
    expect(events[0]).toMatchObject({ type: 'start', prompt: 'What is the eider?' })
    expect(events.at(-1)).toEqual({ type: 'end' })
    const middle = events.slice(1, -2)
    expect(middle.length).toBeGreaterThanOrEqual(2)
    middle.forEach((event, index) => {
      expect(event).toHaveProperty(index % 2 === 0 ? 'actions' : 'steps')
      expect(event.trace_id).toBe(events[0]?.trace_id)
    })
    const output = events.at(-2)
    expect(output?.output).toContain('The eider is a large sea duck.')
    expect(output?.messages).toEqual([{ content: output?.output }])
    expect(output?.citations).toMatchObject([{ document_id: 'eider' }])
    expect(String(events[0]?.trace_id)).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('the observation of a query lists columns, then CSV', async () => {
    const events = eventsOf((await ask('ornithologist', question)).text)
    const observations = events.flatMap((event) => {
      return ((event.steps ?? []) as { observation: string; action: { tool: string } }[]).filter(
        (step) => step.action.tool === 'kb_query_tool',
      )
    })
    expect(observations.length).toBeGreaterThan(0)
    expect(observations[0]?.observation).toMatch(
      /^Output columns: 'id', 'chunk_id'.*\nResult in CSV format \(dialect is 'excel'\):\nid,chunk_id/,
    )
  })

  test('the plain form answers a message with citations', async () => {
    const { status, body } = await ask('ornithologist', question, 'completions')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      message: { role: 'assistant', content: expect.stringContaining('sea duck') },
    })
    const roles = [{ role: 'user', content: 'What does the swift eat?' }]
    const other = await ask('ornithologist', roles, 'completions')
    expect(other.text).toContain('insects')
  })

  test('what data does not name cannot be read, and is said', async () => {
    await post({ name: 'blind', data: { knowledge_bases: ['mindsdb.nope'] } })
    const events = eventsOf((await ask('blind', question)).text)
    const output = events.at(-2)
    expect(output?.warnings).toEqual([expect.stringContaining('mindsdb.nope')])
    expect(JSON.stringify(events)).not.toContain('sea duck')
  })

  test('errors before the stream begins are HTTP statuses', async () => {
    expect(await ask('nope', question)).toMatchObject({
      status: 404,
      body: { title: 'Agent not found' },
    })
    for (const messages of [undefined, [], 'text', [{ answer: 'x' }], [{ question: 5 }]]) {
      expect((await ask('ornithologist', messages)).status).toBe(400)
    }
  })

  test('a model that cannot be reached is one typed error, then end', async () => {
    const model = {
      provider: 'openai',
      model_name: 'm',
      api_key: 'sk-x',
      base_url: 'http://127.0.0.1:9/v1',
    }
    await post({ name: 'broken', data, model })
    const answer = await ask('broken', question)
    const events = eventsOf(answer.text)
    expect(events[0]).toMatchObject({ type: 'start' })
    expect(events.at(-2)).toMatchObject({ type: 'error', error_type: 'connection' })
    expect(events.at(-1)).toEqual({ type: 'end' })
    expect(answer.text).not.toContain('sk-x')
    const plain = await ask('broken', question, 'completions')
    expect([plain.status, plain.body]).toMatchObject([502, { code: 'provider_failed' }])
  })
})
