import { describe, expect, test } from 'bun:test'
import { type Received, type Sent, send, type TestServer, testServer } from './server-fixture.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const AGENTS = '/api/projects/mindsdb/agents'
const STAMP = '2026-04-30 12:00:00.000000'

function client({ server }: TestServer) {
  return (line: string, json?: unknown): Promise<Received> => {
    return send(server, line, json === undefined ? {} : { json })
  }
}

const OPENAI = {
  provider: 'openai',
  model_name: 'text-embedding-3-small',
  api_key: 'sk-secret-1',
}

describe('knowledge bases', () => {
  test('POST answers 201 with the record of the contract, defaults shown', async () => {
    const call = client(testServer())
    const { status, json } = await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    expect(status).toBe(201)
    expect(json).toEqual({
      id: 2,
      name: 'teas',
      project_id: 1,
      project_name: 'mindsdb',
      vector_database: 'duckdb',
      vector_database_table: 'teas',
      updated_at: STAMP,
      created_at: STAMP,
      query_id: null,
      embedding_model: { provider: 'builtin', model_name: 'all-MiniLM-L6-v2', api_key: '' },
      reranking_model: null,
      metadata_columns: [],
      metadata_types: {},
      content_columns: ['content'],
      id_column: 'id',
      params: { created_embedding_model: 'kb_embedding_teas' },
    })
    expect((await call(`GET ${KBS}/teas`)).json).toEqual(json)
    expect((await call(`GET ${KBS}/`)).json).toEqual([json])
  })

  test('the body of the Python client, nulls included, is understood', async () => {
    const call = client(testServer())
    const knowledge_base = {
      name: 'teas',
      storage: null,
      embedding_model: null,
      reranking_model: null,
      metadata_columns: ['price'],
      content_columns: null,
      id_column: null,
      params: {},
    }
    const { status, json } = await call(`POST ${KBS}/`, { knowledge_base })
    expect(status).toBe(201)
    expect(json).toMatchObject({ metadata_columns: ['price'], content_columns: ['content'] })
  })

  test('no answer shows a secret', async () => {
    const call = client(testServer())
    const embedding_model = { ...OPENAI, base_url: 'https://models.example/v1' }
    const knowledge_base = { name: 'teas', embedding_model, reranking_model: OPENAI }
    const answers = [
      await call(`POST ${KBS}`, { knowledge_base }),
      await call(`GET ${KBS}`),
      await call(`GET ${KBS}/teas`),
      await call(`PUT ${KBS}/teas`, { knowledge_base: { embedding_model: OPENAI } }),
    ]
    for (const { text } of answers) expect(text).not.toContain('secret-')
    expect(answers[2]?.json).toMatchObject({
      embedding_model: {
        api_key: '******',
        base_url: 'https://models.example/v1',
      },
      reranking_model: { api_key: '******' },
    })
  })

  const urls = ['https://a.example']
  const INSERTS: readonly (readonly [object, object])[] = [
    [{ rows: [{ id: 1, content: 'a' }] }, { rows: [{ id: 1, content: 'a' }] }],
    [{ query: 'SELECT 1', rows: null }, { query: 'SELECT 1' }],
    [{ files: ['a', 'b'] }, { files: ['a', 'b'] }],
    [
      { urls, crawl_depth: 1, limit: 2, filters: ['.*'] },
      { urls, crawl: { pagesMax: 2, depth: 1, allowedDomains: [], patterns: ['.*'] } },
    ],
    [
      { urls, limit: null, filters: { allowed_domains: ['a.example'] } },
      { urls, crawl: { allowedDomains: ['a.example'], patterns: [] } },
    ],
  ]
  for (const [sent, inserted] of INSERTS) {
    test(`PUT ${JSON.stringify(sent)} inserts, and answers the JSON string ""`, async () => {
      const fixture = testServer()
      const call = client(fixture)
      await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
      const { status, text, headers } = await call(`PUT ${KBS}/Teas`, { knowledge_base: sent })
      expect([status, text]).toEqual([200, '""'])
      expect(headers.get('content-type')).toStartWith('application/json')
      expect(fixture.inserted.map(({ kb, ...request }) => ({ name: kb.name, ...request }))).toEqual(
        [{ name: 'teas', crawl: { allowedDomains: [], patterns: [] }, ...inserted }],
      )
    })
  }

  test('PUT alters first, so that rows sent along are cut by the new definition', async () => {
    const fixture = testServer()
    const call = client(fixture)
    await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    const preprocessing = { type: 'text_chunking', text_chunking_config: { chunk_size: 80 } }
    const rows = [{ content: 'a' }]
    await call(`PUT ${KBS}/teas`, { knowledge_base: { rows, preprocessing } })
    expect(fixture.inserted[0]?.kb.preprocessing.chunkSizeChars).toBe(80)
    const { json } = await call(`GET ${KBS}/teas`)
    expect(json).toMatchObject({ params: { preprocessing } })
  })

  test('PUT with an unknown field stores nothing and names it', async () => {
    const fixture = testServer()
    const call = client(fixture)
    await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    const sent = { rows: [{ content: 'a' }], crawl_dept: 2 }
    const { status, json } = await call(`PUT ${KBS}/teas`, { knowledge_base: sent })
    expect(status).toBe(400)
    expect(json).toMatchObject({ detail: expect.stringContaining("'crawl_dept'") })
    expect(fixture.inserted).toEqual([])
  })

  test('rows keep what JSON says: large whole numbers keep their digits', async () => {
    const fixture = testServer()
    await client(fixture)(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    const body =
      '{"knowledge_base":{"rows":[{"id":12345678901234567890,"a":9007199254740993,"b":1e20,"c":"__proto__"}]}}'
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    await send(fixture.server, `PUT ${KBS}/teas`, { body, headers })
    const [row] = fixture.inserted[0]?.rows ?? []
    expect(row).toEqual({
      id: '12345678901234567890',
      a: '9007199254740993',
      b: 1e20,
      c: '__proto__',
    })
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype)
  })

  const REFUSED: readonly (readonly [string, string])[] = [
    ['"limit":0', '"limit" must be an integer from 1 to 1000000, not the number 0'],
    ['"limit":1000001', '"limit" must be an integer from 1 to 1000000, not the number 1000001'],
    ['"limit":"2"', '"limit" must be an integer from 1 to 1000000, not a string'],
    ['"crawl_depth":-1', '"crawl_depth" must be an integer from 0 to 1000, not the number -1'],
    [
      '"hybrid_search_alpha":2',
      '"hybrid_search_alpha" must be a number from 0 to 1, not the number 2',
    ],
    ['"crawl_depth":1.5', '"crawl_depth" must be an integer from 0 to 1000, not the number 1.5'],
    [
      '"crawl_depth":1152921504606846976',
      '"crawl_depth" must be an integer from 0 to 1000, not the number 1152921504606846976',
    ],
    ['"urls":"https://a.example"', '"urls" must be a list of strings, not a string'],
    ['"content_columns":"a"', '"content_columns" must be a list of strings, not a string'],
    ['"metadata_columns":"a"', '"metadata_columns" must be a list of values, not a string'],
    [
      '"filters":{"allowed_domains":"x"}',
      '"filters.allowed_domains" must be a list of strings, not a string',
    ],
    [
      '"filters":{"allowed_domains":["x",1]}',
      '"filters.allowed_domains[1]" must be a string, not the number 1',
    ],
    ['"filters":5', '"filters" must be a list of strings or an object, not the number 5'],
    ['"filters":["x",1]', '"filters[1]" must be a string, not the number 1'],
    ['"error":"skp"', '"error" must be "raise" or "skip", not "skp"'],
    ['"error":5', '"error" must be "raise" or "skip", not the number 5'],
  ]
  for (const [sent, message] of REFUSED) {
    test(`PUT {${sent}} is refused: ${message}`, async () => {
      const fixture = testServer()
      await client(fixture)(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
      const body = `{"knowledge_base":{"urls":["https://a.example"],${sent}}}`
      const headers = { 'content-type': 'application/json' }
      const { status, json } = await send(fixture.server, `PUT ${KBS}/teas`, { body, headers })
      expect(status).toBe(400)
      expect(json).toMatchObject({ detail: `Field "knowledge_base.${message.slice(1)}` })
      expect(fixture.inserted).toEqual([])
    })
  }

  test('PUT with an unknown filter names it and the known one', async () => {
    const call = client(testServer())
    await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    const refused = async (filters: object) => {
      return (await call(`PUT ${KBS}/teas`, { knowledge_base: { urls: ['x'], filters } })).json
    }
    const detail = 'Unknown field "knowledge_base.filters.zork"; expected "allowed_domains"'
    expect(await refused({ zork: 1 })).toMatchObject({ code: 'unknown_field', detail })
    expect(await refused({})).toMatchObject({
      code: 'missing_parameter',
      detail: 'Must provide "allowed_domains" field in "knowledge_base.filters"',
    })
  })

  test('PUT with an insert and "rechunk" says that they go in two requests', async () => {
    const call = client(testServer())
    await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    const sent = { knowledge_base: { rows: [{ content: 'Sencha' }], rechunk: true } }
    const { status, json } = await call(`PUT ${KBS}/teas`, sent)
    const how = 'it applies to stored documents; send the insert in a request of its own'
    const detail = `"rechunk" cannot be sent with an insert: ${how}`
    expect([status, json]).toMatchObject([400, { code: 'invalid_request', detail }])
  })

  test('a row that is not an object is named by its position', async () => {
    const call = client(testServer())
    await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    const { json } = await call(`PUT ${KBS}/teas`, { knowledge_base: { rows: [{}, 'a'] } })
    expect(json).toMatchObject({
      code: 'invalid_request',
      detail: 'Field "knowledge_base.rows[1]" must be an object, not a string',
    })
  })

  test('DELETE answers 204 without a body, a second time 404', async () => {
    const call = client(testServer())
    await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    const { status, text } = await call(`DELETE ${KBS}/teas/`)
    expect([status, text]).toEqual([204, ''])
    expect((await call(`DELETE ${KBS}/teas`)).status).toBe(404)
  })

  test('a name is percent-decoded once', async () => {
    const call = client(testServer())
    await call(`POST ${KBS}`, { knowledge_base: { name: 'grüne tees 50%20' } })
    const { json } = await call(`GET ${KBS}/gr%C3%BCne%20tees%2050%2520`)
    expect(json).toMatchObject({ name: 'grüne tees 50%20' })
  })
})

describe('agents', () => {
  const model = {
    provider: 'openai',
    model_name: 'gpt-4o',
    api_key: 'sk-secret-1',
  }

  test('the body of the Python client, nulls included, is understood', async () => {
    const call = client(testServer())
    const agent = {
      name: 'sommelier',
      model_name: null,
      provider: null,
      data: { knowledge_bases: ['mindsdb.teas'], tables: [] },
      model,
      prompt_template: 'Answer about tea',
      params: {},
    }
    const { status, json } = await call(`POST ${AGENTS}`, { agent })
    expect(status).toBe(201)
    expect(json).toEqual({
      id: 2,
      name: 'sommelier',
      project_id: 1,
      created_at: STAMP,
      updated_at: STAMP,
      data: { knowledge_bases: ['mindsdb.teas'], tables: [] },
      model,
      prompt_template: 'Answer about tea',
      params: {},
      warnings: [],
    })
  })

  test('what was read can be sent back and changes nothing', async () => {
    const call = client(testServer())
    const made = await call(`POST ${AGENTS}`, { agent: { name: 'a' } })
    const { data, model: shown, prompt_template, params } = made.json as Record<string, unknown>
    const agent = { name: 'a', data, model: shown, prompt_template, params }
    expect((await call(`PUT ${AGENTS}/a`, { agent })).json).toEqual(made.json)
  })

  test('an empty change answers the record, DELETE 204', async () => {
    const call = client(testServer())
    await call(`POST ${AGENTS}`, { agent: { name: 'a', params: { timeout: 5 } } })
    const { status, json } = await call(`PUT ${AGENTS}/A`, { agent: {} })
    expect(status).toBe(200)
    expect(json).toMatchObject({ name: 'a', params: { timeout: 5 } })
    expect((await call(`DELETE ${AGENTS}/a`)).status).toBe(204)
    expect((await call(`GET ${AGENTS}/`)).json).toEqual([])
  })
})

describe('projects', () => {
  test('create with and without wrapper, list, read, delete', async () => {
    const call = client(testServer())
    expect((await call('POST /api/projects', { project: { name: 'p1' } })).status).toBe(201)
    expect((await call('POST /api/projects/', { name: 'p2' })).status).toBe(201)
    expect((await call('POST /api/projects', { name: 'p2' })).status).toBe(409)
    expect((await call('POST /api/projects', { nam: 'p2' })).status).toBe(400)
    const names = ['mindsdb', 'p1', 'p2'].map((name) => expect.objectContaining({ name }))
    expect((await call('GET /api/projects')).json).toEqual(names)
    expect((await call('GET /api/projects/P1')).json).toMatchObject({ name: 'p1' })
    expect((await call('DELETE /api/projects/p1')).status).toBe(204)
    expect((await call('GET /api/projects/p1')).status).toBe(404)
  })

  test('databases and tree show what SQL can name', async () => {
    const call = client(testServer())
    await call(`POST ${KBS}`, { knowledge_base: { name: 'teas' } })
    await call(`POST ${AGENTS}`, { agent: { name: 'a' } })
    const names = ['information_schema', 'mindsdb', 'files']
    const named = names.map((name) => expect.objectContaining({ name }))
    expect((await call('GET /api/databases/')).json).toEqual(named)
    expect((await call('GET /api/databases/files')).json).toMatchObject({ type: 'data' })
    expect((await call('GET /api/databases/nope')).status).toBe(404)
    expect((await call('GET /api/tree/?x')).json).toEqual(named)
    expect((await call('GET /api/tree/mindsdb?all_schemas=1')).json).toMatchObject([
      { name: 'models', type: 'table', deletable: false },
      { name: 'teas', type: 'knowledge_base' },
      { name: 'a', type: 'agent' },
    ])
    expect((await call('GET /api/tree/files')).json).toEqual([])
  })
})

describe('files', () => {
  const form = (): Sent => {
    const body = new FormData()
    body.append('original_file_name', 'my teas.csv')
    body.append('name', 'teas')
    body.append('source_type', 'file')
    body.append('file', new File(['a,b\n1,2'], 'ignored.csv'))
    return { body }
  }
  const UPLOADS: readonly (readonly [string, Sent, string, string])[] = [
    ['PUT /api/files/teas', form(), 'my teas.csv', 'a,b\n1,2'],
    ['PUT /api/files/teas?original_file_name=x.csv', { body: 'a' }, 'x.csv', 'a'],
    ['PUT /api/files/teas', { body: new Uint8Array([97]) }, 'teas', 'a'],
    ['PUT /api/files/teas', { json: [{ a: 1 }] }, 'teas', '[{"a":1}]'],
    ['PUT /api/files/teas', { json: { source_type: 'file' } }, 'teas', '{"source_type":"file"}'],
  ]
  for (const [line, sent, originalName, content] of UPLOADS) {
    test(`${line} as ${originalName} stores ${JSON.stringify(content)}`, async () => {
      const { server, uploaded } = testServer()
      const { status, text } = await send(server, line, sent)
      expect(status).toBe(200)
      expect(JSON.parse(text)).toMatchObject({ name: 'teas', original_file_name: originalName })
      expect(uploaded).toEqual([{ name: 'teas', originalName, text: content }])
    })
  }

  const REFUSED: readonly (readonly [string, Sent])[] = [
    [
      'The body is not valid multipart/form-data',
      { body: 'nonsense', headers: { 'content-type': 'multipart/form-data; boundary=x' } },
    ],
    [
      'The body is not valid multipart/form-data',
      { body: 'nonsense', headers: { 'content-type': 'multipart/form-data' } },
    ],
  ]
  for (const [detail, sent] of REFUSED) {
    test(`${detail}: ${JSON.stringify(sent)}`, async () => {
      const { server, uploaded } = testServer()
      const { status, json } = await send(server, 'PUT /api/files/teas', sent)
      expect(status).toBe(400)
      expect(json).toMatchObject({ detail: expect.stringContaining(detail) })
      expect(uploaded).toEqual([])
    })
  }
})
