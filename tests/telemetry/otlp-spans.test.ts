import { afterEach, describe, expect, test } from 'bun:test'
import { ask, createAgent, playedModel } from '../api/traces-fixture.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { collector } from './otlp-collector.ts'

const SQL = "SELECT chunk_content FROM docs WHERE content = 'days' LIMIT 1"
const KEY = 'sk-test-5e1f0a9c7b3d'

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function appWith(environment: Readonly<Record<string, string>>): Promise<TestApp> {
  const app = await createTestApp({ environment })
  const model = playedModel(
    { tool: 'kb_query_tool', input: { sql_query: SQL } },
    { text: 'In 30 days.' },
  )
  cleanups.push(() => model.close())
  await app.send('POST', '/api/sql/query', { query: 'CREATE KNOWLEDGE_BASE docs' })
  const named = { provider: 'openai', model_name: 'gpt-4.1', api_key: KEY }
  await createAgent(app, 'helper', { ...named, base_url: model.url })
  return app
}

describe('a run as spans', () => {
  test('of the agent, its turns and its tools, by the conventions, without texts', async () => {
    const sink = collector()
    cleanups.push(sink.close)
    const app = await appWith({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${sink.url}/`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b, authorization=Basic%20abc',
      OTEL_SERVICE_NAME: 'shop',
    })
    const id = await ask(app, 'helper', 'In how many days?')
    await app.close()
    expect(sink.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'content-type': 'application/json', 'x-team': 'a b', authorization: 'Basic abc' },
    })
    const spans = sink.spans()
    const [root, ...children] = spans.toSorted((one, other) => {
      return Number(BigInt(one.startTimeUnixNano) - BigInt(other.startTimeUnixNano))
    })
    expect(root).toMatchObject({
      name: 'invoke_agent helper',
      kind: 1,
      traceId: id.replaceAll('-', ''),
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-4.1',
        'gen_ai.agent.name': 'helper',
        'eider.trace_id': id,
        'eider.outcome': 'answered',
      },
      resource: { 'service.name': 'shop' },
    })
    expect(children.map(({ name }) => name)).toEqual([
      'chat gpt-4.1',
      'execute_tool kb_query_tool',
      'chat gpt-4.1',
    ])
    expect(children.map(({ kind }) => kind)).toEqual([3, 1, 3])
    for (const child of children) {
      expect(child).toMatchObject({ traceId: root?.traceId, parentSpanId: root?.spanId })
      expect(BigInt(child.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(root?.endTimeUnixNano ?? 0))
    }
    expect(children[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.response.finish_reasons': ['tool_call'],
    })
    expect(children[1]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'kb_query_tool',
    })
    const sent = new TextDecoder().decode(sink.requests[0]?.bytes)
    expect(sent).not.toMatch(/In how many|In 30|SELECT|sk-test/)
  })

  test('is a part of what the client traces, with texts where that is wanted', async () => {
    const sink = collector()
    cleanups.push(sink.close)
    const app = await appWith({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${sink.url}/otlp`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
      EIDER_TRACES: '0',
    })
    const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
    const question = `In how many days? ${KEY}`
    await ask(app, 'helper', question, { traceparent: `00-${traceId}-${spanId}-01` })
    await ask(app, 'helper', 'Not sampled?', { traceparent: `00-${traceId}-${spanId}-00` })
    for (const wrong of ['', 'x'.repeat(9000), `00-${'0'.repeat(32)}-${spanId}-01`]) {
      await ask(app, 'helper', 'Whose?', { traceparent: wrong })
    }
    expect((await app.send('GET', '/api/traces')).body).toEqual({ items: [], next: null })
    await app.close()
    expect(sink.requests[0]?.path).toBe('/otlp')
    const roots = sink.spans().filter(({ name }) => name.startsWith('invoke_agent'))
    expect(roots).toHaveLength(4)
    expect(roots.filter((root) => root.traceId === traceId)).toHaveLength(1)
    expect(roots[0]).toMatchObject({
      parentSpanId: spanId,
      attributes: {
        'gen_ai.input.messages':
          '[{"role":"user","parts":[{"type":"text","content":"In how many days? ******"}]}]',
        'gen_ai.output.messages': expect.stringContaining('In 30 days.'),
      },
    })
    const [tool] = sink.spans().filter(({ name }) => name.startsWith('execute_tool'))
    expect(tool?.attributes).toMatchObject({ 'gen_ai.tool.call.arguments': SQL })
  })

  test('that failed has its error; protobuf is what is sent by default', async () => {
    const sink = collector()
    cleanups.push(sink.close)
    const app = await appWith({ OTEL_EXPORTER_OTLP_ENDPOINT: sink.url })
    const model = playedModel({ status: 401, message: `no ${KEY}` })
    cleanups.push(model.close)
    const named = { provider: 'openai', model_name: 'm', api_key: KEY, base_url: model.url }
    await createAgent(app, 'refused', named)
    await ask(app, 'refused', 'In how many days?')
    await app.close()
    expect(sink.requests[0]?.headers).toMatchObject({ 'content-type': 'application/x-protobuf' })
    const sent = new TextDecoder('latin1').decode(sink.requests[0]?.bytes)
    expect(sent).toContain('invoke_agent refused')
    expect(sent).toContain('provider_refused')
    expect(sent).not.toContain(KEY)
  })
})

describe('a collector', () => {
  test('that refuses is mentioned once in the log, without the header, and holds nothing up', async () => {
    const sink = collector(() => new Response('no: team-secret-1', { status: 401 }))
    cleanups.push(sink.close)
    const failures: string[] = []
    const app = await createTestApp({
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=team-secret-1',
      },
      log: { request: () => {}, failure: ({ error }) => void failures.push(String(error)) },
    })
    await app.send('POST', '/api/sql/query', { query: 'CREATE KNOWLEDGE_BASE docs' })
    await createAgent(app, 'own', { provider: 'builtin', model_name: 'extractive' })
    const id = await ask(app, 'own', 'In how many days?')
    expect(await app.send('GET', `/api/traces/${id}`)).toMatchObject({ status: 200 })
    await app.close()
    expect(failures).toHaveLength(1)
    expect(failures[0]).toContain('The OpenTelemetry collector does not take spans')
    expect(failures[0]).not.toContain('team-secret-1')
  })

  test('that never answers does not keep the program from ending', async () => {
    const sink = collector(() => new Promise<Response>(() => {}))
    cleanups.push(sink.close)
    const app = await appWith({ OTEL_EXPORTER_OTLP_ENDPOINT: sink.url })
    await ask(app, 'helper', 'In how many days?')
    await app.close()
    expect(sink.requests.length).toBeGreaterThan(0)
  })
})
