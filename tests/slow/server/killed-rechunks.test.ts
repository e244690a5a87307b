import { expect, test } from 'bun:test'
import { isEverything } from '../../support/sample.ts'
import { type ServerProcess, startServer, withFolder } from './server-process.ts'
import { silencedEmbeddings } from './stub-embeddings.ts'

const DOCUMENTS = 300
const LIVES = isEverything ? 3 : 2
const TEXTS_OF_A_LIFE = 250
const KBS = '/api/projects/mindsdb/knowledge_bases'

async function sent<T>(server: ServerProcess, method: string, path: string, body?: unknown) {
  const answer = await server.send(method, path, body)
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

interface Job {
  readonly id: number
  readonly state: string
  readonly rows: number
  readonly documents: number
  readonly chunks: number
}

type Row = readonly [id: string, chunks: number, distinct: number, longest: number, some: string]

async function rowsOf(server: ServerProcess): Promise<readonly Row[]> {
  const query = `SELECT id, count(*), count(DISTINCT chunk_id), max(length(chunk_content)),
    min(chunk_id) FROM mindsdb.k GROUP BY id`
  const { data } = await sent<{ data: Row[] }>(server, 'POST', '/api/sql/query', { query })
  return data
}

test('kill -9 while documents are split again: each is whole at any moment, and counted once', async () => {
  const provider = silencedEmbeddings()
  const base_url = provider.baseUrl
  const chunking = (chunk_size: number) => {
    return { type: 'text_chunking', text_chunking_config: { chunk_size, chunk_overlap: 0 } }
  }
  await withFolder(async (folder) => {
    const environment = { EIDER_DATA_DIR: folder, EIDER_LOG_LEVEL: 'silent' }
    let server = await startServer(environment)
    await sent(server, 'POST', KBS, {
      knowledge_base: {
        name: 'k',
        embedding_model: { provider: 'openai', model_name: 'stub', base_url },
        preprocessing: chunking(1000),
      },
    })
    const rows = Array.from({ length: DOCUMENTS }, (_, id) => {
      const sentences = Array.from({ length: 8 }, (_, at) => `Tea ${id} is steeped ${at} times.`)
      return { id: `tea ${id}`, content: sentences.join(' ') }
    })
    await sent(server, 'PUT', `${KBS}/k`, { knowledge_base: { rows } })
    provider.silenceAfter(TEXTS_OF_A_LIFE)
    const job = await sent<Job>(server, 'PUT', `${KBS}/k`, {
      knowledge_base: { preprocessing: chunking(60), rechunk: true },
    })
    for (let life = 0; life < LIVES; life++) {
      await provider.silenced()
      server.kill('SIGKILL')
      await server.exited
      provider.silenceAfter(life === LIVES - 1 ? Number.POSITIVE_INFINITY : TEXTS_OF_A_LIFE)
      server = await startServer(environment)
      const now = await rowsOf(server)
      expect(now).toHaveLength(DOCUMENTS)
      for (const [, chunks, distinct, longest, some] of now) {
        expect(distinct).toBe(chunks)
        expect(some).toContain(`of${chunks}:`)
        expect(longest <= 60 ? chunks > 1 : chunks === 1).toBe(true)
      }
    }
    let over = job
    while (over.state === 'queued' || over.state === 'running') {
      await Bun.sleep(20)
      over = await sent(server, 'GET', `/api/jobs/${job.id}`)
    }
    const after = await rowsOf(server)
    const chunks = after.reduce((sum, [, count]) => sum + count, 0)
    expect(over).toMatchObject({ state: 'done', rows: DOCUMENTS, documents: DOCUMENTS, chunks })
    expect(after.filter(([, , , longest]) => longest > 60)).toEqual([])
    server.kill('SIGKILL')
    await server.exited
  })
  provider.stop()
}, 120_000)
