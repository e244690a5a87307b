import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Answer, createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const SMALL = { text_chunking_config: { chunk_size: 40, chunk_overlap: 10 } }

interface Item {
  readonly id: string
  readonly title: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly chunk_count: number
  readonly characters: number
  readonly content_columns: readonly string[]
}

interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
  readonly next: string | null
}

interface Whole extends Item {
  readonly content: Readonly<Record<string, string>>
  readonly exact: boolean
  readonly chunks: readonly {
    readonly chunk_id: string
    readonly content_column: string
    readonly start_char: number
    readonly end_char: number
  }[]
}

interface Chunk {
  readonly id: string
  readonly chunk_id: string
  readonly chunk_content: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly vector?: string
}

let t: TestApp
let names = 0

beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

/** Creates a knowledge base. @returns its path */
async function filled(rows: readonly unknown[], definition: object = {}): Promise<string> {
  names += 1
  const name = `kb${names}`
  const made = await t.send('POST', KBS, { knowledge_base: { name, ...definition } })
  expect(made.status).toBe(201)
  if (rows.length > 0) {
    const put = await t.send('PUT', `${KBS}/${name}`, { knowledge_base: { rows } })
    expect(put.status).toBe(200)
  }
  return `${KBS}/${name}`
}

async function page<T = Item>(path: string): Promise<Page<T>> {
  const { status, body, text } = await t.send('GET', path)
  expect(text).not.toBe('')
  expect(status).toBe(200)
  return body as Page<T>
}

async function ids(path: string): Promise<readonly string[]> {
  return (await page(path)).items.map(({ id }) => id)
}

function code({ body }: Answer): unknown {
  return (body as { readonly code: string }).code
}

function pathOf(kb: string, id: string): string {
  return `${kb}/documents/${encodeURIComponent(id)}`
}

const LONG = Array.from({ length: 9 }, (_, index) => `word${index} is here`).join(' ')

