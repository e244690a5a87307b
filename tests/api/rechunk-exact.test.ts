/** Stored documents that are re-chunked lose nothing: neither white space nor metadata. */
import { afterEach, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { endOf, gatedEmbedders, type JobBody } from './jobs-fixture.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'

const open: TestApp[] = []

afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

async function created(chunk_size = 80, embedders?: EmbedderRegistry): Promise<TestApp> {
  const app = await createTestApp(embedders === undefined ? {} : { embedders })
  open.push(app)
  await app.send('POST', KB, { knowledge_base: { name: 'k', preprocessing: sized(chunk_size) } })
  return app
}

function sized(chunk_size: number) {
  return { type: 'auto', auto_config: { chunk_size, chunk_overlap: 0 } }
}

async function rechunked(app: TestApp, definition: object = {}): Promise<JobBody> {
  const sent = { knowledge_base: { ...definition, rechunk: true } }
  const { status, body } = await app.send('PUT', `${KB}/k`, sent)
  expect(status).toBe(202)
  return endOf(body as JobBody, app)
}

async function sql(app: TestApp, query: string): Promise<void> {
  expect((await app.send('POST', '/api/sql/query', { query })).status).toBe(200)
}

const STORED = 'SELECT id, chunk_id, chunk_content, metadata FROM k ORDER BY id, chunk_id'

test('with the same chunking, nothing is written; with another one and back, all is as before', async () => {
  const app = await created()
  const lines = Array.from({ length: 12 }, (_, at) => `tea_${at} = brew(leaf, ${at})`)
  const guide = `# Teas\nThe last line of the first part.\n## Assam\n${'Strong tea from Assam.  '.repeat(6)}\n## Green\nMild.\n`
  const form = new FormData()
  form.append('file', new Blob([guide]), 'guide.md')
  form.append('file', new Blob([guide.replaceAll('\n', '\r\n')]), 'returns.md')
  form.append('file', new Blob([`def all(leaf):\n    ${lines.join('\n    ')}\n`]), 'tea.py')
  form.append('file', new Blob([lines.join('\n')]), 'notes.txt')
  expect((await app.send('POST', `${KB}/k/files`, form)).status).toBe(200)
  await app.send('PUT', `${KB}/k`, {
    knowledge_base: { rows: [{ id: 'row', content: lines.join('\r\n') }] },
  })
  const before = await app.rows(STORED)
  expect(before.length).toBeGreaterThan(15)
  expect(await rechunked(app)).toMatchObject({ rows: 5, documents: 0, errors: [] })
  expect(await rechunked(app, { preprocessing: sized(200) })).toMatchObject({
    documents: 5,
    errors: [],
  })
  expect(await app.rows(STORED)).not.toEqual(before)
  expect(await rechunked(app, { preprocessing: sized(80) })).toMatchObject({ errors: [] })
  expect(await app.rows(STORED)).toEqual(before)
})

const TEXT = 'A sentence about green tea. '.repeat(8).trim()

test('metadata columns whose names are numbers stay', async () => {
  const app = await created(300)
  await app.send('PUT', `${KB}/k`, {
    knowledge_base: { rows: [{ id: 'a', content: TEXT, '2023': 5, '2024': 'six', kind: 'tea' }] },
  })
  expect(await rechunked(app, { preprocessing: sized(80) })).toMatchObject({ documents: 1 })
  const years = `SELECT DISTINCT "2023", "2024", kind FROM k`
  expect(await app.rows(years)).toEqual([[5, 'six', 'tea']])
  await sql(app, `UPDATE k SET content = 'Another text.' WHERE id = 'a'`)
  expect(await app.rows(years)).toEqual([[5, 'six', 'tea']])
  const [[metadata] = []] = await app.rows('SELECT metadata FROM k')
  expect(metadata).toMatchObject({ '2023': 5, '2024': 'six', kind: 'tea' })
})

test('a document whose chunks have metadata of their own stays, and is named', async () => {
  const app = await created(80)
  const rows = ['own', 'hidden', 'all'].map((id) => {
    return { id, content: `${TEXT} ${id}.`, status: 'new', source: 'book' }
  })
  await app.send('PUT', `${KB}/k`, { knowledge_base: { rows } })
  const chunks = await app.rows(`SELECT id, chunk_id FROM k ORDER BY id, chunk_id`)
  const idOf = (document: string) => String(chunks.find(([id]) => id === document)?.[1])
  await sql(app, `UPDATE k SET status = 'seen' WHERE chunk_id = '${idOf('own')}'`)
  await sql(app, `UPDATE k SET source = 'page' WHERE chunk_id = '${idOf('hidden')}'`)
  await sql(app, `UPDATE k SET status = 'seen' WHERE id = 'all'`)
  const job = await rechunked(app, { preprocessing: sized(200) })
  expect(job).toMatchObject({ rows: 3, documents: 1, error_count: 2 })
  expect(job.errors.map(({ item, message }) => [item, message]).toSorted()).toEqual([
    ['hidden', 'Its chunks have metadata of their own, which new chunks would not have'],
    ['own', 'Its chunks have metadata of their own, which new chunks would not have'],
  ])
  const counts = `SELECT id, status, count(*) FROM k GROUP BY ALL ORDER BY ALL`
  expect(await app.rows(counts)).toEqual([
    ['all', 'seen', 2],
    ['hidden', 'new', chunks.filter(([id]) => id === 'hidden').length],
    ['own', 'new', chunks.filter(([id]) => id === 'own').length - 1],
    ['own', 'seen', 1],
  ])
})

const LONGEST = 'SELECT max(length(chunk_content)) <= 80 FROM k'

async function put(app: TestApp, knowledge_base: object) {
  return app.send('PUT', `${KB}/k`, { knowledge_base })
}

test('what an insert stores that began before is split again too', async () => {
  const inserted = gatedEmbedders((texts) => texts.some((one) => one.startsWith('Late')))
  const cut = gatedEmbedders((texts) => texts.some((one) => one.length <= 80))
  const embedders: EmbedderRegistry = {
    ...cut.embedders,
    embedder: (ref) => ({
      embed: async (texts, signal) => {
        await inserted.embedders.embedder(ref).embed(texts, signal)
        return cut.embedders.embedder(ref).embed(texts, signal)
      },
    }),
  }
  const app = await created(300, embedders)
  await put(app, { rows: [{ id: 'a', content: TEXT }] })
  const late = put(app, { rows: [{ id: 'late', content: `Late. ${TEXT}` }] })
  await inserted.entered(2)
  const { body } = await put(app, { preprocessing: sized(80), rechunk: true })
  await cut.entered(2)
  inserted.open()
  expect((await late).status).toBe(200)
  cut.open()
  const job = await endOf(body as JobBody, app)
  expect(job).toMatchObject({ state: 'done', rows: 2, total: 2, documents: 2 })
  expect(await app.rows(LONGEST)).toEqual([[true]])
})

test('a cancelled job that continues after another one re-chunks what that one stored', async () => {
  const gate = gatedEmbedders((texts) => texts.some((one) => one.length <= 80))
  const app = await created(300, gate.embedders)
  await put(app, { rows: [{ id: 'a', content: TEXT }] })
  const { body } = await put(app, { preprocessing: sized(80), rechunk: true })
  await gate.entered(2)
  const { id } = body as JobBody
  await app.send('POST', `/api/jobs/${id}/cancel`)
  await endOf({ id }, app)
  gate.open()
  expect(await rechunked(app, { preprocessing: sized(150) })).toMatchObject({ documents: 1 })
  expect(await app.rows(LONGEST)).toEqual([[false]])
  await put(app, { preprocessing: sized(80) })
  expect((await app.send('POST', `/api/jobs/${id}/resume`)).status).toBe(200)
  expect(await endOf({ id }, app)).toMatchObject({ state: 'done', documents: 1 })
  expect(await app.rows(LONGEST)).toEqual([[true]])
})

test('a recreated knowledge base has its own job', async () => {
  const gate = gatedEmbedders((texts) => texts.some((one) => one.length <= 80))
  const app = await created(300, gate.embedders)
  await put(app, { rows: [{ id: 'a', content: TEXT }] })
  const running = (await put(app, { preprocessing: sized(80), rechunk: true })).body as JobBody
  await gate.entered(2)
  const waiting = (await put(app, { rechunk: true })).body as JobBody
  expect(((await put(app, { rechunk: true })).body as JobBody).id).toBe(waiting.id)
  await app.send('DELETE', `${KB}/k`)
  await app.send('POST', KB, { knowledge_base: { name: 'k', preprocessing: sized(300) } })
  const own = (await put(app, { rechunk: true })).body as JobBody
  expect(own.id).not.toBe(waiting.id)
  gate.open()
  expect(await endOf(running, app)).toMatchObject({ state: 'failed' })
  expect(await endOf(own, app)).toMatchObject({ state: 'done' })
})
