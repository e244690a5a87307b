/** Vector stores, their files and batches, queried while files are added, fail and are removed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../../src/core/domain/ports/model-ports.ts'
import { makeKey } from '../../support/access-keys.ts'
import { createTestApp, type TestApp, wordEmbedders } from '../../support/test-app.ts'

let app: TestApp
/** While a test holds it, the embedder's calls wait. */
let hold: Promise<void> | null = null
beforeAll(async () => {
  const embedders: EmbedderRegistry = {
    ...wordEmbedders,
    embedder: (ref) => {
      const plain = wordEmbedders.embedder(ref)
      return {
        ...plain,
        embed: async (texts, signal) => {
          await hold
          signal.throwIfAborted()
          return plain.embed(texts, signal)
        },
      }
    },
  }
  app = await createTestApp({ embedders })
})
afterAll(() => app.close())

interface Listed {
  readonly data: readonly { readonly id: string; readonly status: string }[]
  readonly has_more: boolean
}
interface Counted {
  readonly id: string
  readonly status: string
  readonly file_counts: Readonly<Record<string, number>>
}

async function asked<T>(
  method: string,
  path: string,
  body?: unknown,
  headers?: HeadersInit,
): Promise<T> {
  const answer = await app.send(method, `/v1${path}`, body, headers)
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
  return answer.body as T
}

async function uploaded(name: string, text: string, headers?: HeadersInit): Promise<string> {
  const form = new FormData()
  form.set('purpose', 'assistants')
  form.set('file', new File([text], name))
  return (await asked<{ id: string }>('POST', '/files', form, headers)).id
}

async function store(name: string): Promise<string> {
  return (await asked<{ id: string }>('POST', '/vector_stores', { name })).id
}

const attached = (at: string, id: string) => asked('POST', `${at}/files`, { file_id: id })

/** Waits until all work is done. */
async function settled<T extends { readonly status: string }>(path: string): Promise<T> {
  for (;;) {
    const record = await asked<T>('GET', path)
    if (record.status !== 'in_progress') return record
    await Bun.sleep(5)
  }
}

const settledFile = (at: string, id: string) => settled<{ status: string }>(`${at}/files/${id}`)
const ids = ({ data }: Listed) => data.map(({ id }) => id)

test('a batch tells each file that failed, beyond those whose messages a job keeps', async () => {
  const at = `/vector_stores/${await store('many failures')}`
  const good = await uploaded('good.txt', 'Green tea is steeped at eighty degrees.')
  const gone: string[] = []
  for (let count = 0; count < 110; count++) gone.push(await uploaded(`gone ${count}.txt`, 'gone'))
  const held = Promise.withResolvers<void>()
  hold = held.promise
  const first = await uploaded('first.txt', 'It holds up all behind it.')
  const batch = await asked<Counted>('POST', `${at}/file_batches`, {
    file_ids: [first, ...gone, good],
  })
  for (const id of gone) await asked('DELETE', `/files/${id}`)
  hold = null
  held.resolve()
  const over = await settled<Counted>(`${at}/file_batches/${batch.id}`)
  const counts = { in_progress: 0, completed: 2, failed: 110, cancelled: 0, total: 112 }
  expect([over.status, over.file_counts]).toEqual(['completed', counts])
  const failed = await asked<Listed>(
    'GET',
    `${at}/file_batches/${batch.id}/files?filter=failed&order=asc&after=${gone[99]}`,
  )
  expect(ids(failed)).toEqual(gone.slice(100))
  expect((await asked<Counted>('GET', at)).file_counts).toEqual(counts)
})

test('a file that is attached again is counted once, also while it is on its way', async () => {
  const at = `/vector_stores/${await store('again')}`
  const id = await uploaded('again.txt', 'Oolong is half oxidised.')
  await attached(at, id)
  expect((await settledFile(at, id)).status).toBe('completed')
  const held = Promise.withResolvers<void>()
  hold = held.promise
  await asked('POST', `${at}/files`, { file_id: id, attributes: { year: 2024 } })
  const during = (await asked<Counted>('GET', at)).file_counts
  const listed = ids(await asked<Listed>('GET', `${at}/files`))
  hold = null
  held.resolve()
  expect((await settledFile(at, id)).status).toBe('completed')
  const after = (await asked<Counted>('GET', at)).file_counts
  expect([during.in_progress, during.completed, during.total, listed]).toEqual([1, 0, 1, [id]])
  expect([after.in_progress, after.completed, after.total]).toEqual([0, 1, 1])
})

test('a file named twice in a batch is added once, as it was last named', async () => {
  const at = `/vector_stores/${await store('twice')}`
  const id = await uploaded('twice.txt', 'Mate is drunk in Uruguay.')
  const batch = await asked<Counted>('POST', `${at}/file_batches`, {
    files: [
      { file_id: id, attributes: { kind: 'first' } },
      { file_id: id, attributes: { kind: 'last' } },
    ],
  })
  const over = await settled<Counted>(`${at}/file_batches/${batch.id}`)
  expect(over.file_counts).toMatchObject({ completed: 1, total: 1 })
  const file = await asked<{ attributes: object }>('GET', `${at}/files/${id}`)
  expect(file.attributes).toMatchObject({ kind: 'last' })
})

