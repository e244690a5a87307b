import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

const create = (fields: Record<string, unknown>) => t.send('POST', KBS, { knowledge_base: fields })
const put = (name: string, fields: Record<string, unknown>) => {
  return t.send('PUT', `${KBS}/${encodeURIComponent(name)}`, { knowledge_base: fields })
}

describe('create and read', () => {
  test('every field that clients read, secrets masked, ids numbers', async () => {
    const sent = {
      name: 'my_kb',
      storage: { database: 'my_vectors', table: 'my_table' },
      embedding_model: {
        provider: 'openai',
        model_name: 'text-embedding-3-small',
        api_key: 'sk-1',
      },
      reranking_model: { provider: 'openai', model_name: 'gpt-4o', api_key: 'sk-2' },
      metadata_columns: ['product'],
      content_columns: ['notes'],
      id_column: 'order_id',
    }
    const created = await create(sent)
    expect(created.status).toBe(201)
    expect(created.text).not.toContain('sk-')
    expect(created.body).toMatchObject({
      name: 'my_kb',
      project_name: 'mindsdb',
      vector_database: 'my_vectors',
      vector_database_table: 'my_table',
      query_id: null,
      embedding_model: { ...sent.embedding_model, api_key: '******' },
      reranking_model: { ...sent.reranking_model, api_key: '******' },
      metadata_columns: ['product'],
      content_columns: ['notes'],
      id_column: 'order_id',
      params: { created_embedding_model: 'kb_embedding_my_kb' },
    })
    const record = created.body as Record<string, unknown>
    expect(record.id).toBeNumber()
    expect(record.project_id).toBeNumber()
    for (const field of ['created_at', 'updated_at']) {
      expect(record[field]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/)
    }
    const read = await t.send('GET', `${KBS}/my_kb/`)
    expect([read.status, read.body]).toEqual([200, created.body])
  })

  test('names that differ only in case conflict', async () => {
    const again = await create({ name: 'MY_KB' })
    expect(again.status).toBe(409)
    expect(again.body).toMatchObject({
      title: 'Knowledge Base already exists',
      code: 'knowledge_base_exists',
      status: 409,
    })
    expect(again.headers.get('content-type')).toContain('application/problem+json')
  })

  test('a storage table serves one knowledge base only', async () => {
    const other = await create({
      name: 'o',
      storage: { database: 'my_vectors', table: 'my_table' },
    })
    expect(other.status).toBe(409)
  })

  const wrong: readonly (readonly [string, unknown, number, string])[] = [
    ['no wrapper', { name: 'x' }, 400, 'Must provide "knowledge_base" parameter in POST body'],
    ['no name', { knowledge_base: {} }, 400, 'Must provide "name" field in "knowledge_base"'],
    [
      'half a storage',
      { knowledge_base: { name: 'x', storage: { database: 'd' } } },
      400,
      'Must provide "database" and "table" field in "storage" param',
    ],
    ['an unknown field', { knowledge_base: { name: 'x', colour: 'red' } }, 400, 'colour'],
    ['a wrong type', { knowledge_base: { name: 'x', content_columns: 5 } }, 400, 'content_columns'],
    ['a name with a slash', { knowledge_base: { name: 'a/b' } }, 400, 'name'],
    ['500 characters', { knowledge_base: { name: 'x'.repeat(500) } }, 400, '128'],
    ['an empty name', { knowledge_base: { name: '' } }, 400, 'empty'],
    [
      'an overlap that is no less than the size',
      {
        knowledge_base: {
          name: 'x',
          preprocessing: { text_chunking_config: { chunk_size: 100, chunk_overlap: 100 } },
        },
      },
      400,
      'chunk_overlap',
    ],
  ]
  for (const [what, body, status, detail] of wrong) {
    test(`${what} creates nothing`, async () => {
      const answer = await t.send('POST', KBS, body)
      expect(answer.status).toBe(status)
      expect((answer.body as { detail: string }).detail).toContain(detail)
      const names = ((await t.send('GET', KBS)).body as { name: string }[]).map((kb) => kb.name)
      expect(names).toEqual(['my_kb'])
    })
  }

  test('unknown project and knowledge base are 404', async () => {
    const project = await t.send('GET', '/api/projects/nope/knowledge_bases/x')
    expect([project.status, project.body]).toMatchObject([404, { title: 'Project not found' }])
    const kb = await t.send('GET', `${KBS}/nope`)
    expect([kb.status, kb.body]).toMatchObject([404, { title: 'Knowledge Base not found' }])
  })

  test('names with quotes, spaces, emoji and key words work in paths and SQL', async () => {
    for (const name of ['it\'s "quoted"', 'two words', '🦆 eider', 'select', 'ORDER BY 1; --']) {
      expect((await create({ name })).status).toBe(201)
      expect((await put(name, { rows: [{ id: 1, content: 'hello' }] })).status).toBe(200)
      const quoted = `"${name.replaceAll('"', '""')}"`
      expect(await t.rows(`SELECT id FROM mindsdb.${quoted} WHERE content = 'hello'`)).toEqual([
        ['1'],
      ])
      const path = `${KBS}/${encodeURIComponent(name)}`
      expect((await t.send('DELETE', path)).status).toBe(204)
      expect((await t.send('GET', path)).status).toBe(404)
    }
  })
})

