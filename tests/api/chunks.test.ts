/** Chunks over HTTP: previews, warnings, and metadata. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { BuiltinEmbedder } from '../../src/models/builtin/builtin-embedder.ts'
import { createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'

const PROJECT = '/api/projects/mindsdb/knowledge_bases'
const README = `# Tea pot\n\nIt boils water.\n\n## Parts\n\n${'The lid is round. '.repeat(40)}\n\n| part | price |\n|---|---|\n${'| a long name of a part | 12 |\n'.repeat(60)}`

/** Every text that was embedded. */
const seen: string[] = []
const embedders: EmbedderRegistry = {
  ...wordEmbedders,
  embedder: (ref, withinMs) => {
    const inner = wordEmbedders.embedder(ref, withinMs)
    return {
      reach: new BuiltinEmbedder().reach,
      embed: (texts, signal) => {
        seen.push(...texts)
        return inner.embed(texts, signal)
      },
    }
  },
}

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ embedders })
})
afterAll(() => t.close())

interface Previewed {
  readonly chunks: readonly {
    readonly content: string
    readonly start: number
    readonly end: number
    readonly tokens: number
    readonly embedded: string
    readonly source: string
    readonly metadata: Readonly<Record<string, unknown>>
  }[]
  readonly total: number
  readonly warnings: readonly string[]
}

async function run(query: string): Promise<void> {
  const { body } = await t.send('POST', '/api/sql/query', { query })
  expect(body).toMatchObject({ type: 'ok' })
}

async function preview(body: object): Promise<Previewed> {
  const answer = await t.send('POST', `${PROJECT}/preview`, body)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body as Previewed
}

test('a preview shows chunks that the model reads whole, and stores nothing', async () => {
  const { chunks, total, warnings } = await preview({
    text: README,
    syntax: 'markdown',
    title: 'Manual',
  })
  expect(warnings).toEqual([])
  expect(total).toBe(chunks.length)
  for (const { content, start, end, tokens } of chunks) {
    expect(README.slice(start, end)).toBe(content)
    expect(tokens).toBeLessThanOrEqual(8 * 254)
    expect(content.length).toBeLessThanOrEqual(1000)
  }
  expect(chunks[0]).toMatchObject({
    metadata: { heading: 'Tea pot' },
    source: 'MarkdownChunkingPreprocessor',
  })
  expect(chunks.at(-1)?.metadata).toEqual({ heading: 'Tea pot > Parts' })
  expect(chunks.at(-1)?.embedded).toStartWith('Manual\nTea pot > Parts\n| part | price |\n| a long')
  expect((await t.send('GET', PROJECT)).body).toEqual([])
})

test.each([
  ['English', 'The kettle whistles before the water boils over. '],
  ['Russian', 'Чайник свистит раньше, чем вода выкипает из него. '],
  ['Arabic', 'تصفر الغلاية قبل أن يفيض الماء المغلي منها. '],
  ['Chinese', '水烧开之前，水壶会发出哨声。'],
  ['Thai', 'กาน้ำส่งเสียงหวีดก่อนที่น้ำจะเดือดล้น '],
])('a paragraph is one chunk in every script: %s', async (_, sentence) => {
  const text = sentence.repeat(Math.floor(990 / sentence.length)).trim()
  const { chunks, warnings } = await preview({ text })
  expect(chunks).toMatchObject([{ content: text }])
  expect(warnings).toEqual([])
})

test('a chosen size is kept, and a warning says what the model cannot read', async () => {
  const preprocessing = { text_chunking_config: { chunk_size: 12_000, chunk_overlap: 0 } }
  const { warnings } = await preview({ text: 'tea '.repeat(9000), preprocessing })
  expect(warnings).toEqual([
    expect.stringMatching(/^3 of 3 chunks are longer than the 2034 tokens/),
  ])
  await t.send('POST', PROJECT, { knowledge_base: { name: 'long', preprocessing } })
  const rows = [
    { id: 1, content: 'tea '.repeat(9000) },
    { id: 2, content: 'short' },
  ]
  await t.send('PUT', `${PROJECT}/long`, { knowledge_base: { rows } })
  const warningsOf = async () => {
    const { body } = await t.send('GET', `${PROJECT}/long`)
    return (body as { params: { warnings?: readonly string[] } }).params.warnings
  }
  expect(await warningsOf()).toEqual([expect.stringMatching(/^3 of 4 chunks are longer/)])
  await run("UPDATE long SET content = 'no longer long' WHERE id = '1'")
  expect(await warningsOf()).toBeUndefined()
})

