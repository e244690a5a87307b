/** Stored documents are re-chunked after the chunk settings were changed. */
import { afterAll, afterEach, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { drawnPdf, line } from '../reading/drawn-pdf.ts'
import { createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'
import { endOf as ended, gatedEmbedders, type JobBody } from './jobs-fixture.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'
const SMALL = { type: 'text_chunking', text_chunking_config: { chunk_size: 80, chunk_overlap: 0 } }
const LARGE = { type: 'text_chunking', text_chunking_config: { chunk_size: 300 } }

const shared = await createTestApp()
const open: TestApp[] = []

afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
  const { body } = await shared.send('GET', KB)
  for (const { name } of body as { name: string }[]) await shared.send('DELETE', `${KB}/${name}`)
})
afterAll(() => shared.close())

async function started(embedders?: EmbedderRegistry): Promise<TestApp> {
  if (embedders === undefined) return shared
  const app = await createTestApp({ embedders })
  open.push(app)
  return app
}

async function create(app: TestApp, name: string, definition: object = {}): Promise<void> {
  const { status, text } = await app.send('POST', KB, { knowledge_base: { name, ...definition } })
  expect([status, text]).toEqual([201, expect.any(String)])
}

async function put(app: TestApp, name: string, knowledge_base: object) {
  return app.send('PUT', `${KB}/${name}`, { knowledge_base })
}

async function rechunked(app: TestApp, name: string, definition: object = {}): Promise<JobBody> {
  const { status, body } = await put(app, name, { ...definition, rechunk: true })
  expect([status, body]).toEqual([202, expect.objectContaining({ kind: 'rechunk' })])
  return ended(body as JobBody, app)
}

/** Returns words in random order, so that no two sentences are alike. */
function text(seed: number, sentences = 12): string {
  return Array.from({ length: sentences }, (_, at) => {
    return `Garden ${seed} grows tea number ${at} on slope ${(seed * 31 + at * 7) % 97}.`
  }).join(' ')
}

function rows(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `tea ${index}`,
    content: text(index),
    notes: index % 2 === 0 ? `Notes: ${text(index + 100, 6)}` : null,
    price: index,
    day: '2024-02-03',
  }))
}

const CHUNKS = 'SELECT id, chunk_id, chunk_content, metadata FROM'

async function chunksOf(app: TestApp, name: string) {
  const found = await app.rows(`${CHUNKS} ${name} ORDER BY id, chunk_id`)
  return found.map(([id, chunkId, content, metadata]) => {
    const { original_row_index: _, ...others } = metadata as Record<string, unknown>
    return [id, chunkId, content, others]
  })
}

/** @returns the embedders and the texts that they embedded */
function noting(): { readonly embedders: EmbedderRegistry; readonly texts: string[] } {
  const texts: string[] = []
  const words = wordEmbedders.embedder({ provider: 'builtin', modelName: 'words', options: {} })
  const embed: typeof words.embed = async (sent, signal) => {
    texts.push(...sent)
    return words.embed(sent, signal)
  }
  return { texts, embedders: { ...wordEmbedders, embedder: () => ({ embed }) } }
}

test('documents are re-chunked as if they were new, and keep their ids and metadata', async () => {
  const app = await started()
  const columns = {
    content_columns: ['content', 'notes'],
    metadata_columns: ['price', { name: 'day', type: 'DATE' }],
  }
  await create(app, 'old', { ...columns, preprocessing: LARGE })
  await create(app, 'fresh', { ...columns, preprocessing: SMALL })
  for (const name of ['old', 'fresh']) await put(app, name, { rows: rows(90) })
  const before = await app.rows('SELECT DISTINCT id, price, day FROM old ORDER BY id')
  const job = await rechunked(app, 'old', { preprocessing: SMALL })
  expect(job).toMatchObject({ state: 'done', rows: 90, total: 90, documents: 90, errors: [] })
  expect(await chunksOf(app, 'old')).toEqual(await chunksOf(app, 'fresh'))
  expect(await app.rows('SELECT DISTINCT id, price, day FROM old ORDER BY id')).toEqual(before)
  const [[count] = []] = await app.rows('SELECT count(*) FROM old')
  expect(job.chunks).toBe(Number(count))
  const search = (name: string) => {
    return app.rows(`SELECT chunk_id FROM ${name} WHERE content = 'garden 89 grows tea' LIMIT 5`)
  }
  expect(await search('old')).toEqual(await search('fresh'))
})

