/** A server with a knowledge base and a folder that a source may read. */
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts'

export interface SyncFixture {
  readonly app: TestApp
  readonly folder: string
  /** Writes a file that looks as if it had changed some time ago. */
  write(path: string, content: string | Uint8Array): Promise<void>
  addSource(source: object): Promise<void>
  /** Runs it and waits for its end. */
  run(name: string, body?: object): Promise<RunReport>
  runs(name: string): Promise<readonly RunReport[]>
  /** Returns the IDs of documents with their texts, in order. */
  documents(kb?: string): Promise<Readonly<Record<string, string>>>
  close(): Promise<void>
}

export interface RunReport {
  readonly id: number
  readonly job_id: number
  readonly state: string
  readonly trigger: string
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  readonly removed: number
  readonly failed: number
  readonly bytes: number
  readonly pages: number
  readonly duration_ms: number | null
  readonly error: string | null
  readonly errors: readonly { readonly item: string; readonly message: string }[]
}

const KB = '/api/projects/mindsdb/knowledge_bases'

export async function syncFixture(
  options: TestAppOptions & { readonly folder?: string } = {},
): Promise<SyncFixture> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'eider-sync-')))
  const environment = {
    EIDER_FOLDERS_DIR: folder,
    EIDER_CRAWL_ALLOW: '127.0.0.1',
    ...options.environment,
  }
  const app = await createTestApp({ ...options, environment })
  await app.send('POST', KB, { knowledge_base: { name: 'docs' } })
  const source = (name: string) => `${KB}/docs/sources/${encodeURIComponent(name)}`
  const fixture: SyncFixture = {
    app,
    folder,
    async write(path, content) {
      const file = join(folder, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
      const earlier = Date.now() / 1000 - 60
      await utimes(file, earlier, earlier)
    },
    async addSource(sent) {
      const answer = await app.send('POST', `${KB}/docs/sources`, { source: sent })
      if (answer.status !== 201) throw new Error(answer.text)
    },
    async run(name, body) {
      const answer = await app.send('POST', `${source(name)}/run`, body)
      if (answer.status !== 202) throw new Error(answer.text)
      const { id } = answer.body as { readonly id: number }
      await ended(app, id)
      const [last] = await fixture.runs(name)
      if (last === undefined) throw new Error('no run')
      return last
    },
    async runs(name) {
      const { body } = await app.send('GET', `${source(name)}/runs`)
      return body as readonly RunReport[]
    },
    async documents(kb = 'docs') {
      const rows = await app.rows(
        `SELECT id, string_agg(chunk_content, '|' ORDER BY chunk_id) FROM ${kb} GROUP BY id ORDER BY id LIMIT 100000`,
      )
      return Object.fromEntries(rows.map(([id, text]) => [String(id), String(text)]))
    },
    async close() {
      await app.close()
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
  return fixture
}

/** Follows the events of a job to its end. */
export async function ended(app: TestApp, jobId: number): Promise<void> {
  await app.send('GET', `/api/jobs/${jobId}/events`)
}
