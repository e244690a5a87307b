/** Every option in every place either works or is refused by name. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'

const MINDSDB = '/api/projects/mindsdb'
const KBS = `${MINDSDB}/knowledge_bases`
const CHAT = { provider: 'openai', model_name: 'm', base_url: 'http://127.0.0.1:9/v1' }

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ embedders: wordEmbedders })
  await sql('CREATE KNOWLEDGE_BASE kb')
  await sql('CREATE AGENT a')
  await sql("CREATE TABLE asked AS SELECT 'q' AS question, 'a' AS answer")
})
afterAll(() => t.close())

async function sql(query: string): Promise<string> {
  const { body } = await t.send('POST', '/api/sql/query', { query })
  const { type, error_message: message } = body as { type: string; error_message?: string }
  return type === 'error' ? `${message}` : type
}

let count = 0
/** Returns the response to a request with a new name or ID. */
async function sent(method: string, path: string, body: (name: string) => unknown) {
  count += 1
  const { status, text } = await t.send(method, path, body(`n${count}`))
  return { status, text }
}

type Sent = Readonly<Record<string, unknown>>

function cases(where: string, list: readonly Sent[]) {
  return list.map((fields) => [where, JSON.stringify(fields), fields] as const)
}

type Place = (fields: Sent) => Promise<{ readonly status: number; readonly text: string }>

/** How each place receives its options. */
const PLACES: Readonly<Record<string, Place>> = {
  'POST knowledge base': (fields) => {
    return sent('POST', KBS, (name) => ({ knowledge_base: { name, ...fields } }))
  },
  'PUT knowledge base': (fields) => {
    return sent('PUT', `${KBS}/kb`, () => ({ knowledge_base: fields }))
  },
  'PUT knowledge base with rows': (fields) => {
    const rows = [{ id: 'x', content: 'green tea' }]
    return sent('PUT', `${KBS}/kb`, () => ({ knowledge_base: { rows, ...fields } }))
  },
  'POST agent': (fields) => {
    return sent('POST', `${MINDSDB}/agents`, (name) => ({ agent: { name, ...fields } }))
  },
  'PUT agent': (fields) => sent('PUT', `${MINDSDB}/agents/a`, () => ({ agent: fields })),
  'POST job': (fields) => {
    const job = { query: 'SELECT 1', schedule_str: 'every day' }
    return sent('POST', `${MINDSDB}/jobs`, (name) => ({ job: { name, ...job, ...fields } }))
  },
  'POST source': (fields) => {
    const source = { kind: 'query', query: 'SELECT 1 AS id' }
    return sent('POST', `${KBS}/kb/sources`, (name) => ({ source: { name, ...source, ...fields } }))
  },
  'POST search': (fields) => {
    return sent('POST', `${KBS}/kb/search`, () => ({ query: 'tea', ...fields }))
  },
  'POST preview': (fields) => {
    return sent('POST', `${KBS}/preview`, () => fields)
  },
  'PUT file': async (fields) => {
    const query = new URLSearchParams(Object.entries(fields).map(([n, v]) => [n, String(v)]))
    count += 1
    const path = `/api/files/f${count}?${query}`
    const { status, text } = await t.send('PUT', path, 'a,b\n1,2\n', { 'content-type': 'text/csv' })
    return { status, text }
  },
}

function placeNamed(where: string): Place {
  const place = PLACES[where]
  if (place === undefined) throw new Error(`there is no place ${where}`)
  return place
}

