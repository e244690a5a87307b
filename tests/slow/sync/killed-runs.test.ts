import { expect, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ServerProcess, startServer, withFolder } from '../server/server-process.ts'
import { stubEmbeddings } from '../server/stub-embeddings.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'
const FILES = 1_100
/** The number of texts that the stub embeds before each kill: as many as a run stores at once. */
const TEXTS_OF_A_LIFE = 500

interface RunReport {
  readonly state: string
  readonly job_id: number
}

async function sent(server: ServerProcess, method: string, path: string, body?: unknown) {
  const answer = await server.send(method, path, body)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text)
}

/**
 * Follows the events of a job until it has more than this many rows, or is over.
 * @returns the number of rows, or null if it is over
 */
async function beyond(server: ServerProcess, job: number, rows: number): Promise<number | null> {
  const answer = await server.send('GET', `/api/jobs/${job}/events`)
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of answer.body ?? []) {
    text += decoder.decode(piece, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1]
      if (data === undefined) continue
      const found = JSON.parse(data) as { readonly state: string; readonly rows: number }
      if (found.state !== 'running' && found.state !== 'queued') return null
      if (found.rows > rows) return found.rows
    }
  }
  return null
}

test('kill -9 between batches of a run: nothing twice, nothing missing, what it counts is exact', async () => {
  let embedded = 0
  const provider = stubEmbeddings(
    (text) => [text.length % 7, 1, 2],
    async (texts) => {
      if (embedded >= TEXTS_OF_A_LIFE) await new Promise(() => {})
      embedded += texts
    },
  )
  await withFolder(async (folder) => {
    const files = join(folder, 'files')
    await mkdir(files)
    const write = (name: number, text: string) => {
      return writeFile(join(files, `${name}.md`), `Tea ${name} is ${text}.`)
    }
    for (let name = 0; name < FILES; name += 1) await write(name, 'steamed')
    const environment = {
      EIDER_DATA_DIR: join(folder, 'data'),
      EIDER_FOLDERS_DIR: files,
      EIDER_LOG_LEVEL: 'silent',
    }
    const base_url = `http://127.0.0.1:${provider.port}/v1`
    const embedding_model = { provider: 'openai', model_name: 'stub', base_url }
    let server = await startServer(environment)
    let storedRows = 0
    await sent(server, 'POST', KB, { knowledge_base: { name: 'k', embedding_model } })
    const others = [{ id: 'by hand', content: 'white tea' }]
    await sent(server, 'PUT', `${KB}/k`, { knowledge_base: { rows: others } })
    const source = { name: 'files', kind: 'folder', path: files }
    await sent(server, 'POST', `${KB}/k/sources`, { source })

    /**
     * Runs the source, kills the server after each batch, and returns the final result of the run.
     */
    async function killedRun(killsMin: number): Promise<RunReport> {
      embedded = 0
      const { id } = await sent(server, 'POST', `${KB}/k/sources/files/run`)
      let kills = 0
      for (;;) {
        const rows = await beyond(server, id, kills === 0 ? 0 : storedRows)
        if (rows === null) break
        storedRows = rows
        server.kill('SIGKILL')
        await server.exited
        kills += 1
        embedded = 0
        server = await startServer(environment)
      }
      expect(kills).toBeGreaterThanOrEqual(killsMin)
      const [run] = await sent(server, 'GET', `${KB}/k/sources/files/runs`)
      return run
    }

    async function stored(): Promise<ReadonlyMap<string, string>> {
      const query = 'SELECT id, chunk_content FROM k ORDER BY id LIMIT 100000'
      const { data } = await sent(server, 'POST', '/api/sql/query', { query })
      const texts = new Map<string, string>(data)
      expect(texts.size).toBe(data.length)
      return texts
    }

    const none = { changed: 0, unchanged: 0, removed: 0, failed: 0 }
    const first = await killedRun(2)
    expect(first).toMatchObject({ state: 'done', ...none, added: FILES })
    expect((await stored()).size).toBe(FILES + 1)

    // Most of them change, so that a kill can happen between batches.
    for (let name = 0; name < FILES; name += 1) {
      if (name % 20 === 0) await rm(join(files, `${name}.md`))
      else if (name % 20 > 1) await write(name, 'fired')
    }
    const removed = FILES / 20
    await write(FILES, 'new')
    const second = await killedRun(1)
    const counts = { added: 1, changed: removed * 18, unchanged: removed, removed, failed: 0 }
    expect(second).toMatchObject({ state: 'done', ...counts })
    const texts = await stored()
    expect(texts.size).toBe(FILES - removed + 2)
    expect(texts.get('by hand')).toBe('white tea')
    expect(texts.has('20.md')).toBe(false)
    expect(texts.get('21.md')).toBe('Tea 21 is steamed.')
    expect(texts.get('22.md')).toBe('Tea 22 is fired.')

    const third = await killedRun(0)
    expect(third).toMatchObject({ ...none, added: 0, unchanged: FILES - removed + 1 })
    server.kill('SIGTERM')
    await server.exited
  })
  provider.stop(true)
}, 300_000)