describe('the list of documents', () => {
  test('returns what is known about each, in the order in which they were stored', async () => {
    const kb = await filled(
      [
        { id: 'b', content: LONG, title: 'The second letter', year: 2 },
        { id: 'a', content: 'short', year: null },
      ],
      { preprocessing: SMALL },
    )
    const { items, total, next } = await page(`${kb}/documents`)
    expect({ total, next }).toEqual({ total: 2, next: null })
    expect(items.map(({ id, title, characters }) => [id, title, characters])).toEqual([
      ['b', 'The second letter', LONG.length],
      ['a', null, 5],
    ])
    expect(items[0]?.chunk_count).toBeGreaterThan(2)
    expect(items[0]?.content_columns).toEqual(['content'])
    expect(items[0]?.metadata).toEqual({ title: 'The second letter', year: 2 })
    expect(items[1]?.metadata).toEqual({ year: null })
  })

  test('goes page by page to its end, also while documents change and go', async () => {
    const rows = Array.from({ length: 25 }, (_, index) => ({ id: `d${index}`, content: LONG }))
    const kb = await filled(rows, { preprocessing: SMALL })
    const seen: string[] = []
    let next: string | null = '0'
    let pages = 0
    while (next !== null) {
      const found: Page<Item> = await page(`${kb}/documents?limit=10&cursor=${next}`)
      seen.push(...found.items.map(({ id }) => id))
      next = found.next
      pages += 1
      if (pages === 1) {
        expect((await t.send('DELETE', pathOf(kb, 'd3'))).status).toBe(204)
        expect((await t.send('DELETE', pathOf(kb, 'd15'))).status).toBe(204)
        await t.send('PATCH', pathOf(kb, 'd16'), { metadata: { seen: 1 } })
        await t.send('PUT', `${kb}`, { knowledge_base: { rows: [{ id: 'new', content: 'x' }] } })
      }
    }
    const expected = rows.map(({ id }) => id).filter((id) => id !== 'd15')
    expect(seen).toEqual([...expected, 'new'])
    expect((await page(`${kb}/documents`)).total).toBe(24)
  })

  test('knows a document of which a part was changed later', async () => {
    const kb = await filled(
      [
        { id: 'x', a: 'one', b: 'two' },
        { id: 'y', a: 'three', b: '' },
        { id: 'z', a: LONG, b: 'four' },
      ],
      { content_columns: ['a', 'b'], preprocessing: SMALL },
    )
    await t.send('POST', '/api/sql/query', {
      query: `UPDATE ${kb.split('/').at(-1)} SET a = 'changed' WHERE id = 'x'`,
    })
    const all: Item[] = []
    for (let next: string | null = '0'; next !== null; ) {
      const found: Page<Item> = await page(`${kb}/documents?limit=1&cursor=${next}`)
      all.push(...found.items)
      next = found.next
    }
    expect(all.map(({ id, chunk_count }) => [id, chunk_count > 0])).toEqual([
      ['x', true],
      ['y', true],
      ['z', true],
    ])
    expect(all[0]?.chunk_count).toBe(2)
    expect(all[0]?.characters).toBe('changed'.length + 'two'.length)
  })

  test('takes filters, a part of id or title, and an offset', async () => {
    const kb = await filled([
      { id: 'Äpfel/1', content: 'x', title: 'Über Obst', price: 1 },
      { id: '100%_a', content: 'x', title: 'other', price: 2 },
      { id: 'plain', content: 'x', price: 3 },
    ])
    const list = (query: Record<string, string>) => {
      return ids(`${kb}/documents?${new URLSearchParams(query)}`)
    }
    expect(await list({ filters: '{"price": {">": 1}}' })).toEqual(['100%_a', 'plain'])
    expect(await list({ q: 'ÄPFEL' })).toEqual(['Äpfel/1'])
    expect(await list({ q: 'über' })).toEqual(['Äpfel/1'])
    expect(await list({ q: '%' })).toEqual(['100%_a'])
    expect(await list({ q: '_' })).toEqual(['100%_a'])
    expect(await list({ q: "' OR 1=1 --" })).toEqual([])
    expect(await list({ offset: '1', limit: '1' })).toEqual(['100%_a'])
    expect(await list({ q: 'x', offset: '9' })).toEqual([])
    const first = await page(
      `${kb}/documents?limit=1&filters=${encodeURIComponent('{"price":{">":1}}')}`,
    )
    expect({ total: first.total, count: first.items.length }).toEqual({ total: 2, count: 1 })
    const filters = encodeURIComponent('{"price":{">":1}}')
    const second = await page(`${kb}/documents?limit=1&filters=${filters}&cursor=${first.next}`)
    expect([second.items[0]?.id, second.next, second.total]).toEqual(['plain', null, 2])
  })

  test.each([
    ['limit=0', 'invalid_request'],
    ['limit=1001', 'invalid_request'],
    ['limit=1e3', 'invalid_request'],
    ['offset=-1', 'invalid_request'],
    ['cursor=abc', 'invalid_request'],
    ['cursor=1&offset=1', 'invalid_request'],
    ['limit=1&limit=2', 'invalid_request'],
    ['filters=[1]', 'invalid_request'],
    ['filters={', 'invalid_json'],
    [`filters=${encodeURIComponent('{"nope": 1}')}`, 'invalid_request'],
    ['page=1', 'unknown_field'],
  ])('refuses %p', async (query, expected) => {
    const kb = `${KBS}/kb1`
    const answer = await t.send('GET', `${kb}/documents?${query}`)
    expect([answer.status, code(answer)]).toEqual([400, expected])
  })

  test('an empty knowledge base has none, and one that is not there is 404', async () => {
    const kb = await filled([])
    expect(await page(`${kb}/documents`)).toEqual({ items: [], total: 0, next: null })
    expect(await page(`${kb}/documents?q=a`)).toEqual({ items: [], total: 0, next: null })
    expect(await page(`${kb}/chunks`)).toEqual({ items: [], total: 0, next: null })
    expect((await t.send('GET', `${KBS}/gone/documents`)).status).toBe(404)
  })
})

const HOSTILE_IDS = [
  'a/b/c',
  'https://example.org/a?b=c#d',
  'größe 日本 🦆',
  'it\'s "quoted" \\ %2F %',
  '...',
  'x'.repeat(3000),
  'id:content:1of1:0to5',
  '-- ; DROP TABLE x',
  'tab\tline\nend',
]

