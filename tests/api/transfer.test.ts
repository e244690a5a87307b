import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { type Answer, createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const PARQUET = { 'content-type': 'application/vnd.apache.parquet' }

let from: TestApp
let to: TestApp
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-transfer-'))
  from = await createTestApp()
  to = await createTestApp()
})
afterAll(async () => {
  await from.close()
  await to.close()
  await rm(folder, { recursive: true, force: true })
})

const WORDS = 'tea coffee water milk juice wine beer cider mate cocoa soda broth'.split(' ')

function rowsOf(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `doc/${index} ä🦆`,
    content: Array.from(
      { length: 30 },
      (_, at) => WORDS[(index * 7 + at * (1 + (index % 5))) % WORDS.length],
    ).join(' '),
    price: index / 4,
    tags: [`t${index % 3}`, 'all'],
    day: `2024-01-${String((index % 28) + 1).padStart(2, '0')}`,
    Title: `Number ${index}`,
    source: index % 2 === 0 ? 'own' : null,
  }))
}

async function made(app: TestApp, name: string, definition: object = {}): Promise<string> {
  const answer = await app.send('POST', KBS, { knowledge_base: { name, ...definition } })
  expect(answer.status).toBe(201)
  return `${KBS}/${name}`
}

async function inserted(app: TestApp, kb: string, rows: readonly object[]): Promise<void> {
  const answer = await app.send('PUT', kb, { knowledge_base: { rows } })
  expect(answer.text).toBe('""')
}

async function exported(app: TestApp, kb: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await app.app.handle(new Request(`http://localhost${kb}/export`))
  expect(response.status).toBe(200)
  return new Uint8Array(await response.arrayBuffer())
}

async function imported(
  app: TestApp,
  kb: string,
  bytes: Uint8Array<ArrayBuffer>,
  query = '',
): Promise<Answer> {
  const request = new Request(`http://localhost${kb}/import${query}`, {
    method: 'POST',
    body: bytes,
    headers: PARQUET,
  })
  const response = await app.app.handle(request)
  const text = await response.text()
  return { status: response.status, text, body: JSON.parse(text), headers: response.headers }
}

const SMALL = { text_chunking_config: { chunk_size: 60, chunk_overlap: 20 } }
const DEFINITION = {
  preprocessing: SMALL,
  content_columns: ['content'],
  metadata_columns: ['price', 'tags', { name: 'day', type: 'DATE' }, 'Title', 'source'],
  language: 'english',
}

/** Returns everything that a client can see of the knowledge base. */
async function answers(app: TestApp, kb: string): Promise<readonly unknown[]> {
  const name = kb.split('/').at(-1)
  const searches = [
    { query: 'wine and water', k: 30 },
    { query: 'cocoa', k: 50, mode: 'keyword' },
    { query: 'mate broth', k: 20, mode: 'vector', filters: { price: { '>': 3 } } },
    { query: 'soda', k: 10, per_document: true, filters: { tags: { contains: 't1' } } },
  ]
  const found: unknown[] = []
  for (const body of searches) found.push((await app.send('POST', `${kb}/search`, body)).text)
  for (const sql of [
    `SELECT * FROM ${name} ORDER BY chunk_id`,
    `SELECT * FROM ${name} WHERE content = 'milk' LIMIT 40`,
    `SELECT id, price, tags, day, title FROM ${name} WHERE day > DATE '2024-01-09' ORDER BY ALL`,
  ]) {
    found.push(await app.rows(sql))
  }
  found.push((await app.send('GET', `${kb}/chunks?limit=1000&vectors=true`)).text)
  return found
}

