/** A server that is killed while a knowledge base moves to PostgreSQL and back, and clients write to it. */
import { afterAll, describe, expect, test } from 'bun:test'
import { testPgvector } from '../../support/pgvector-server.ts'
import { isEverything } from '../../support/sample.ts'
import { type ServerProcess, startServer, withFolder } from './server-process.ts'
import { stubEmbeddings } from './stub-embeddings.ts'

const postgres = await testPgvector()
afterAll(() => postgres?.stop())

const KBS = '/api/projects/mindsdb/knowledge_bases'
/** More than one transaction sends (SENT_CHUNKS in row-sender.ts). */
const DOCUMENTS = 2500
const LIVES = isEverything ? 4 : 2
const WRITERS = 3
/** Leaves the move a share of the processor. */
const PAUSE_MS = 20

async function sent<T>(server: ServerProcess, method: string, path: string, body?: unknown) {
  const answer = await server.send(method, path, body)
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

async function rows(server: ServerProcess, query: string): Promise<readonly unknown[][]> {
  const answer = await sent<{ data?: unknown[][]; error_message?: string }>(
    server,
    'POST',
    '/api/sql/query',
    { query },
  )
  if (answer.error_message != null) throw new Error(`${query}: ${answer.error_message}`)
  return answer.data ?? []
}

interface Job {
  readonly id: number
  readonly state: string
  readonly rows: number
  readonly error: string | null
}

interface Document {
  readonly content: { readonly content: string }
}

async function moveOf(server: ServerProcess): Promise<Job | undefined> {
  return (await sent<{ items: Job[] }>(server, 'GET', '/api/jobs?kind=move&limit=1')).items[0]
}

/** What clients know of a document: that it is stored, or that it may be. */
class Written {
  readonly certain = new Map<string, string>()
  readonly #perhaps = new Map<string, string>()
  #count = 0

  /**
   * Writes until the server is gone.
   * @returns how many writes got a response
   */
  async writeTo(server: ServerProcess, name: string, until: AbortSignal): Promise<number> {
    let answered = 0
    while (!until.aborted) {
      this.#count += 1
      const id = `${name} ${this.#count % 40}`
      const content = `text ${this.#count} of ${name}`
      this.#perhaps.set(id, content)
      try {
        await sent(server, 'PUT', `${KBS}/k`, { knowledge_base: { rows: [{ id, content }] } })
      } catch {
        return answered
      }
      this.certain.set(id, content)
      this.#perhaps.delete(id)
      answered += 1
      await Bun.sleep(PAUSE_MS)
    }
    return answered
  }

  isRight(id: string, content: string): boolean {
    return this.certain.get(id) === content || this.#perhaps.get(id) === content
  }

  /** A write without a response may have happened or not. From here on, it is known. */
  settle(found: ReadonlyMap<string, string>): void {
    for (const id of this.#perhaps.keys()) {
      const content = found.get(id)
      if (content !== undefined) this.certain.set(id, content)
    }
    this.#perhaps.clear()
  }
}

describe.skipIf(postgres === null)('a server killed during a move', () => {
  for (const copy of [true, false]) {
    test(`loses no answered write, and the move goes on, ${copy ? 'with' : 'without'} a copy`, async () => {
      const provider = stubEmbeddings((text) => [text.length % 7, text.length % 5, 1])
      await withFolder(async (folder) => {
        const environment = {
          EIDER_DATA_DIR: folder,
          EIDER_LOG_LEVEL: 'silent',
          EIDER_NETWORK_ALLOW: '127.0.0.1',
        }
        let server = await startServer(environment)
        const base_url = `http://127.0.0.1:${provider.port}/v1`
        await sent(server, 'POST', KBS, {
          knowledge_base: {
            name: 'k',
            embedding_model: { provider: 'openai', model_name: 'stub', base_url },
          },
        })
        const parameters = JSON.stringify({ ...postgres?.parameters, storage: true })
        await rows(server, `CREATE DATABASE pg ENGINE = 'postgres', PARAMETERS = ${parameters}`)
        const documents = Array.from({ length: DOCUMENTS }, (_, id) => {
          return { id: `tea ${id}`, content: `Tea ${id} grows on the hill`, price: id }
        })
        await sent(server, 'PUT', `${KBS}/k`, { knowledge_base: { rows: documents } })
        const written = new Written()
        for (const storage of [{ database: 'pg', table: `k ${copy}`, copy }, 'embedded']) {
          await sent(server, 'PUT', `${KBS}/k`, { knowledge_base: { storage } })
          for (let life = 0; life <= LIVES; life += 1) {
            const stop = new AbortController()
            const writers = Array.from({ length: WRITERS }, (_, index) => {
              return written.writeTo(server, `writer ${index}`, stop.signal)
            })
            if (life < LIVES) {
              await Bun.sleep(100 + Math.random() * 500)
              server.kill('SIGKILL')
              await server.exited
              await Promise.all(writers)
              server = await startServer(environment)
            } else {
              let job = await moveOf(server)
              while (job?.state === 'queued' || job?.state === 'running') {
                await Bun.sleep(50)
                job = await moveOf(server)
              }
              expect(job).toMatchObject({ state: 'done', error: null })
              stop.abort()
              await Promise.all(writers)
            }
            const ids = [...written.certain.keys()]
            const found = new Map<string, string>()
            for (const id of ids) {
              const text = `/documents/${encodeURIComponent(id)}`
              const document = await sent<Document>(server, 'GET', `${KBS}/k${text}`)
              const { content } = document.content
              expect(written.isRight(id, content)).toBe(true)
              found.set(id, content)
            }
            written.settle(found)
          }
        }
        const count = await rows(server, 'SELECT count(*), count(DISTINCT id) FROM k')
        const [[all, distinct] = []] = count
        expect([all, distinct]).toEqual([distinct, all])
        const teas = `SELECT count(*), sum(price) FROM k WHERE id LIKE 'tea %'`
        expect(await rows(server, teas)).toEqual([[DOCUMENTS, (DOCUMENTS * (DOCUMENTS - 1)) / 2]])
        const left = await postgres?.run(`SELECT count(*)::int AS n FROM eider.knowledge_bases`)
        expect(left).toEqual([{ n: 0 }])
        server.kill('SIGKILL')
        await server.exited
      })
      provider.stop(true)
    }, 240_000)
  }
})