describe('one document', () => {
  test.each(HOSTILE_IDS)('with the id %p', async (id) => {
    const kb = await filled([])
    const put = await t.send('PUT', pathOf(kb, id), { content: 'ducks dive', metadata: { n: 1 } })
    expect(put.status).toBe(201)
    expect((put.body as Item).id).toBe(id)
    const other = { content: 'geese fly', metadata: { n: 2 } }
    expect((await t.send('PUT', pathOf(kb, id), other)).status).toBe(200)
    const atOnce = [1, 2, 3].map(() => t.send('PUT', `${pathOf(kb, id)}2`, other))
    const statuses = (await Promise.all(atOnce)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 200, 201])
    await t.send('DELETE', `${pathOf(kb, id)}2`)
    const read = (await t.send('GET', pathOf(kb, id))).body as Whole
    expect(read).toMatchObject({ id, content: { content: 'geese fly' }, metadata: { n: 2 } })
    expect(await ids(`${kb}/documents`)).toEqual([id])
    const changed = await t.send('PATCH', pathOf(kb, id), { metadata: { n: null, m: 'x' } })
    expect((changed.body as Item).metadata).toEqual({ m: 'x' })
    expect((await t.send('DELETE', pathOf(kb, id))).status).toBe(204)
    for (const method of ['GET', 'DELETE']) {
      const gone = await t.send(method, pathOf(kb, id))
      expect([gone.status, code(gone)]).toEqual([404, 'document_not_found'])
    }
    const patched = await t.send('PATCH', pathOf(kb, id), { metadata: { n: 1 } })
    expect([patched.status, code(patched)]).toEqual([404, 'document_not_found'])
  })

  test('gives back the text as it was sent, and its chunks with their offsets', async () => {
    const text = Array.from({ length: 40 }, (_, index) => `Sätze 🦆 Nummer ${index}.`).join(' ')
    const kb = await filled([{ id: 'a', content: text }], {
      preprocessing: { text_chunking_config: { chunk_size: 100, chunk_overlap: 30 } },
    })
    const read = (await t.send('GET', pathOf(kb, 'a'))).body as Whole
    expect(read.content).toEqual({ content: text })
    expect(read.exact).toBe(true)
    expect(read.characters).toBe(text.length)
    const { items } = await page<Chunk>(`${kb}/chunks?limit=1000&document_id=a`)
    expect(read.chunks.map(({ chunk_id }) => chunk_id)).toEqual(items.map((one) => one.chunk_id))
    for (const [index, { start_char, end_char }] of read.chunks.entries()) {
      expect(items[index]?.chunk_content).toBe(text.slice(start_char, end_char))
    }
  })

  test('says where white space between its chunks is not known any more', async () => {
    const text = `${'one two three four '.repeat(4).trim()}\n\n\t\n${'five six seven '.repeat(4).trim()}`
    const kb = await filled([{ id: 'a', content: text }], {
      preprocessing: { text_chunking_config: { chunk_size: 80, chunk_overlap: 0 } },
    })
    const read = (await t.send('GET', pathOf(kb, 'a'))).body as Whole
    expect(read.exact).toBe(false)
    expect(read.content.content?.length).toBe(text.length)
    expect(read.content.content?.replace(/\s+/g, ' ')).toBe(text.replace(/\s+/g, ' '))
  })

  test('is replaced whole, and refused whole', async () => {
    const kb = await filled([{ id: 'a', content: LONG, year: 1, old: 'x' }], {
      preprocessing: SMALL,
      metadata_columns: ['year', 'old', { name: 'day', type: 'DATE' }],
    })
    const wrong = [
      [{ content: 'x', metadata: { day: 'never' } }, 'insert_failed'],
      [{ content: 'x', metadata: { other: 1 } }, 'invalid_request'],
      [{ content: 'x', metadata: { content: 'y' } }, 'invalid_request'],
      [{ content: 'x', metadata: { id: 'y' } }, 'invalid_request'],
      [{ content: ' ', metadata: {} }, 'insert_failed'],
      [{ content: { text: 'x' } }, 'invalid_request'],
      [{ content: 1 }, 'invalid_request'],
      [{ text: 'x' }, 'missing_parameter'],
      [{ content: 'x', text: 'x' }, 'unknown_field'],
    ] as const
    for (const [body, expected] of wrong) {
      const answer = await t.send('PUT', pathOf(kb, 'a'), body)
      expect([answer.status, code(answer)]).toEqual([400, expected])
    }
    const stored = (await t.send('GET', pathOf(kb, 'a'))).body as Whole
    expect(stored).toMatchObject({ content: { content: LONG }, metadata: { year: 1, old: 'x' } })
    await t.send('PUT', pathOf(kb, 'a'), { content: { content: 'new' }, metadata: { Year: 2 } })
    const next = (await t.send('GET', pathOf(kb, 'a'))).body as Whole
    expect(next.chunk_count).toBe(1)
    expect(next.metadata).toEqual({ year: 2, old: null, day: null })
  })

  test('gets other metadata without being embedded again', async () => {
    const kb = await filled([{ id: 'a', content: LONG, year: 1, tags: ['x'] }], {
      preprocessing: SMALL,
      metadata_columns: ['year', 'tags', { name: 'day', type: 'DATE' }],
    })
    const before = await page<Chunk>(`${kb}/chunks?vectors=true`)
    const answer = await t.send('PATCH', pathOf(kb, 'a'), {
      metadata: { YEAR: 2024, tags: null, day: '2024-02-29' },
    })
    expect([answer.status, (answer.body as Item).metadata]).toEqual([
      200,
      { year: 2024, day: '2024-02-29' },
    ])
    const after = await page<Chunk>(`${kb}/chunks?vectors=true`)
    const part = ({ chunk_id, chunk_content, vector }: Chunk) => [chunk_id, chunk_content, vector]
    expect(after.items.map(part)).toEqual(before.items.map(part))
    expect(before.items[0]?.vector).toMatch(/^[A-Za-z0-9+/]+=*$/)
    const name = kb.split('/').at(-1)
    expect(
      await t.rows(`SELECT DISTINCT id FROM ${name} WHERE year = 2024 AND day = DATE '2024-02-29'`),
    ).toEqual([['a']])
    const wrong = await t.send('PATCH', pathOf(kb, 'a'), { metadata: { day: 'never' } })
    expect([wrong.status, code(wrong)]).toEqual([400, 'insert_failed'])
  })
})