describe('insert rows', () => {
  test('answers the JSON string "" and keeps true offsets', async () => {
    await create({ name: 'text', preprocessing: { text_chunking_config: { chunk_size: 40 } } })
    const text = 'Alpha beta gamma delta.\n\nEpsilon zeta eta theta iota.\n\nKappa lambda mu nu xi.'
    const answer = await put('text', { rows: [{ id: 'd', content: text, tag: 'greek' }] })
    expect([answer.status, answer.text]).toEqual([200, '""'])
    const rows = await t.rows('SELECT * FROM text')
    expect(rows.length).toBeGreaterThan(2)
    rows.forEach(([id, chunkId, content, metadata, relevance, distance], index) => {
      const { start_char: start, end_char: end } = metadata as Record<string, number>
      expect(id).toBe('d')
      expect(chunkId).toBe(`d:content:${index + 1}of${rows.length}:${start}to${end}`)
      expect(text.slice(start, end)).toBe(String(content))
      expect(metadata).toMatchObject({
        chunk_index: index,
        content_column: 'content',
        original_doc_id: 'd',
        original_row_index: '0',
        source: 'TextChunkingPreprocessor',
        tag: 'greek',
      })
      expect([relevance, distance]).toEqual([null, null])
    })
  })

  test('a repeated id replaces the whole document; the last row with an id wins', async () => {
    await put('text', {
      rows: [
        { id: 'd', content: 'first version', tag: 'a' },
        { id: 'd', content: 'second version', tag: 'b' },
      ],
    })
    expect(await t.rows('SELECT chunk_content, tag FROM text')).toEqual([['second version', 'b']])
  })

  test('unchanged text is not embedded again', async () => {
    const asked: string[] = []
    const counting = await createTestApp({
      embedders: {
        providers: ['builtin'],
        probe: async () => ({ kind: 'ready', dimensions: 2 }),
        embedder: () => ({
          embed: async (texts) => {
            asked.push(...texts)
            return texts.map(() => Float32Array.from([1, 1]))
          },
        }),
      },
    })
    const insert = (tag: string, content: string) => {
      const rows = [{ id: 1, content, tag }]
      return counting.send('PUT', `${KBS}/k`, { knowledge_base: { rows } })
    }
    await counting.send('POST', KBS, { knowledge_base: { name: 'k' } })
    await insert('a', 'the same')
    await insert('b', 'the same')
    await insert('c', 'another')
    expect(asked).toEqual(['the same', 'another'])
    expect(await counting.rows('SELECT tag FROM k')).toEqual([['c']])
    await counting.close()
  })

  test('ids of every type, and none', async () => {
    await create({ name: 'ids' })
    const rows = [
      { id: 7, content: 'seven' },
      { id: 1.5, content: 'a half' },
      { id: true, content: 'truth' },
      { id: 'a "quoted" id', content: 'quoted' },
      { id: { a: 1 }, content: 'object' },
      { id: null, content: 'review' },
      { content: 'Request color: black' },
    ]
    expect((await put('ids', { rows })).status).toBe(200)
    const ids = (await t.rows('SELECT id FROM ids')).map(([id]) => id)
    expect(ids).toEqual([
      '7',
      '1.5',
      'true',
      'a "quoted" id',
      '{"a":1}',
      '1c67665285fb6a7d',
      'e96d3f2c727fe8dc',
    ])
    expect(await t.rows('SELECT chunk_content FROM ids WHERE id = 7')).toEqual([['seven']])
  })

  test('an empty content is skipped, a missing one is named', async () => {
    await create({ name: 'gaps', content_columns: ['notes'] })
    const skipped = await put('gaps', {
      rows: [
        { id: 1, notes: '' },
        { id: 2, notes: 'kept' },
      ],
    })
    expect(skipped.status).toBe(200)
    const missing = await put('gaps', { rows: [{ id: 3, text: 'x' }] })
    expect(missing.status).toBe(400)
    expect(missing.body).toMatchObject({ title: 'Preprocessing Error' })
    expect((missing.body as { detail: string }).detail).toMatch(/notes.*id, text/s)
    expect(await t.rows('SELECT id FROM gaps')).toEqual([['2']])
  })

  test('metadata keeps its types, and a value of another type is read as it was sent', async () => {
    await create({ name: 'typed' })
    await put('typed', {
      rows: [
        { id: 1, content: 'a', price: 9, isNew: true, tags: ['x'], note: null },
        { id: 2, content: 'b', price: 9.5, isNew: false, tags: [], note: 'n' },
      ],
    })
    expect(await t.rows('SELECT id FROM typed WHERE price > 9 AND NOT isnew')).toEqual([['2']])
    await put('typed', { rows: [{ id: 3, content: 'c', price: 'cheap' }] })
    const sql = "SELECT id, price FROM typed WHERE metadata->>'price' = 'cheap' OR price = 9"
    expect(await t.rows(sql)).toEqual([
      ['1', 9],
      ['3', null],
    ])
    const [[metadata] = []] = await t.rows('SELECT metadata FROM typed WHERE id = 1')
    expect(metadata).toMatchObject({ price: 9, isNew: true, tags: ['x'], note: null })
  })

  test('hostile text is stored unchanged if it is valid text', async () => {
    await create({ name: 'hostile' })
    const content = 'a\u0000b \u{1F986} it\'s "x" \\ $1 :p {{x}} \ud800 end'
    expect((await put('hostile', { rows: [{ id: 1, content }] })).status).toBe(200)
    const [[stored] = []] = await t.rows('SELECT chunk_content FROM hostile')
    expect(stored).toBe(content.toWellFormed())
  })
})

