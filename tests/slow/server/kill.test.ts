import { expect, test } from 'bun:test'
import { isEverything } from '../../support/sample.ts'
import { type ServerProcess, startServer, withFolder } from './server-process.ts'
import { stubEmbeddings } from './stub-embeddings.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const CYCLES = isEverything ? 4 : 2
const WRITERS = 4

/**
 * Writes versions of its own documents until the server is gone.
 * @returns the last version that got a 200
 */
async function write(
  server: ServerProcess,
  writer: number,
  { from, onStored }: { readonly from: number; readonly onStored: () => void },
) {
  const acknowledged = new Map<string, number>()
  const attempted = new Map<string, number>()
  for (let version = from; version < from + 10_000; version += 1) {
    const id = `w${writer}-${version % 5}`
    const content = Array.from({ length: 4 }, () => `version ${version} `.repeat(60)).join('\n\n')
    attempted.set(id, version)
    try {
      const rows = [{ id, content, version }]
      const answer = await server.send('PUT', `${KBS}/k`, { knowledge_base: { rows } })
      if (answer.status === 200) {
        acknowledged.set(id, version)
        onStored()
      }
      await answer.text()
    } catch {
      break
    }
  }
  return { acknowledged, attempted }
}

test('kill -9 during concurrent inserts loses nothing acknowledged and tears no document', async () => {
  const provider = stubEmbeddings((text) => [text.length % 7, 1, 2])
  await withFolder(async (folder) => {
    const environment = { EIDER_DATA_DIR: folder, EIDER_LOG_LEVEL: 'silent' }
    const model = {
      provider: 'openai',
      model_name: 'stub',
      base_url: `http://127.0.0.1:${provider.port}/v1`,
    }
    const acknowledged = new Map<string, number>()
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const server = await startServer(environment)
      await server.send('POST', KBS, { knowledge_base: { name: 'k', embedding_model: model } })
      const stored = Promise.withResolvers<void>()
      const writers = Array.from({ length: WRITERS }, (_, writer) => {
        return write(server, writer, { from: cycle * 100_000, onStored: stored.resolve })
      })
      await stored.promise
      await Bun.sleep(600 + cycle * 150)
      server.kill('SIGKILL')
      await server.exited
      const attempted = new Map<string, number>()
      for (const result of await Promise.all(writers)) {
        for (const [id, version] of result.acknowledged) acknowledged.set(id, version)
        for (const [id, version] of result.attempted) attempted.set(id, version)
      }
      expect(acknowledged.size).toBeGreaterThan(0)
      await check(environment, acknowledged, attempted)
    }
  })
  provider.stop(true)
}, 120_000)

async function check(
  environment: Readonly<Record<string, string>>,
  acknowledged: ReadonlyMap<string, number>,
  attempted: ReadonlyMap<string, number>,
): Promise<void> {
  const server = await startServer(environment)
  const query = 'SELECT id, version, chunk_id, chunk_content FROM k'
  const answer = await server.send('POST', '/api/sql/query', { query })
  const { data } = (await answer.json()) as {
    data: readonly (readonly [string, number, string, string])[]
  }
  const documents = new Map<string, (readonly [number, string, string])[]>()
  for (const [id, version, chunkId, content] of data) {
    documents.set(id, [...(documents.get(id) ?? []), [version, chunkId, content]])
  }
  for (const [id, version] of acknowledged) {
    const chunks = documents.get(id) ?? []
    const [first] = chunks
    expect(first?.[0]).toBeGreaterThanOrEqual(version)
    expect(first?.[0]).toBeLessThanOrEqual(Math.max(version, attempted.get(id) ?? version))
    const total = /:\d+of(\d+):/.exec(first?.[1] ?? '')?.[1]
    expect(String(chunks.length)).toBe(String(total))
    for (const [one, , content] of chunks) {
      expect(one).toBe(first?.[0] ?? -1)
      expect(content).toContain(`version ${one}`)
    }
  }
  const search = "SELECT count(*) AS n FROM k WHERE content = 'version'"
  const found = await server.send('POST', '/api/sql/query', { query: search })
  expect(((await found.json()) as { data: readonly unknown[] }).data).toEqual([[data.length]])
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
}