describe('deleting by filters', () => {
  test('takes the documents whole, and says how many', async () => {
    const kb = await filled(
      Array.from({ length: 6 }, (_, index) => ({ id: `d${index}`, content: LONG, n: index })),
      { preprocessing: SMALL },
    )
    const where = (filters: unknown) => {
      return `${kb}/documents?filters=${encodeURIComponent(JSON.stringify(filters))}`
    }
    const some = await t.send('DELETE', where({ n: { '<': 2 } }))
    expect([some.status, (some.body as { deleted: number }).deleted]).toEqual([200, 2])
    const byChunk = await t.send(
      'DELETE',
      where({ id: 'd2', chunk_content: { contains: 'word8' } }),
    )
    expect((byChunk.body as { deleted: number }).deleted).toBe(1)
    expect(await ids(`${kb}/documents`)).toEqual(['d3', 'd4', 'd5'])
    for (const query of ['', '?filters={}', `?all=true&filters=${encodeURIComponent('{"n":1}')}`]) {
      const refused = await t.send('DELETE', `${kb}/documents${query}`)
      expect([refused.status, code(refused)]).toEqual([400, 'missing_parameter'])
    }
    expect((await t.send('DELETE', where({ n: 77 }))).body).toEqual({ deleted: 0, chunks: 0 })
    const all = await t.send('DELETE', `${kb}/documents?all=true`)
    expect((all.body as { deleted: number }).deleted).toBe(3)
    expect(await ids(`${kb}/documents`)).toEqual([])
  })
})

describe('the list of chunks', () => {
  test('goes page by page, with filters and with vectors', async () => {
    const kb = await filled(
      [
        { id: 'a', content: LONG, n: 1 },
        { id: 'b', content: LONG, n: 2 },
      ],
      { preprocessing: SMALL },
    )
    const name = kb.split('/').at(-1)
    const expected = await t.rows(`SELECT chunk_id, chunk_content, metadata FROM ${name}`)
    const seen: Chunk[] = []
    for (let next: string | null = '0'; next !== null; ) {
      const found: Page<Chunk> = await page<Chunk>(`${kb}/chunks?limit=3&cursor=${next}`)
      expect(found.total).toBe(expected.length)
      seen.push(...found.items)
      next = found.next
    }
    const shown = seen.map(({ chunk_id, chunk_content, metadata }) => {
      return [chunk_id, chunk_content, metadata]
    })
    expect(shown).toEqual(expected as never)
    const filters = encodeURIComponent('{"n": 2, "document_id": "b"}')
    const filtered = await page<Chunk>(`${kb}/chunks?filters=${filters}&vectors=true`)
    expect(new Set(filtered.items.map(({ id }) => id))).toEqual(new Set(['b']))
    const [first] = filtered.items
    const bytes = Buffer.from(first?.vector ?? '', 'base64')
    const vector = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 4)
  })
})

test('a document of JSON shows all of its chunks, one below the other', async () => {
  const preprocessing = { type: 'json_chunking' }
  await t.send('POST', KBS, { knowledge_base: { name: 'parts', preprocessing } })
  const content = '[{"tea": "green", "price": 3}, {"tea": "black"}]'
  await t.send('PUT', `${KBS}/parts`, { knowledge_base: { rows: [{ id: 'a', content }] } })
  const { body } = await t.send('GET', `${KBS}/parts/documents/a`)
  expect(body).toMatchObject({
    content: { content: 'tea: green\nprice: 3\n\ntea: black' },
    exact: false,
    chunks: [
      { start_char: 0, end_char: 19 },
      { start_char: 21, end_char: 31 },
    ],
  })
})