describe('insert from a query and from files', () => {
  test('the rows of a SELECT', async () => {
    await create({ name: 'source' })
    await put('source', { rows: [1, 2, 3].map((id) => ({ id, content: `text ${id}`, n: id })) })
    await create({ name: 'target' })
    const query = 'SELECT id, chunk_content AS content, n FROM source WHERE n > 1'
    expect((await put('target', { query })).status).toBe(200)
    expect(await t.rows('SELECT id, n FROM target ORDER BY n')).toEqual([
      ['2', 2],
      ['3', 3],
    ])
  })

  for (const query of [
    '-- only a comment',
    'DROP KNOWLEDGE_BASE source',
    'SELECT 1; SELECT 2',
    'SELEC 1',
    "COPY x TO 'y'",
  ]) {
    test(`${query} is refused before it runs`, async () => {
      const answer = await put('target', { query })
      expect([answer.status, answer.body]).toMatchObject([400, { title: 'Invalid SELECT query' }])
      expect((await t.send('GET', `${KBS}/source`)).status).toBe(200)
    })
  }

  test('an uploaded CSV is a table and a source', async () => {
    const form = new FormData()
    form.set('file', new File(['id,content,price\n1,green tea,9\n2,black tea,6\n'], 'teas.csv'))
    expect((await t.send('PUT', '/api/files/teas', form)).status).toBe(200)
    expect(await t.rows('SELECT id, price FROM files.teas ORDER BY price')).toEqual([
      [2, 6],
      [1, 9],
    ])
    await create({ name: 'from_file' })
    expect((await put('from_file', { files: ['teas'] })).status).toBe(200)
    expect(await t.rows('SELECT id, price FROM from_file WHERE price < 8')).toEqual([['2', 6]])
    const unknown = await put('from_file', { files: ['nope'] })
    expect([unknown.status, unknown.body]).toMatchObject([400, { title: 'Preprocessing Error' }])
  })

  test('an uploaded Markdown file is a document', async () => {
    const form = new FormData()
    form.set('file', new File(['# Ducks\n\nThe eider is a large sea duck.'], 'ducks.md'))
    await t.send('PUT', '/api/files/ducks', form)
    await create({ name: 'from_markdown' })
    expect((await put('from_markdown', { files: ['ducks'] })).status).toBe(200)
    const [[id, content] = []] = await t.rows(
      "SELECT id, chunk_content FROM from_markdown WHERE content = 'sea duck'",
    )
    expect(id).toBe('ducks')
    expect(content).toContain('The eider is a large sea duck.')
  })
})