test('a knowledge base moves with its vectors, and every search answers the same', async () => {
  const kb = await made(from, 'moved', DEFINITION)
  await inserted(from, kb, rowsOf(60))
  await from.send('DELETE', `${kb}/documents/${encodeURIComponent('doc/3 ä🦆')}`)
  await from.send('PATCH', `${kb}/documents/${encodeURIComponent('doc/9 ä🦆')}`, {
    metadata: { price: 99 },
  })
  const bytes = await exported(from, kb)
  const answer = await imported(to, kb, bytes)
  expect([answer.status, answer.body]).toMatchObject([
    201,
    { knowledge_base: 'moved', created: true, documents: 59 },
  ])
  expect(await answers(to, kb)).toEqual(await answers(from, kb))
  const shown = async (app: TestApp) => {
    const record = (await app.send('GET', kb)).body as Record<string, unknown>
    const own = /^(?:id|(?:created|updated)_at|insert_.*|processed_rows|query_id)$/
    return Object.fromEntries(Object.entries(record).filter(([name]) => !own.test(name)))
  }
  expect(await shown(to)).toEqual(await shown(from))

  // A second import over it leaves the same documents.
  const again = await imported(to, kb, bytes)
  expect([again.status, again.body]).toMatchObject([200, { created: false, documents: 59 }])
  const first = (await answers(from, kb)).slice(0, 5)
  expect((await answers(to, kb)).slice(0, 5)).toEqual(first)

  // Documents added later are stored as on the first server.
  await inserted(to, kb, [{ id: 'doc/9 ä🦆', content: 'whisky' }])
  expect(await to.rows(`SELECT chunk_content FROM moved WHERE id = 'doc/9 ä🦆'`)).toEqual([
    ['whisky'],
  ])
})

test('a job imports it in the background', async () => {
  const kb = await made(from, 'later', DEFINITION)
  await inserted(from, kb, rowsOf(20))
  const bytes = await exported(from, kb)
  const started = await imported(to, kb, bytes, '?background=true')
  expect([started.status, started.body]).toMatchObject([202, { kind: 'import' }])
  const { id } = started.body as { readonly id: number }
  // The stream ends with the job.
  await to.send('GET', `/api/jobs/${id}/events`)
  const done = await to.send('GET', `/api/jobs/${id}`)
  expect(done.body).toMatchObject({ state: 'done', documents: 20, errors: [] })
  expect(await answers(to, kb)).toEqual(await answers(from, kb))

  const broken = await imported(to, `${KBS}/broken`, bytes.slice(0, 500), '?background=true')
  const { id: failing } = broken.body as { readonly id: number }
  await to.send('GET', `/api/jobs/${failing}/events`)
  expect((await to.send('GET', `/api/jobs/${failing}`)).body).toMatchObject({ state: 'failed' })
  expect((await to.send('GET', `${KBS}/broken`)).status).toBe(404)
  const wrong = await imported(to, kb, bytes, '?background=maybe')
  expect(wrong.status).toBe(400)
})

test('an empty knowledge base moves too', async () => {
  const kb = await made(from, 'nothing')
  const answer = await imported(to, kb, await exported(from, kb))
  expect([answer.status, answer.body]).toMatchObject([201, { documents: 0, chunks: 0 }])
})

test('values of every type keep it', async () => {
  const kb = await made(from, 'typed')
  const values = {
    huge: '170141183460469231731687303715884105727::HUGEINT',
    amount: '12.50::DECIMAL(10,2)',
    happened: "TIMESTAMP '2024-01-01 10:00:00.123456'",
    nano: "TIMESTAMP_NS '2024-01-01 10:00:00.123456789'",
    clock: "TIME '10:11:12.5'",
    zone: "TIMESTAMPTZ '2024-01-01 10:00:00+02'",
    span: "INTERVAL '1 month 3 days 2 seconds'",
    bytes: "'\\x00\\xff'::BLOB",
    uid: "'8a8f6f0e-52a1-4a6f-9f43-7b5f5f3b1c55'::UUID",
    list: '[1, NULL, 3]::INTEGER[]',
    record: "{'a': 1, 'b': 'x, ''y'' {'}",
    kv: "MAP {'k': 1.5}",
    flag: 'true',
    tiny: '7::UTINYINT',
  }
  const columns = Object.entries(values).map(([name, value]) => `${value} AS ${name}`)
  await from.send('POST', '/api/sql/query', {
    query: `INSERT INTO typed SELECT 'a' AS id, 'text' AS content, ${columns.join(', ')}`,
  })
  const answer = await imported(to, kb, await exported(from, kb))
  expect(answer.status).toBe(201)
  const sql = `SELECT ${Object.keys(values).flatMap((name) => [name, `typeof(${name})`])} FROM typed`
  const stored = await from.rows(sql)
  expect(stored[0]).toContain('HUGEINT')
  expect(await to.rows(sql)).toEqual(stored)
})