test('pages in both directions, with files on their way among documents', async () => {
  const at = `/vector_stores/${await store('pages')}`
  const all: string[] = []
  for (let count = 0; count < 7; count++) {
    all.push(await uploaded(`page ${count}.txt`, `Tea number ${count}.`))
  }
  for (const id of all.slice(0, 5)) {
    await attached(at, id)
    await settledFile(at, id)
  }
  const held = Promise.withResolvers<void>()
  hold = held.promise
  // The third file is already a document and is added again.
  const again = all[2] ?? ''
  for (const id of [...all.slice(5), again]) await attached(at, id)
  const order = [...all.filter((id) => id !== again), again]
  try {
    for (const direction of ['asc', 'desc']) {
      const wanted = direction === 'asc' ? order : order.toReversed()
      for (const limit of [1, 3, 7]) {
        const found: string[] = []
        for (let after = ''; ; ) {
          const query = `limit=${limit}&order=${direction}${after}`
          const page = await asked<Listed>('GET', `${at}/files?${query}`)
          found.push(...ids(page))
          const isLast = found.length >= wanted.length
          expect([query, page.data.length === limit || isLast]).toEqual([query, true])
          expect([query, page.has_more]).toEqual([query, !isLast])
          if (!page.has_more) break
          after = `&after=${found.at(-1)}`
        }
        expect([direction, limit, found]).toEqual([direction, limit, wanted])
        for (const [index, id] of wanted.entries()) {
          const query = `limit=${limit}&order=${direction}&before=${id}`
          const page = await asked<Listed>('GET', `${at}/files?${query}`)
          const start = Math.max(0, index - limit)
          expect([query, ids(page)]).toEqual([query, wanted.slice(start, index)])
          expect([query, page.has_more]).toEqual([query, start > 0])
        }
      }
    }
  } finally {
    hold = null
    held.resolve()
  }
  await settled(at)
  for (const param of ['after', 'before']) {
    const { status, text } = await app.send('GET', `/v1${at}/files?${param}=file-none`)
    expect([status, text]).toEqual([400, expect.stringContaining(`Parameter \\"${param}\\" is`)])
  }
})

test('a file that is deleted while it is attached leaves nothing behind', async () => {
  const at = `/vector_stores/${await store('deleted')}`
  const id = await uploaded('short-lived.txt', 'Darjeeling grows on hills.')
  const held = Promise.withResolvers<void>()
  hold = held.promise
  await attached(at, id)
  await asked('DELETE', `/files/${id}`)
  hold = null
  held.resolve()
  const file = await settled<{ status: string; last_error: object }>(`${at}/files/${id}`)
  expect(file).toMatchObject({ status: 'failed', last_error: { code: 'invalid_file' } })
  expect(await app.rows('SELECT count(*) FROM mindsdb.deleted')).toEqual([[0]])
  await asked('DELETE', `${at}/files/${id}`)
  expect((await app.send('GET', `/v1${at}/files/${id}`)).status).toBe(404)
  expect((await asked<Counted>('GET', at)).file_counts.total).toBe(0)
})

test('a file of a batch that continues is not reported as removed while it is added', async () => {
  const at = `/vector_stores/${await store('going on')}`
  const files = [await uploaded('one.txt', 'One tea.'), await uploaded('two.txt', 'Two teas.')]
  const held = Promise.withResolvers<void>()
  hold = held.promise
  const batch = await asked<Counted>('POST', `${at}/file_batches`, { file_ids: files })
  const refused = await app.send('DELETE', `/v1${at}/files/${files[1]}`)
  hold = null
  held.resolve()
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(batch.id)])
  await settled(`${at}/file_batches/${batch.id}`)
  await asked('DELETE', `${at}/files/${files[1]}`)
  expect((await asked<Counted>('GET', at)).file_counts.total).toBe(1)
})

test('an unknown file is reported with the field that names it', async () => {
  const at = `/v1/vector_stores/${await store('unknown')}`
  const sent = { files: { file_id: 'file-999' }, file_batches: { file_ids: ['file-999'] } }
  for (const [path, body] of Object.entries(sent)) {
    const [param] = Object.keys(body)
    const { status, body: answer } = await app.send('POST', `${at}/${path}`, body)
    expect([status, answer]).toMatchObject([404, { error: { param } }])
  }
})

test('file_search returns files with their IDs and names, also with results', async () => {
  const at = await store('cited')
  const id = await uploaded('brewing notes.txt', 'Gyokuro is steeped at fifty degrees.')
  await attached(`/vector_stores/${at}`, id)
  await settledFile(`/vector_stores/${at}`, id)
  const body = {
    model: at,
    input: 'How hot is gyokuro steeped?',
    tools: [{ type: 'file_search', vector_store_ids: [at] }],
    include: ['file_search_call.results'],
  }
  const citation = { type: 'file_citation', file_id: id, filename: 'brewing notes.txt' }
  const result = { file_id: id, filename: 'brewing notes.txt' }
  expect(await asked<object>('POST', '/responses', body)).toMatchObject({
    output: [
      { type: 'file_search_call', results: [result] },
      { content: [{ annotations: [citation] }] },
    ],
  })
  const messages = [{ role: 'user', content: body.input }]
  const chat = await asked<object>('POST', '/chat/completions', { model: at, messages })
  const title = 'brewing notes.txt'
  expect(chat).toMatchObject({
    choices: [{ message: { annotations: [{ url_citation: { title } }] } }],
  })
  // A caller who may not name `files` learns no file names from documents with such IDs.
  const { headers } = await makeKey(app, ['ask', 'read'], { projects: ['mindsdb'] })
  const limited = await asked<object>('POST', '/responses', body, headers)
  expect(JSON.stringify(limited)).not.toContain('brewing notes')
})