test('what stays the same is neither embedded nor written again', async () => {
  const { embedders, texts } = noting()
  const app = await started(embedders)
  await create(app, 'k', { preprocessing: SMALL })
  await put(app, 'k', {
    rows: [...rows(20), { id: 'short', content: 'A short text that is one chunk in any case.' }],
  })
  texts.length = 0
  const revision = async () => {
    const { body } = await app.send('GET', `${KB}/k`)
    return (body as { updated_at: string }).updated_at
  }
  const before = await revision()
  expect(await rechunked(app, 'k')).toMatchObject({
    state: 'done',
    rows: 21,
    documents: 0,
    chunks: 0,
  })
  expect([texts, await revision()]).toEqual([[], before])
  const first = SMALL.text_chunking_config.chunk_size
  const wider = { ...SMALL, text_chunking_config: { chunk_size: first * 3, chunk_overlap: 0 } }
  const job = await rechunked(app, 'k', { preprocessing: wider })
  expect(job).toMatchObject({ rows: 21, documents: 20 })
  expect(new Set(texts).size).toBe(texts.length)
  expect(texts).not.toContain('A short text that is one chunk in any case.')
  texts.length = 0
  expect(await rechunked(app, 'k')).toMatchObject({ documents: 0 })
  expect(texts).toEqual([])
})

test('files are cut by their layout: headings, lines and pages are right', async () => {
  const app = await started()
  const guide = [
    '# Guide',
    'Intro.',
    ...Array.from({ length: 8 }, (_, at) => `## Part ${at}\n\n${text(at, 6)}`),
  ]
  const code = Array.from(
    { length: 30 },
    (_, at) => `def tea_${at}(leaf):\n    return leaf * ${at}\n`,
  )
  const page = (number: number) =>
    Array.from({ length: 30 }, (_, at) =>
      line(`Page ${number} has the sentence ${at} about tea.`, 72, 700 - at * 14),
    ).join('')
  const pdf = drawnPdf({ pages: [1, 2, 3].map(page), info: { Title: 'The manual' } })
  const files = () => {
    const form = new FormData()
    form.append('file', new Blob([guide.join('\n\n')]), 'guide.md')
    form.append('file', new Blob([code.join('\n\n')]), 'tea.py')
    form.append('file', new Blob([text(3, 40)]), 'notes.txt')
    form.append('file', new Blob([new Uint8Array(pdf)]), 'manual.pdf')
    return form
  }
  const auto = (chunk_size: number) => {
    return { preprocessing: { type: 'auto', auto_config: { chunk_size, chunk_overlap: 40 } } }
  }
  await create(app, 'old', auto(400))
  await create(app, 'fresh', auto(150))
  for (const name of ['old', 'fresh']) {
    expect((await app.send('POST', `${KB}/${name}/files`, files())).status).toBe(200)
  }
  expect(await rechunked(app, 'old', auto(150))).toMatchObject({
    state: 'done',
    rows: 4,
    errors: [],
  })
  const facts = (name: string) => {
    return app.rows(
      `SELECT id, chunk_id, chunk_content, heading, page, line, title FROM ${name} ORDER BY id, chunk_id`,
    )
  }
  expect(await facts('old')).toEqual(await facts('fresh'))
  const [[pages] = []] = await app.rows(
    `SELECT count(DISTINCT page) FROM old WHERE id = 'manual.pdf'`,
  )
  expect(pages).toBe(3)
  // The chunking changes to another type and back.
  expect(await rechunked(app, 'old', { preprocessing: LARGE })).toMatchObject({ documents: 4 })
  expect(await rechunked(app, 'old', auto(150))).toMatchObject({ documents: 4, errors: [] })
  expect(await facts('old')).toEqual(await facts('fresh'))
})