/** These are accepted, and null has no effect. */
const WORKS = [
  ...cases('POST knowledge base', [
    { storage: { database: 'vectors', table: 'own' } },
    { embedding_model: { provider: 'builtin', dimensions: 64 } },
    { embedding_model: { ...CHAT, api_version: '1', api_key: 'k' } },
    { reranking_model: { ...CHAT, method: 'binary', filtering_threshold: 0.2, candidates: 9 } },
    { reranking_model: false },
    { content_columns: ['text'], metadata_columns: ['day'], id_column: 'nr' },
    { metadata_columns: [{ name: 'day', type: 'DATE' }] },
    { preprocessing: { type: 'text_chunking', text_chunking_config: { chunk_size: 9 } } },
    { language: 'german' },
    { hybrid_search: true, hybrid_search_alpha: 0.4, hybrid_search_fusion: 'convex' },
    { hybrid_search_feedback: true },
    { vector_size: 64 },
    { params: { vector_size: 64, language: 'german' } },
    // MindsDB's clients send these fields, and read some of them from the response.
    { is_sparse: false, kb_no_upsert: false, kb_skip_existing: null },
    { params: { version: 2, default_vector_storage: 'store_kb', created_embedding_model: 'm' } },
    { params: { warnings: [], reembedding: {}, keyword_index: {} } },
  ]),
  ...cases('PUT knowledge base', [
    { hybrid_search_alpha: null, language: 'english' },
    { vector_size: 64 },
    { rows: null, urls: null, limit: null, crawl_depth: null, filters: null, error: null },
    { params: { version: 2, created_embedding_model: 'm' } },
  ]),
  ...cases('PUT knowledge base with rows', [
    { error: 'skip' },
    { background: true },
    { params: { error: 'raise', background: false } },
    { limit: null, crawl_depth: null, filters: null },
  ]),
  ...cases('POST agent', [
    { model_name: null, provider: null, params: {}, prompt_template: null },
    { model: { ...CHAT, temperature: 0, max_tokens: 9, context_tokens: 4096 } },
    { model: { ...CHAT, provider: 'anthropic', top_k: 3, thinking: { type: 'disabled' } } },
    { model: { provider: 'builtin' }, provider: 'builtin' },
    { data: { knowledge_bases: ['mindsdb.kb'], tables: ['mindsdb.asked'], mcp: [] } },
    { params: { timeout: 9, max_steps: 3, mode: 'sql', return_context: true } },
  ]),
  ...cases('PUT agent', [{ prompt_template: 'Be brief', timeout: null }]),
  ...cases('POST job', [{ if_query: 'SELECT 1', start_at: 'now', end_at: '2999-01-01 00:00:00' }]),
  ...cases('POST source', [
    { track_column: 'id', schedule: 'every day', remove_vanished: true, allow_empty: false },
  ]),
  ...cases('POST search', [
    { k: 3, mode: 'hybrid', alpha: 0.4, fusion: 'convex', feedback: true, min_relevance: 0.1 },
    {
      filters: {},
      rerank: false,
      per_document: true,
      allow_partial: false,
      explain: true,
      highlight: true,
    },
    { neighbours: 1, columns: ['title'] },
    { limit: 3 },
  ]),
  ...cases('POST preview', [
    { text: 'tea', syntax: 'markdown', title: 'Tea', limit: 1, knowledge_base: 'kb' },
    { text: 'tea', language: 'german', content_columns: ['content'], id_column: 'id' },
  ]),
  ...cases('PUT file', [
    { format: 'csv', encoding: 'utf-8', delimiter: ',', header: true, all_text: true },
    { replace: true, original_file_name: 'a.csv', source_type: 'file', name: 'a' },
  ]),
]

test.each(WORKS)('%s takes %s', async (where, _, fields) => {
  const { status, text } = await placeNamed(where)(fields)
  expect([status < 300, text]).toEqual([true, text])
})