test('text embedded besides the content is kept with the chunk through updates and model changes', async () => {
  await t.send('POST', PROJECT, { knowledge_base: { name: 'manuals' } })
  const upload = new FormData()
  upload.set('file', new File([README], 'manual.md'))
  await t.send('PUT', '/api/files/manual.md', upload)
  const insert = { knowledge_base: { files: ['manual.md'] } }
  expect((await t.send('PUT', `${PROJECT}/manuals`, insert)).status).toBe(200)
  const found = await t.rows(
    "SELECT heading, chunk_id, metadata->>'heading' FROM manuals WHERE heading LIKE '%Parts' ORDER BY chunk_id",
  )
  expect(found.length).toBeGreaterThan(2)
  const contexts = seen.filter((text) => text.includes('Tea pot\nParts\n'))
  expect(contexts.length).toBeGreaterThan(1)
  seen.length = 0
  expect((await t.send('PUT', `${PROJECT}/manuals`, insert)).status).toBe(200)
  expect(seen).toEqual([])
  const [last] = await t.rows(
    "SELECT chunk_id FROM manuals WHERE chunk_content LIKE '| a long%' ORDER BY chunk_id LIMIT 1",
  )
  await run(`UPDATE manuals SET content = '| spout | 3 |' WHERE chunk_id = '${last?.[0]}'`)
  expect(seen).toEqual([
    expect.stringMatching(/^Tea pot\nParts\n\| part \| price \|\n\| spout \| 3 \|$/),
  ])
  const [changed] = await t.rows(
    `SELECT chunk_content, heading FROM manuals WHERE chunk_id = '${last?.[0]}'`,
  )
  expect(changed).toEqual(['| spout | 3 |', 'Tea pot > Parts'])
})

test('code is cut by definition and knows its line; JSON has its options', async () => {
  const code = Array.from(
    { length: 20 },
    (_, n) => `def f${n}(x):\n    """${'It adds. '.repeat(15)}"""\n    return x + ${n}\n`,
  ).join('\n')
  const { chunks } = await preview({ text: code, syntax: 'code', title: 'sums.py' })
  expect(chunks.length).toBeGreaterThan(2)
  for (const { content, start, metadata } of chunks) {
    expect(content).toStartWith('def f')
    expect(metadata.line).toBe(code.slice(0, start).split('\n').length)
  }
  const json = await preview({
    text: "[{'name': 'eider', 'size': {'cm': 60}, 'x': None}]",
    preprocessing: {
      type: 'json_chunking',
      json_chunking_config: { nested_delimiter: '/', exclude_fields: ['name'] },
    },
  })
  expect(json.chunks.map(({ content, metadata }) => ({ content, metadata }))).toEqual([
    { content: 'size/cm: 60', metadata: { field_name: 'eider' } },
  ])
})

test.each([
  [
    { type: 'json_chunking', json_chunking_config: { chunk_size: 5 } },
    /Unknown field "chunk_size"/,
  ],
  [{ type: 'text_chunking', json_chunking_config: {} }, /Unknown field "json_chunking_config"/],
  [{ type: 'none' }, /Unknown preprocessing type "none"/],
  [{ type: 'text_chunking', chunk_size: 9 }, /"chunk_size".*it belongs in "text_chunking_config"/],
])('options of another kind are refused by name', async (preprocessing, message) => {
  const answer = await t.send('POST', `${PROJECT}/preview`, { text: 'x', preprocessing })
  expect(answer.status).toBe(400)
  expect(answer.body).toMatchObject({ detail: expect.stringMatching(message) })
})