test('documents whose text can no longer be restored stay unchanged, and are listed', async () => {
  const app = await started()
  const json = { type: 'json_chunking', json_chunking_config: { flatten_nested: true } }
  await create(app, 'k', { preprocessing: json })
  await put(app, 'k', { rows: [{ id: 'made', content: '{"tea": "green", "price": 3}' }] })
  await put(app, 'k', { preprocessing: LARGE })
  await put(app, 'k', { rows: rows(4).map(({ id, content }) => ({ id, content })) })
  const [[first] = []] = await app.rows(`SELECT chunk_id FROM k WHERE id = 'tea 0'`)
  const [[gone] = []] = await app.rows(`SELECT chunk_id FROM k WHERE id = 'tea 1'`)
  await app.send('POST', '/api/sql/query', {
    query: `UPDATE k SET content = 'something else' WHERE chunk_id = '${first}'`,
  })
  await app.send('POST', '/api/sql/query', { query: `DELETE FROM k WHERE chunk_id = '${gone}'` })
  const before = await chunksOf(app, 'k')
  const job = await rechunked(app, 'k', { preprocessing: SMALL })
  expect(job).toMatchObject({ state: 'done', rows: 5, documents: 2, error_count: 3 })
  const messages = Object.fromEntries(job.errors.map(({ item, message }) => [item, message]))
  expect(messages).toEqual({
    made: 'Its chunks were made of JSON, and the JSON itself is not stored: add the document again',
    'tea 0':
      'A chunk of it was changed or deleted on its own, so its text is incomplete: add the document again',
    'tea 1':
      'A chunk of it was changed or deleted on its own, so its text is incomplete: add the document again',
  })
  const stays = ([id]: readonly unknown[]) => id === 'made' || id === 'tea 0' || id === 'tea 1'
  expect((await chunksOf(app, 'k')).filter(stays)).toEqual(before.filter(stays))
})

test('text can be cut as JSON where it is JSON', async () => {
  const app = await started()
  await create(app, 'k')
  await put(app, 'k', {
    rows: [
      { id: 'list', content: '[{"tea": "green"}, {"tea": "black"}]' },
      { id: 'prose', content: 'Green tea' },
    ],
  })
  const json = { type: 'json_chunking' }
  const job = await rechunked(app, 'k', { preprocessing: json })
  expect(job).toMatchObject({ documents: 1, error_count: 1 })
  expect(job.errors[0]).toMatchObject({ item: 'prose' })
  const found = await app.rows(`SELECT chunk_content FROM k ORDER BY chunk_content`)
  expect(found.flat()).toEqual(['Green tea', 'tea: black', 'tea: green'])
})

