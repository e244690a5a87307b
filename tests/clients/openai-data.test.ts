/** Embeddings, vector stores and files with third-party clients. */
import { afterAll, beforeAll, expect } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Listener } from '../../src/api/http/listen.ts'
import { drawnPdf, line } from '../reading/drawn-pdf.ts'
import { makeKey } from '../support/access-keys.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { clientResult, clientTest } from './client-programs.ts'

let t: TestApp
let listener: Listener
let folder: string
beforeAll(async () => {
  t = await createTestApp({ embedders: 'real' })
  listener = t.app.listen({ hostname: '127.0.0.1', port: 0 })
  folder = await mkdtemp(join(tmpdir(), 'eider-clients-'))
  const page = line('Oolong tea is half oxidised.', 72, 700)
  await Bun.write(join(folder, 'paper.pdf'), drawnPdf({ pages: [page] }))
})
afterAll(async () => {
  await listener.stop(0)
  await t.close()
  await rm(folder, { recursive: true })
})

const environment = () => ({
  EIDER_URL: listener.url.href.replace(/\/$/, ''),
  PDF_PATH: join(folder, 'paper.pdf'),
})

clientTest('the SDK of TypeScript, LangChain, LlamaIndex and the AI SDK embed alike', async () => {
  expect(await clientResult('openai-embeddings.mjs', environment())).toEqual({
    dimensions: 384,
    usage: { prompt_tokens: 11, total_tokens: 11 },
    model: 'all-MiniLM-L6-v2',
    same: {
      floats: true,
      langchain: true,
      aiSdk: true,
      aiSdkCompatible: true,
      llamaIndex: true,
    },
    failure: { name: 'NotFoundError', status: 404, code: 'model_not_found' },
  })
})

clientTest('the SDK of Python, LangChain and LlamaIndex embed alike, tokens too', async () => {
  expect(await clientResult('openai_embeddings.py', environment())).toEqual({
    dimensions: 384,
    usage: { prompt_tokens: 11, total_tokens: 11 },
    same: { floats: true, tokens: true, langchain: true, llama_index: true },
    failure: { status: 404, code: 'model_not_found', param: 'model' },
  })
})

clientTest('the SDK of TypeScript fills, searches and empties a vector store', async () => {
  const tea = '# Tea\n\nGreen tea is steeped at eighty degrees.'
  expect(await clientResult('openai-vector-stores.mjs', environment())).toEqual({
    store: { id: 'mindsdb.Kitchen_notes', name: 'Kitchen notes', metadata: { team: 'kitchen' } },
    attached: {
      status: 'completed',
      attributes: {
        title: 'Tea',
        format: 'markdown',
        filename: 'tea.md',
        kind: 'black',
        year: 2024,
      },
    },
    uploaded: 'completed',
    batch: { status: 'completed', completed: 2, of: 2 },
    best: { isBlack: true, filename: 'tea.md', isScore: true },
    filtered: [true],
    listed: { count: 5, isNewestLast: true, distinct: 5 },
    content: tea,
    updated: { title: 'Tea', format: 'markdown', filename: 'tea.md', kind: 'strong' },
    renamed: ['mindsdb.Kitchen_notes', 'Kitchen'],
    hasStore: true,
    bytes: tea,
    files: ['tea.md', 'tea.md', 'paper.pdf', 'coffee.txt', 'mate.html'],
    detached: { id: expect.any(String), object: 'vector_store.file.deleted', deleted: true },
    counts: { in_progress: 0, completed: 4, failed: 0, cancelled: 0, total: 4 },
    countsAfter: { in_progress: 0, completed: 3, failed: 0, cancelled: 0, total: 3 },
    dropped: { id: 'mindsdb.Kitchen_notes', object: 'vector_store.deleted', deleted: true },
    gone: ['NotFoundError', 404, 'knowledge_base_not_found'],
  })
})

clientTest('the SDK of Python fills a vector store, searches it and asks over it', async () => {
  const { key } = await makeKey(t, ['read', 'write', 'ask'], { projects: ['mindsdb', 'files'] })
  const gyokuro = 'gyokuro.md'
  expect(
    await clientResult('openai_vector_stores.py', { ...environment(), EIDER_KEY: key }),
  ).toEqual({
    store: ['mindsdb.Brewing', 'Brewing'],
    first: ['completed', 'green', null],
    batch: ['completed', 2, 2],
    gone: true,
    missing: ['NotFoundError', 404, 'file_not_found'],
    best: ['mate.txt', true],
    green: [true],
    cited: [['file_citation', true, gyokuro]],
    results: [[true, gyokuro]],
    says: true,
    kept: true,
    streamed: [gyokuro],
    chat: [true, true],
    listed: 3,
    counts: [3, 3, 2],
    dropped: true,
  })
})
