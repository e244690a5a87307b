/** Any request to the data half of OpenAI's API: never a 500, and failures in that API's form. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ isInProcess: true })
  const form = new FormData()
  form.set('file', new Blob(['# Tea\n\nGreen tea.']), 'tea.md')
  form.set('purpose', 'assistants')
  await t.send('POST', '/v1/files', form)
  await t.send('POST', '/v1/vector_stores', { name: 'store', file_ids: ['file-1'] })
})
afterAll(() => t.close())

const STORE = '/v1/vector_stores/mindsdb.store'
const VALUES = fc.oneof(
  fc.constantFrom('file-1', 'file-2', 'mindsdb.store', 'all-MiniLM-L6-v2', 'eq', 'and', 'static'),
  fc.constantFrom('', '%2F', '../..', '\ud800', "'; DROP", 'a'.repeat(5000)),
  fc.jsonValue({ maxDepth: 4 }),
)
const FIELDS = [
  ...['model', 'input', 'encoding_format', 'dimensions', 'name', 'metadata', 'file_ids'],
  ...['file_id', 'files', 'attributes', 'chunking_strategy', 'query', 'filters', 'type', 'key'],
  ...['value', 'max_num_results', 'ranking_options', 'score_threshold', 'static', 'expires_after'],
]
const BODIES = fc.dictionary(
  fc.oneof(fc.constantFrom(...FIELDS), fc.string({ maxLength: 8 })),
  fc.oneof(
    VALUES,
    fc.array(VALUES, { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...FIELDS), VALUES),
  ),
  { maxKeys: 6 },
)
const PATHS = [
  '/v1/embeddings',
  '/v1/vector_stores',
  STORE,
  `${STORE}/search`,
  `${STORE}/files`,
  `${STORE}/files/file-1`,
  `${STORE}/file_batches`,
  `${STORE}/file_batches/vsfb_1/cancel`,
]
const NAMES = fc.oneof(
  fc.constantFrom('..', '%2F', '%2e%2e', 'mindsdb.', '.store', 'a.b.c', 'file-', 'file-0', 'ü'),
  fc.string({ maxLength: 20 }),
)

interface Refused {
  readonly error?: { readonly message?: unknown; readonly type?: unknown; readonly code?: unknown }
}

function expectOrderly({
  status,
  body,
}: {
  readonly status: number
  readonly body: unknown
}): void {
  expect(status).toBeLessThan(500)
  if (status < 400) return
  const { error } = body as Refused
  expect([typeof error?.message, typeof error?.type, typeof error?.code]).toEqual([
    'string',
    'string',
    'string',
  ])
}

test('bodies of every kind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), BODIES, async (path, body) => {
      expectOrderly(await t.send('POST', path, body))
    }),
    { numRuns: 80 },
  )
})

test('paths and parameters of every kind', async () => {
  const methods = fc.constantFrom('GET', 'POST', 'DELETE')
  await fc.assert(
    fc.asyncProperty(
      methods,
      NAMES,
      NAMES,
      fc.string({ maxLength: 8 }),
      async (method, a, b, c) => {
        const [store, file, text] = [a, b, c].map((part) => encodeURIComponent(part.toWellFormed()))
        const query = `?limit=${text}&after=${file}&order=${text}&filter=${text}`
        const body = method === 'POST' ? { attributes: { a: 1 } } : undefined
        for (const path of [
          `/v1/vector_stores/no${store}`,
          `/v1/vector_stores/no${store}/files/${file}`,
          `${STORE}/files/no${file}/content`,
          `${STORE}/file_batches/${file}/files${query}`,
          `/v1/files/no${file}${query}`,
        ]) {
          expectOrderly(await t.send(method, path, body))
        }
        for (const path of ['/v1/files', '/v1/vector_stores', `${STORE}/files`]) {
          expectOrderly(await t.send('GET', `${path}${query}`))
        }
      },
    ),
    { numRuns: 40 },
  )
})

test('forms of every kind', async () => {
  const boundary = '----b'
  const head = fc.constantFrom(
    'Content-Disposition: form-data; name="file"; filename="a.txt"',
    'Content-Disposition: form-data; name="file"; filename="../../a/b%2F.txt"',
    'Content-Disposition: form-data; name="file"; filename="\u0000\u202e.md"',
    'Content-Disposition: form-data; name="purpose"',
    'Content-Disposition: form-data; name="source_type"',
    'Content-Disposition: form-data',
    'X: y',
  )
  const content = fc.constantFrom(
    'assistants',
    'url',
    '',
    '# Tea\n\nText',
    '\u0000\u0001',
    'PK\u0003\u0004',
  )
  const part = fc.tuple(head, content)
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 4 }), fc.boolean(), async (parts, isWhole) => {
      const text = parts
        .map(([top, inner]) => `--${boundary}\r\n${top}\r\n\r\n${inner}\r\n`)
        .join('')
      const body = isWhole ? `${text}--${boundary}--\r\n` : text
      const type = { 'content-type': `multipart/form-data; boundary=${boundary}` }
      expectOrderly(await t.send('POST', '/v1/files', body, type))
    }),
    { numRuns: 40 },
  )
})
