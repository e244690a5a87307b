import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { type ServerProcess, startServer, withFolder } from './server-process.ts'
import { stubEmbeddings } from './stub-embeddings.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const CHUNKS = 20_000
const ROWS_PER_INSERT = 2_000
const DIMENSIONS = 384

async function put(server: ServerProcess, rows: readonly object[]): Promise<void> {
  const answer = await server.send('PUT', `${KBS}/k`, { knowledge_base: { rows } })
  if (answer.status !== 200) throw new Error(await answer.text())
}

async function rowsOf(server: ServerProcess, query: string): Promise<readonly unknown[][]> {
  const answer = await server.send('POST', '/api/sql/query', { query })
  return ((await answer.json()) as { readonly data: readonly unknown[][] }).data
}

interface Written {
  readonly counts: number[]
  readonly longestMs: number
}

/** Repeatedly writes the same number into two documents in one request. */
async function count(server: ServerProcess, signal: AbortSignal): Promise<Written> {
  const counts: number[] = []
  let longestMs = 0
  for (let version = 1; !signal.aborted; version += 1) {
    const startMs = performance.now()
    await put(
      server,
      ['left', 'right'].map((id) => ({ id, content: `version ${version}`, version })),
    )
    longestMs = Math.max(longestMs, performance.now() - startMs)
    counts.push(version)
  }
  return { counts, longestMs }
}

test('a backup of 20 000 chunks is one moment of what a writer writes meanwhile', async () => {
  const provider = stubEmbeddings((text) => {
    return Array.from({ length: DIMENSIONS }, (_, at) => (text.length + at) % 7)
  })
  await withFolder(async (folder) => {
    const environment = { EIDER_DATA_DIR: join(folder, 'data'), EIDER_LOG_LEVEL: 'silent' }
    const server = await startServer(environment)
    const model = {
      provider: 'openai',
      model_name: 'stub',
      base_url: `http://127.0.0.1:${provider.port}/v1`,
    }
    await server.send('POST', KBS, { knowledge_base: { name: 'k', embedding_model: model } })
    for (let first = 0; first < CHUNKS; first += ROWS_PER_INSERT) {
      const ids = Array.from({ length: ROWS_PER_INSERT }, (_, index) => first + index)
      await put(
        server,
        ids.map((id) => ({ id, content: `the text of number ${id} about tea`, version: 0 })),
      )
    }
    await put(server, [{ id: 'left', content: 'version 0', version: 0 }])
    await put(server, [{ id: 'right', content: 'version 0', version: 0 }])
    const alone = new AbortController()
    const quiet = count(server, alone.signal)
    // The time that a hundred statements take, for comparison.
    for (let index = 0; index < 100; index += 1) await rowsOf(server, 'SELECT max(version) FROM k')
    alone.abort()
    const { longestMs: quietMs } = await quiet

    const writing = new AbortController()
    const writer = count(server, writing.signal)
    const startMs = performance.now()
    const answer = await server.send('POST', '/api/backup')
    const backupMs = performance.now() - startMs
    writing.abort()
    expect(answer.status).toBe(201)
    const { name } = (await answer.json()) as { readonly name: string }
    const { counts, longestMs } = await writer
    const figures = [quietMs, longestMs, backupMs].map(Math.round).join(', ')
    process.stderr.write(`longest write alone, beside a backup, backup: ${figures} ms\n`)
    expect(counts.length).toBeGreaterThan(2)
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)

    const copy = { ...environment, EIDER_DATA_DIR: join(folder, 'data', 'backups', name) }
    const restored = await startServer(copy)
    const pair = "id IN ('left', 'right')"
    expect(await rowsOf(restored, `SELECT count(*) FROM k WHERE NOT ${pair}`)).toEqual([[CHUNKS]])
    const versions = await rowsOf(restored, `SELECT version, chunk_content FROM k WHERE ${pair}`)
    expect(versions).toHaveLength(2)
    expect(versions[0]).toEqual(versions[1] ?? [])
    const nearest = await rowsOf(restored, "SELECT id FROM k WHERE content = 'tea' LIMIT 3")
    expect(nearest).toHaveLength(3)
    restored.kill('SIGTERM')
    expect(await restored.exited).toBe(0)
  })
  provider.stop(true)
}, 180_000)
