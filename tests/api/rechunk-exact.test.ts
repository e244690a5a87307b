/** Stored documents that are cut anew lose nothing: neither white space nor metadata. */
import { afterEach, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { endOf, type JobBody } from './jobs-fixture.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'

const open: TestApp[] = []

afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

async function created(chunk_size = 80): Promise<TestApp> {
  const app = await createTestApp()
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
    ['hidden', 'Its chunks have metadata of their own, which other chunks would not have'],
    ['own', 'Its chunks have metadata of their own, which other chunks would not have'],
  ])
  const counts = `SELECT id, status, count(*) FROM k GROUP BY ALL ORDER BY ALL`
  expect(await app.rows(counts)).toEqual([
    ['all', 'seen', 2],
    ['hidden', 'new', chunks.filter(([id]) => id === 'hidden').length],
    ['own', 'new', chunks.filter(([id]) => id === 'own').length - 1],
    ['own', 'seen', 1],
  ])
})