test('a cancelled job leaves each document either old or new, and continues where it stopped', async () => {
  const gate = gatedEmbedders((texts) =>
    texts.some((one) => one.length < 90 && one.includes('Garden 99 ')),
  )
  const app = await started(gate.embedders)
  await create(app, 'k', { preprocessing: LARGE })
  await create(app, 'fresh', { preprocessing: SMALL })
  await put(app, 'k', { rows: rows(130) })
  await put(app, 'k', { preprocessing: SMALL })
  const { body } = await put(app, 'k', { rechunk: true })
  const { id } = body as JobBody
  await stored(app, id, 56)
  // Searches continue in the meantime.
  const search = `SELECT count(DISTINCT id) FROM k`
  expect(await app.rows(search)).toEqual([[130]])
  const cancelled = (await app.send('POST', `/api/jobs/${id}/cancel`)).body as JobBody
  expect(cancelled).toMatchObject({ state: 'cancelled', rows: 56, documents: 56 })
  const sizes = await app.rows(
    `SELECT id, max(length(chunk_content)), count(*), min(chunk_id) FROM k GROUP BY id`,
  )
  expect(sizes.filter(([, longest]) => Number(longest) <= 80)).toHaveLength(56)
  for (const [, , count, chunkId] of sizes) expect(String(chunkId)).toContain(`of${count}:`)
  gate.open()
  await put(app, 'fresh', { rows: rows(130) })
  await app.send('POST', `/api/jobs/${id}/resume`)
  const done = await ended({ id }, app)
  expect(done).toMatchObject({ state: 'done', rows: 130, total: 130, documents: 130 })
  expect(await chunksOf(app, 'k')).toEqual(await chunksOf(app, 'fresh'))
})

test('a document that is replaced meanwhile keeps its new text, and another chunking starts over', async () => {
  const gate = gatedEmbedders((texts) =>
    texts.some((one) => one.startsWith('Garden 1 ') && one.length < 90),
  )
  const app = await started(gate.embedders)
  await create(app, 'k', { preprocessing: LARGE })
  await put(app, 'k', { rows: rows(3).map(({ id, content }) => ({ id, content })) })
  const entered = gate.entered(2)
  const { body } = await put(app, 'k', { preprocessing: SMALL, rechunk: true })
  await entered
  await put(app, 'k', { rows: [{ id: 'tea 1', content: 'A new text of this document.' }] })
  const other = { ...SMALL, text_chunking_config: { chunk_size: 120, chunk_overlap: 0 } }
  await put(app, 'k', { preprocessing: other })
  gate.open()
  expect(await ended(body as JobBody, app)).toMatchObject({ state: 'done', errors: [], rows: 3 })
  expect(await app.rows(`SELECT chunk_content FROM k WHERE id = 'tea 1'`)).toEqual([
    ['A new text of this document.'],
  ])
  const [[longest] = []] = await app.rows(`SELECT max(length(chunk_content)) FROM k`)
  expect(Number(longest)).toBeGreaterThan(80)
  expect(Number(longest)).toBeLessThanOrEqual(120)
})

test('in SQL it is an option of ALTER, and cannot be combined with an insert', async () => {
  const app = await started()
  await create(app, 'k', { preprocessing: LARGE })
  await put(app, 'k', { rows: rows(5).map(({ id, content }) => ({ id, content })) })
  const sql = `ALTER KNOWLEDGE_BASE k USING preprocessing = {"type": "text_chunking",
    "text_chunking_config": {"chunk_size": 80}}, rechunk = true`
  const [row] = await app.rows(sql)
  expect(row).toContain('Re-chunk the documents of k')
  const done = await ended({ id: Number(row?.[0]) }, app)
  expect(done).toMatchObject({ state: 'done', documents: 5 })
  expect(await app.rows('SELECT max(length(chunk_content)) <= 80 FROM k')).toEqual([[true]])
  const refused = await put(app, 'k', { rechunk: true, rows: rows(1) })
  expect([refused.status, (refused.body as { code: string }).code]).toEqual([
    400,
    'invalid_request',
  ])
  const empty = await started()
  await create(empty, 'none')
  expect(await rechunked(empty, 'none')).toMatchObject({ state: 'done', rows: 0, total: 0 })
})

/** Waits until this many rows of a job are stored. */
async function stored(app: TestApp, id: number, count: number): Promise<void> {
  for await (const job of app.store.jobs.get(id) === undefined ? [] : watched(app, id)) {
    if (job >= count) return
  }
}

async function* watched(app: TestApp, id: number): AsyncGenerator<number> {
  for (;;) {
    yield app.store.jobs.get(id)?.progress.rows ?? 0
    await new Promise((resolve) => setImmediate(resolve))
  }
}