describe('a file that is not an export of Eider', () => {
  let good: string

  beforeAll(async () => {
    const kb = await made(from, 'good', { metadata_columns: ['price'] })
    await inserted(from, kb, rowsOf(5))
    good = join(folder, 'good.parquet')
    await Bun.write(good, await exported(from, kb))
  })

  /** Returns the valid file with other rows and another definition. */
  async function forged(select: string, definition?: object): Promise<Uint8Array<ArrayBuffer>> {
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const path = join(folder, `${crypto.randomUUID()}.parquet`)
    const reader = await connection.runAndReadAll(
      `SELECT decode(value) FROM parquet_kv_metadata('${good}') WHERE decode(key) = 'eider'`,
    )
    const own = JSON.parse(String(reader.getRows()[0]?.[0]))
    const note = JSON.stringify({ ...own, ...definition }).replaceAll("'", "''")
    await connection.run(
      `COPY (${select.replace('GOOD', `read_parquet('${good}')`)}) TO '${path}' (FORMAT parquet, KV_METADATA {eider: '${note}'})`,
    )
    connection.closeSync()
    return new Uint8Array(await Bun.file(path).arrayBuffer())
  }

  async function refused(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    const answer = await imported(to, `${KBS}/forged`, bytes)
    const { code, detail } = answer.body as { code: string; detail: string }
    expect(`${answer.status} ${code}`).toBe('400 file_unreadable')
    expect((await to.send('GET', `${KBS}/forged`)).status).toBe(404)
    return detail
  }

  test.each([
    ['SELECT * REPLACE (NULL::VARCHAR AS document_id) FROM GOOD', 'row 1 has no document_id'],
    ["SELECT * REPLACE ('other' AS document_id) FROM GOOD", 'not of its document'],
    ['SELECT * REPLACE (NULL::VARCHAR AS chunk_content) FROM GOOD', 'no chunk_content'],
    ["SELECT * REPLACE ('{}' AS metadata) FROM GOOD", 'metadata'],
    ["SELECT * REPLACE ('not json' AS metadata) FROM GOOD", 'metadata'],
    ["SELECT * REPLACE (repeat('[', 100000) AS metadata) FROM GOOD", 'metadata'],
    [
      `SELECT * REPLACE (replace(metadata, '"chunk_index":0', '"chunk_index":-1') AS metadata) FROM GOOD`,
      'metadata',
    ],
    ['SELECT * REPLACE (list_transform(vector, x -> 0::FLOAT) AS vector) FROM GOOD', 'length'],
    ["SELECT * REPLACE (list_transform(vector, x -> 'nan'::FLOAT) AS vector) FROM GOOD", 'finite'],
    ['SELECT * REPLACE (list_transform(vector, x -> NULL::FLOAT) AS vector) FROM GOOD', 'nulls'],
    ['SELECT * REPLACE (vector[:3] AS vector) FROM GOOD', 'dimensions'],
    ["SELECT * REPLACE ('x' AS vector) FROM GOOD", 'column vector'],
    ['SELECT * EXCLUDE (context) FROM GOOD', 'column context is missing'],
    ['SELECT * EXCLUDE ("metadata.price") FROM GOOD', 'metadata.price is missing'],
    ['SELECT * FROM GOOD LIMIT 3', 'its definition says'],
    [
      'SELECT * REPLACE (first(chunk_id) OVER () AS chunk_id, first(document_id) OVER () AS document_id) FROM GOOD',
      'chunk_id of another row',
    ],
  ])('%s', async (select, expected) => {
    expect(await refused(await forged(select))).toContain(expected)
  })

  test.each([
    [{ format: 2 }, 'format 2'],
    [{ dimensions: 1e9 }, 'dimensions'],
    [{ dimensions: 3 }, 'dimensions'],
    [{ columns: [{ name: 'price', type: 'DOUBLE); DROP TABLE x' }] }, 'column price'],
    [{ columns: 'all' }, 'metadata columns'],
    [{ embedding_model: null }, 'definition'],
  ])('a definition with %p', async (definition, expected) => {
    const bytes = await forged('SELECT * FROM GOOD', definition)
    const answer = await imported(to, `${KBS}/forged`, bytes)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect((answer.body as { detail: string }).detail.toLowerCase()).toContain(expected)
    expect((await to.send('GET', `${KBS}/forged`)).status).toBe(404)
  })

  test('one that is cut, is none, or was made by others', async () => {
    const bytes = new Uint8Array(await Bun.file(good).arrayBuffer())
    await refused(bytes.slice(10))
    for (const other of [
      bytes.slice(0, bytes.length / 2),
      bytes.slice(0, 3),
      new TextEncoder().encode('id,content\n1,x\n'),
    ]) {
      expect(await refused(other)).toBe(
        'The file could not be imported: it is not a Parquet file, or is cut off; an import takes the Parquet file of an export, and an upload takes other formats',
      )
    }
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const path = join(folder, 'others.parquet')
    await connection.run(`COPY (SELECT 1 AS id, 'x' AS content) TO '${path}' (FORMAT parquet)`)
    connection.closeSync()
    expect(await refused(new Uint8Array(await Bun.file(path).arrayBuffer()))).toContain(
      'not an export',
    )
  })

  test('vectors of another model are refused with both names', async () => {
    const openai = { provider: 'openai', model_name: 'text-embedding-3-small', api_key: 'k' }
    const kb = await made(to, 'other', { embedding_model: openai })
    const bytes = new Uint8Array(await Bun.file(good).arrayBuffer())
    const answer = await imported(to, kb, bytes)
    const { code, detail } = answer.body as { code: string; detail: string }
    expect([answer.status, code]).toEqual([409, 'import_mismatch'])
    expect(detail).toContain('openai/text-embedding-3-small')
    expect(detail).toContain('builtin')
    expect((await to.send('GET', `${kb}/documents`)).body).toMatchObject({ total: 0 })
  })
})