describe('alter and delete', () => {
  test('null removes only a default for searches', async () => {
    const defaults = {
      hybrid_search: true,
      hybrid_search_alpha: 0.4,
      hybrid_search_fusion: 'rrf',
      hybrid_search_feedback: false,
    }
    await create({ name: 'reset', id_column: 'key', ...defaults })
    const params = async () => {
      const { body } = await t.send('GET', `${KBS}/reset`)
      return (body as { params: Record<string, unknown> }).params
    }
    expect(await params()).toMatchObject(defaults)
    // Some clients send every field with what they insert.
    const rows = [{ key: 'a', content: 'Green tea' }]
    expect((await put('reset', { rows, hybrid_search_alpha: null })).status).toBe(200)
    expect(await params()).toMatchObject(defaults)
    expect((await put('reset', { hybrid_search_alpha: null, id_column: null })).text).toBe('""')
    const { hybrid_search_alpha: _, ...others } = defaults
    expect(await params()).toMatchObject(others)
    expect(await params()).not.toHaveProperty('hybrid_search_alpha')
    await put('reset', { params: { hybrid_search_fusion: null }, hybrid_search: true })
    expect(await params()).not.toHaveProperty('hybrid_search_fusion')
    const query =
      'ALTER KNOWLEDGE_BASE reset USING hybrid_search = null, hybrid_search_feedback = NULL'
    expect((await t.send('POST', '/api/sql/query', { query })).body).toMatchObject({ type: 'ok' })
    const left = await params()
    for (const name of Object.keys(defaults)) expect(left).not.toHaveProperty(name)
    expect(((await t.send('GET', `${KBS}/reset`)).body as { id_column: string }).id_column).toBe(
      'key',
    )
  })

  test('both forms of an alteration, and nothing else changes', async () => {
    await create({ name: 'altered', metadata_columns: ['a'] })
    expect((await put('altered', { metadata_columns: ['a', 'b'] })).text).toBe('""')
    await put('altered', { params: { id_column: 'key' } })
    const { body } = await t.send('GET', `${KBS}/altered`)
    expect(body).toMatchObject({ metadata_columns: ['a', 'b'], id_column: 'key' })
  })

  test('two knowledge bases of one name in two projects share nothing', async () => {
    expect((await t.send('POST', '/api/projects', { project: { name: 'other' } })).status).toBe(201)
    const other = '/api/projects/other/knowledge_bases'
    await create({ name: 'twin' })
    await t.send('POST', other, { knowledge_base: { name: 'twin' } })
    await put('twin', { rows: [{ id: 1, content: 'here' }] })
    expect(await t.rows('SELECT * FROM other.twin')).toEqual([])
    expect((await t.send('DELETE', `${other}/twin`)).status).toBe(204)
    expect(await t.rows('SELECT chunk_content FROM twin')).toEqual([['here']])
    expect((await t.send('DELETE', '/api/projects/other')).status).toBe(204)
  })
})
