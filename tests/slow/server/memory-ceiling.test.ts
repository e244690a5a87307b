import { expect, test } from 'bun:test'
import { startServer, withFolder } from './server-process.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux(
  'vectors are searched in memory under the ceiling, which the status shows',
  async () => {
    await withFolder(async (folder) => {
      const server = await startServer({ EIDER_DATA_DIR: folder, EIDER_MEMORY_LIMIT: '512MB' })
      await server.send('POST', KBS, { knowledge_base: { name: 'k' } })
      const rows = Array.from({ length: 50 }, (_, id) => ({ id, content: `tea number ${id}` }))
      const put = await server.send('PUT', `${KBS}/k`, { knowledge_base: { rows } })
      expect(put.status).toBe(200)
      const query = "SELECT id FROM k WHERE content = 'tea' LIMIT 3"
      const found = await (await server.send('POST', '/api/sql/query', { query })).json()
      expect(found).toMatchObject({ type: 'table' })
      const status = await (await server.send('GET', '/api/status')).json()
      const { memory } = status as { memory: Readonly<Record<'data' | 'start' | 'limit', number>> }
      expect(memory.limit - memory.start).toBeGreaterThan(512e6)
      expect(memory.limit - memory.start).toBeLessThan(1.2e9)
      expect(memory.data).toBeLessThan(memory.limit)
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    })
  },
  60_000,
)