test('no secret leaves with the file', async () => {
  const own = await createTestApp({ embedders: wordEmbedders })
  const kb = await made(own, 'secretive', {
    embedding_model: {
      provider: 'openai',
      model_name: 'm',
      api_key: 'SECRET-1',
    },
  })
  await inserted(own, kb, rowsOf(1))
  const bytes = await exported(own, kb)
  expect(new TextDecoder('latin1').decode(bytes)).not.toContain('SECRET')
  expect(new TextDecoder('latin1').decode(bytes)).not.toContain('******')
  await own.close()
})

test('an export with flipped bytes is never imported', async () => {
  const kb = await made(from, 'sealed', DEFINITION)
  await inserted(from, kb, rowsOf(12))
  const bytes = await exported(from, kb)
  let seed = 7
  const random = (max: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % max
  }
  const ends = Array.from({ length: 20 }, (_, at) => bytes.length - 1 - at * 3)
  const places = [...ends, ...Array.from({ length: 100 }, () => random(bytes.length))]
  const accepted: number[] = []
  for (const place of places) {
    const flipped = bytes.slice()
    flipped[place] = (flipped[place] ?? 0) ^ (1 << random(8))
    const { status } = await imported(to, `${KBS}/flipped`, flipped)
    if (status !== 400) accepted.push(place)
  }
  expect(accepted).toEqual([])
  expect((await to.send('GET', `${KBS}/flipped`)).status).toBe(404)
  expect((await imported(to, `${KBS}/flipped`, bytes)).status).toBe(201)
})

test('an export of an earlier version has no checksum, and is imported', async () => {
  const kb = await made(from, 'older', DEFINITION)
  await inserted(from, kb, rowsOf(3))
  const bytes = Buffer.from(await exported(from, kb))
  const mark = bytes.indexOf('eider-sha256')
  const stripped = Buffer.concat([bytes.subarray(0, mark), bytes.subarray(mark + 44)])
  expect((await imported(to, `${KBS}/older`, new Uint8Array(stripped))).status).toBe(201)
})
