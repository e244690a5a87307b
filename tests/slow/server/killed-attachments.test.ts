import { expect, test } from 'bun:test'
import { type ServerProcess, startServer, withFolder } from './server-process.ts'
import { silencedEmbeddings } from './stub-embeddings.ts'

const FILES = 12
const LIVES = 2
const TEXTS_OF_A_LIFE = 30
const STORE = '/v1/vector_stores/mindsdb.k'

async function sent<T>(server: ServerProcess, method: string, path: string, body?: unknown) {
  const answer = await server.send(method, path, body)
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

async function uploaded(server: ServerProcess, name: string, text: string): Promise<string> {
  const form = new FormData()
  form.set('purpose', 'assistants')
  form.set('file', new File([text], name))
  const answer = await fetch(`${server.url}/v1/files`, { method: 'POST', body: form })
  return ((await answer.json()) as { id: string }).id
}

interface Batch {
  readonly id: string
  readonly status: string
  readonly file_counts: Readonly<Record<string, number>>
}

test('kill -9 behind uploads and within a batch: each file is there once and whole, or told failed', async () => {
  const provider = silencedEmbeddings()
  const base_url = provider.baseUrl
  await withFolder(async (folder) => {
    const environment = { EIDER_DATA_DIR: folder, EIDER_LOG_LEVEL: 'silent' }
    /** @param textsMax how many texts the next process embeds */
    const killed = async (server: ServerProcess, textsMax: number) => {
      server.kill('SIGKILL')
      await server.exited
      provider.silenceAfter(textsMax)
      return startServer(environment)
    }
    let server = await startServer(environment)
    await sent(server, 'POST', '/api/projects/mindsdb/knowledge_bases', {
      knowledge_base: {
        name: 'k',
        embedding_model: { provider: 'openai', model_name: 'stub', base_url },
      },
    })
    const file_ids: string[] = []
    const long = (count: number) => {
      const sentences = Array.from(
        { length: 400 },
        (_, at) => `Tea ${count} is steeped ${at} times.`,
      )
      return sentences.join(' ')
    }
    for (let count = 0; count < FILES; count++) {
      file_ids.push(await uploaded(server, `tea ${count}.txt`, long(count)))
    }
    server = await killed(server, TEXTS_OF_A_LIFE)
    const listed = await sent<{ data: { id: string }[] }>(server, 'GET', '/v1/files?order=asc')
    expect(listed.data.map(({ id }) => id)).toEqual(file_ids)
    const [missing = ''] = file_ids.splice(3, 1)
    const batch = await sent<Batch>(server, 'POST', `${STORE}/file_batches`, {
      file_ids: [...file_ids.slice(0, 3), missing, ...file_ids.slice(3)],
    })
    await sent(server, 'DELETE', `/v1/files/${missing}`)
    for (let life = 0; life < LIVES; life++) {
      await provider.silenced()
      const isLast = life === LIVES - 1
      server = await killed(server, isLast ? Number.POSITIVE_INFINITY : TEXTS_OF_A_LIFE)
      const counts = (await sent<Batch>(server, 'GET', `${STORE}/file_batches/${batch.id}`))
        .file_counts
      expect(counts.total).toBe(FILES)
    }
    let over = batch
    while (over.status === 'in_progress') {
      await Bun.sleep(20)
      over = await sent(server, 'GET', `${STORE}/file_batches/${batch.id}`)
    }
    const counts = { in_progress: 0, completed: FILES - 1, failed: 1, cancelled: 0, total: FILES }
    expect([over.status, over.file_counts]).toEqual(['completed', counts])
    for (const [index, id] of file_ids.entries()) {
      const { data } = await sent<{ data: { text: string }[] }>(
        server,
        'GET',
        `${STORE}/files/${id}/content`,
      )
      const whole = long(index < 3 ? index : index + 1)
      expect(data.map(({ text }) => text).join('')).toBe(whole)
    }
    // Each exists once, without duplicates and without chunks of an earlier attempt.
    const embeddings = await sent<{ data: { embedding: number[] }[] }>(
      server,
      'POST',
      '/v1/embeddings',
      { model: 'mindsdb.k', input: 'Oolong' },
    )
    expect(embeddings.data.map(({ embedding }) => embedding)).toEqual([[6, 1, 2]])
    const query = 'SELECT id, count(*), count(DISTINCT chunk_id) FROM mindsdb.k GROUP BY id'
    const { data } = await sent<{ data: [string, number, number][] }>(
      server,
      'POST',
      '/api/sql/query',
      { query },
    )
    expect(data.map(([id]) => id).toSorted()).toEqual(file_ids.toSorted())
    for (const [, chunks, distinct] of data) expect(chunks).toBe(distinct)
    server.kill('SIGKILL')
    await server.exited
  })
  provider.stop()
}, 120_000)