/** These have no effect, so they are refused, with the name that the message contains. */
const REFUSED = [
  ...cases('POST knowledge base', [
    { is_sparse: true },
    { kb_no_upsert: true },
    { kb_skip_existing: true },
    { params: { kb_no_upsert: true } },
    { version: 2 },
    { default_vector_storage: 's' },
    { created_embedding_model: 'm' },
    { vector_size: 9 },
    { storage: { database: 'duckdb', table: 'own2', attach: true } },
    { embedding_model: { provider: 'builtin', temperature: 1 } },
    { reranking_model: { ...CHAT, early_stop: true } },
    {
      preprocessing: {
        type: 'contextual',
        contextual_config: { llm_config: { ...CHAT, retries: 1 } },
      },
    },
    { preprocessing: { type: 'contextual', contextual_config: { summarize: true } } },
    { preprocessing: { type: 'code_chunking', code_chunking_config: { chunk_overlap: 1 } } },
    { metadata_columns: [{ name: 'day', unit: 'm' }] },
    { track_column: 'id' },
  ]),
  ...cases('PUT knowledge base', [
    { version: 2 },
    { created_embedding_model: 'm' },
    { is_sparse: true },
    { vector_size: 9 },
    { limit: 3 },
    { crawl_depth: 3 },
    { filters: ['x'] },
    { error: 'skip' },
    { background: true },
    { threads: 3 },
  ]),
  ...cases('PUT knowledge base with rows', [
    { limit: 3 },
    { crawl_depth: 1 },
    { filters: { allowed_domains: ['x'] } },
    { params: { kb_skip_existing: true } },
    { batch_size: 3 },
    { track_column: 'id' },
  ]),
  ...cases('POST agent', [
    { skills: ['x'] },
    { params: { temperature: 1 } },
    { params: { prompt: 'x' } },
    { model: { ...CHAT, retries: 3 } },
    { model: { ...CHAT, provider: 'anthropic', seed: 3 } },
    { model: { provider: 'builtin', temperature: 1 } },
    { model: CHAT, model_name: 'other' },
    { model: CHAT, provider: 'other' },
    { data: { files: ['x'] } },
  ]),
  ...cases('PUT agent', [{ verbose: true }]),
  ...cases('POST job', [{ variables: {} }]),
  ...cases('POST source', [{ path: '/x' }, { limit: 3 }, { watch: true }]),
  ...cases('POST search', [
    { top: 3 },
    { mode: 'vector', alpha: 0.4 },
    { mode: 'keyword', fusion: 'rrf' },
    { mode: 'vector', feedback: true },
    { rerank: true },
  ]),
  ...cases('POST preview', [
    { rows: [{ content: 'x' }], syntax: 'markdown' },
    { rows: [{ content: 'x' }], title: 'x' },
    { text: 'x', storage: 'a.b' },
    { text: 'x', vector_size: 3 },
  ]),
  ...cases('PUT file', [{ source: 'http://x.test' }, { compress: true }]),
]

/** Returns the last of the innermost names. The message must contain it. */
function lastName(fields: unknown): string {
  const value = Array.isArray(fields) ? fields[0] : fields
  const [name, inner] = Object.entries(value as Sent).at(-1) ?? ['', null]
  const isObject = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0
  const isList = Array.isArray(inner) && typeof inner[0] !== 'object'
  return isObject && !isList && name !== 'filters' ? lastName(inner) : name
}

test.each(REFUSED)('%s refuses %s', async (where, _, fields) => {
  const { status, text } = await placeNamed(where)(fields)
  const says = text.includes(lastName(fields))
  expect([status, says, text]).toEqual([400, true, text])
})

/** Options after USING: first those that work, then those that are refused, each with its message. */
const ROWS = "INSERT INTO kb (id, content) VALUES ('1', 'green tea') USING"
const SELECTED = "INSERT INTO kb SELECT 'a' AS id, 'tea' AS content USING"
const MEASURED = "EVALUATE KNOWLEDGE_BASE kb USING test_table = 'none'"
const ASKED = "EVALUATE AGENT a USING questions = 'asked'"

test.each([
  `${ROWS} batch_size = 5, error = 'skip', kb_skip_existing = true`,
  `${SELECTED} batch_size = 5, error = 'raise', kb_skip_existing = false, background = false`,
  `${SELECTED} threads = false, kb_no_upsert = false, track_column = NULL`,
  `${SELECTED} background = true`,
  `${ASKED}, judge = 'contains', concurrency = 1, limit = 1, summary = true, timeout = 20`,
  'CREATE AGENT b USING mode = "sql", max_steps = 3',
  'ALTER KNOWLEDGE_BASE kb USING hybrid_search = true',
  'CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = "exact", metric = "cosine")',
])('%s works', async (statement) => {
  expect(await sql(statement)).toMatch(/^(ok|table)$/)
})

