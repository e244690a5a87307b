/** Any request below /v1 is answered in that API's form and never with a 500. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await createTestApp()
  const at = '/api/projects/mindsdb'
  await app.send('POST', `${at}/knowledge_bases`, { knowledge_base: { name: 'teas' } })
  const rows = [{ id: 'a', content: 'Rooibos comes from South Africa and has no caffeine.' }]
  await app.send('PUT', `${at}/knowledge_bases/teas`, { knowledge_base: { rows } })
  const data = { knowledge_bases: ['mindsdb.teas'] }
  await app.send('POST', `${at}/agents`, { agent: { name: 'guide', data } })
})
afterAll(() => app.close())

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(null, true, 0, -1, 1e308, '', '\u0000', '\ud800', [], {}, '__proto__'),
)
/** Usually returns a valid value. */
function mostly<T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 15, arbitrary: right }, { weight: 1, arbitrary: odd })
}

const model = mostly(fc.constantFrom('mindsdb.guide', 'mindsdb.teas', 'teas', 'no', 'a.b.c', ''))
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.constant('Where from?'))
const kind = fc.constantFrom('text', 'text', 'input_text', 'output_text', 'image_url', '')
const part = mostly(fc.record({ type: mostly(kind), text: mostly(text) }))
const content = mostly(fc.oneof(text, fc.array(part, { maxLength: 3 })))
const role = mostly(fc.constantFrom('user', 'user', 'assistant', 'system', 'developer', 'tool'))
const message = mostly(
  fc.record({ role, content, tool_calls: odd, name: odd }, { requiredKeys: ['role', 'content'] }),
)
const messages = mostly(fc.array(message, { minLength: 1, maxLength: 5 }))
const format = mostly(
  fc.record({
    type: fc.constantFrom('json_object', 'text', 'text', 'json_schema'),
    json_schema: odd,
  }),
)
const named = fc.record({ name: mostly(text), parameters: odd })
const tool = mostly(
  fc.oneof(
    fc.record({ type: fc.constant('function'), function: named }),
    fc.record({
      type: fc.constant('file_search'),
      vector_store_ids: mostly(fc.array(model, { minLength: 1, maxLength: 3 })),
    }),
  ),
)
const further = {
  stream: mostly(fc.boolean()),
  tools: mostly(fc.array(tool, { maxLength: 3 })),
  tool_choice: mostly(fc.constantFrom('auto', 'none', 'auto', 'required')),
  metadata: odd,
  temperature: odd,
  eider: mostly(fc.record({ steps: mostly(fc.boolean()) })),
}
const chat = fc.record(
  {
    ...{ model, messages, ...further },
    n: mostly(fc.constant(1)),
    response_format: format,
    stream_options: mostly(fc.record({ include_usage: mostly(fc.boolean()) })),
  },
  { requiredKeys: ['model', 'messages'] },
)
const ids = (prefix: string) => mostly(fc.uuid().map((id) => `${prefix}_${id}`))
const item = mostly(fc.record({ type: fc.constant('item_reference'), id: ids('msg') }))
const response = fc.oneof(
  fc.record(
    { model, input: mostly(fc.oneof(messages, text, fc.array(item))), ...further },
    { requiredKeys: ['model', 'input'] },
  ),
  fc.record(
    {
      ...{ model, input: text, ...further },
      instructions: mostly(text),
      previous_response_id: ids('resp'),
      conversation: ids('conv'),
      include: mostly(fc.constant(['file_search_call.results'])),
      store: mostly(fc.boolean()),
      text: mostly(fc.record({ format })),
    },
    { requiredKeys: ['model', 'input'] },
  ),
)

/** How often each status occurred. */
const statuses = new Map<number, number>()

async function expectItsForm(method: string, path: string, body?: unknown): Promise<void> {
  const answer = await app.send(method, path, body, { 'content-type': 'application/json' })
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
  expect(answer.status).toBeLessThan(500)
  if (answer.status < 400) return
  const { error } = answer.body as { error: Readonly<Record<string, unknown>> }
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type'])
  expect(error.message).toEqual(expect.any(String))
  expect(error.type).toEqual(expect.any(String))
}

const RUNS = { numRuns: 150 }

test('chat completions', async () => {
  await fc.assert(
    fc.asyncProperty(chat, (body) => expectItsForm('POST', '/v1/chat/completions', body)),
    RUNS,
  )
  // Otherwise only the check of the body would be tested.
  expect(statuses.get(200)).toBeGreaterThan(0)
}, 60_000)

test('responses', async () => {
  await fc.assert(
    fc.asyncProperty(response, (body) => expectItsForm('POST', '/v1/responses', body)),
    RUNS,
  )
}, 60_000)

test('bodies that are not objects, and texts that are not JSON', async () => {
  const body = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc.constantFrom(
      '{',
      '[[[[',
      '{"model":',
      'null',
      '{"a":1}{"b":2}',
      '{"__proto__":{"model":1}}',
    ),
  )
  const path = fc.constantFrom('/v1/chat/completions', '/v1/responses')
  await fc.assert(
    fc.asyncProperty(path, body, (at, sent) => expectItsForm('POST', at, sent)),
    RUNS,
  )
}, 60_000)

test('paths', async () => {
  // A URL leaves out `.` and `..`, so they would name another path.
  const part = fc
    .string({ maxLength: 20 })
    .filter((one) => one !== '.' && one !== '..')
    .map((one) => encodeURIComponent(one))
  const path = fc.oneof(
    part.map((one) => `/v1/models/${one}`),
    part.map((one) => `/v1/responses/${one}`),
    part.map((one) => `/v1/${one}`),
    fc.constantFrom(
      '/v1/models/%00',
      '/v1/models/%',
      '/v1//',
      '/v1/responses/resp_',
      '/v1/./models',
    ),
  )
  const method = fc.constantFrom('GET', 'DELETE', 'PUT', 'PATCH')
  await fc.assert(
    fc.asyncProperty(method, path, (how, at) => expectItsForm(how, at)),
    RUNS,
  )
}, 60_000)

test('a body over the limit of its route names no setting that would not help', async () => {
  const body = { model: 'all-MiniLM-L6-v2', input: 'x'.repeat(33_600_000) }
  const answer = await app.send('POST', '/v1/embeddings', body)
  const message = 'The body has more than 33554432 bytes, the limit for this route'
  expect([answer.status, answer.body]).toMatchObject([413, { error: { message } }])
})