test.each([
  [`${SELECTED} track_column = id`, "Option 'track_column' is not allowed in INSERT; read only"],
  [`${SELECTED} threads = 10`, "Option 'threads' is not allowed in INSERT"],
  [`${ROWS} threads = true`, "Option 'threads' is not allowed in INSERT"],
  [`${ROWS} kb_no_upsert = true`, "Option 'kb_no_upsert' is not allowed in INSERT"],
  [
    `${SELECTED} batchsize = 5`,
    "Option 'batchsize' is not allowed in INSERT; there are batch_size",
  ],
  [`${SELECTED} background = true, threads = 4`, "Option 'threads' is not allowed in INSERT"],
  ['INSERT INTO asked SELECT 1, 2 USING batch_size = 5', 'only an INSERT into a knowledge base'],
  [`CREATE KNOWLEDGE_BASE x USING name = 'y'`, 'leave out the option "name"'],
  [`CREATE KNOWLEDGE_BASE x USING is_sparse = true`, "Parameter 'is_sparse' can only be false"],
  [`CREATE KNOWLEDGE_BASE x USING version = 2`, "Parameter 'version' is not allowed"],
  [`CREATE AGENT x USING name = 'y'`, 'leave out the option "name"'],
  [`CREATE AGENT x USING verbose = true`, "Parameter 'verbose' is not allowed"],
  [
    `ALTER KNOWLEDGE_BASE kb ADD SOURCE s USING kind = 'table', table = 'x', query = 'y'`,
    '"query"',
  ],
  [`${MEASURED}, generate_data = true, evaluate = false, k = 5`, 'Leave out "k"'],
  [`${MEASURED}, generate_data = true, evaluate = false, save_to = 't'`, 'Leave out "save_to"'],
  [`${MEASURED}, generate_data = {"size": 5}`, "no option 'size' in generate_data"],
  [`${MEASURED}, mode = 'vector', alpha = 0.3`, 'Option "alpha" is for mode'],
  [`${MEASURED}, limit = 5`, "no option 'limit' in EVALUATE"],
  [
    `${ASKED}, judge = 'contains', judge_model = {"model_name": "m"}`,
    'uses the option "judge_model"',
  ],
  [
    `${ASKED}, judge = 'model', judge_model = {"model_name": "m", "retries": 1}`,
    'no option "retries"',
  ],
  [`${ASKED}, name = 'b'`, 'The name of an agent cannot be changed'],
  [`${ASKED}, k = 5`, "no option 'k' in EVALUATE AGENT"],
  ['CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = "exact", m = 5)', 'has no option "m"'],
])('%s is refused', async (statement, message) => {
  expect(await sql(statement)).toContain(message)
})

test('a refused request changes nothing', async () => {
  const { body } = await t.send('GET', `${KBS}/kb`)
  expect((body as { params: Sent }).params).toMatchObject({
    created_embedding_model: 'kb_embedding_kb',
    vector_size: 64,
  })
  expect(Object.keys((body as { params: Sent }).params)).not.toContain('version')
})

test('fields of a form that says how files are read', async () => {
  for (const [name, value, status] of [
    ['header', 'true', 200],
    ['replace', 'true', 400],
    ['original_file_name', 'x', 400],
    ['source', 'http://x.test', 400],
  ] as const) {
    const form = new FormData()
    form.append('file', new File(['tea'], 'tea.txt'))
    form.append(name, value)
    const answer = await t.send('POST', `${KBS}/kb/files`, form)
    expect([name, answer.status, answer.text.includes(name)]).toEqual([
      name,
      status,
      status === 400,
    ])
  }
})

test("fields of OpenAI's chats that have no effect are named in the answer", async () => {
  const messages = [{ role: 'user', content: 'green tea?' }]
  const body = { model: 'mindsdb.a', messages, temperature: 0.3, seed: 4 }
  const { status, headers } = await t.send('POST', '/v1/chat/completions', body)
  expect([status, headers.get('x-eider-ignored')]).toEqual([200, 'temperature, seed'])
})

test('vector_size holds where the model could not be tried', async () => {
  const warning = 'it does not answer'
  const probe = async () => ({ kind: 'unreachable' as const, warning })
  const late = await createTestApp({ embedders: { ...wordEmbedders, probe } })
  const base = { name: 'late', vector_size: 9 }
  expect((await late.send('POST', KBS, { knowledge_base: base })).status).toBe(201)
  const rows = [{ id: '1', content: 'green tea' }]
  const stored = await late.send('PUT', `${KBS}/late`, { knowledge_base: { rows } })
  expect([stored.status, stored.text]).toEqual([400, expect.stringContaining('64')])
  for (const query of [
    'CREATE KNOWLEDGE_BASE later',
    `ALTER KNOWLEDGE_BASE later USING embedding_model = {"model_name": "all-MiniLM-L6-v2"}`,
  ]) {
    const { body } = await late.send('POST', '/api/sql/query', { query })
    expect(body).toMatchObject({ type: 'ok', warnings: [warning] })
  }
  await late.close()
})
