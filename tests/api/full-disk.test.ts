import { expect, test } from 'bun:test'
import { temporaryFolder } from '../support/store-fixture.ts'
import { createTestApp, wordEmbedders } from '../support/test-app.ts'

const BASES = '/api/projects/mindsdb/knowledge_bases'

test('on a full disk nothing more is stored, but searching, deleting and VACUUM work', async () => {
  using folder = temporaryFolder()
  let free = 10e9
  // A store caches the free disk space for a quarter of a second, so a new store sees the change.
  const open = () => createTestApp({ directory: folder.path, freeBytesOf: () => free })
  let app = await open()
  await app.send('POST', BASES, { knowledge_base: { name: 'teas' } })
  const rows = [1, 2, 3].map((id) => ({ id, content: `tea number ${id}` }))
  const insert = () => app.send('PUT', `${BASES}/teas`, { knowledge_base: { rows } })
  expect((await insert()).status).toBe(200)
  expect((await app.send('GET', '/healthz')).body).toEqual({
    status: 'ok',
    checks: { database: 'ok', disk: 'ok' },
  })
  await app.close()

  free = 100e6
  app = await open()
  const refused = await insert()
  expect(refused.status).toBe(507)
  expect(refused.body).toMatchObject({ code: 'storage_full' })
  expect(refused.text).toContain('100 MB left and 256 MB must stay free (EIDER_DISK_RESERVE)')
  for (const query of [
    'CREATE KNOWLEDGE_BASE others',
    'CREATE TABLE copied AS SELECT id FROM teas',
    "INSERT INTO teas (id, content) VALUES (4, 'a fourth')",
    "UPDATE teas SET content = 'changed' WHERE id = '1'",
  ]) {
    expect((await app.send('POST', '/api/sql/query', { query })).body).toMatchObject({
      error_code: 5006,
    })
  }
  expect(await app.rows('SELECT count(*) FROM teas')).toEqual([[3]])
  // New audit entries wait in memory until space is free. Those on disk can be read.
  const audit = await app.send('GET', '/api/audit')
  expect(audit.status).toBe(200)
  expect(audit.text).toContain('createKnowledgeBase')
  const health = await app.send('GET', '/healthz')
  expect(health.status).toBe(503)
  expect(health.body).toMatchObject({ code: 'unhealthy', detail: expect.stringContaining('full') })
  // Supervisors restart the server because of these two responses, and a restart would free no
  // space.
  expect((await app.send('GET', '/api/util/ping')).status).toBe(200)
  const readiness = await app.send('GET', '/api/util/readiness')
  expect([readiness.status, readiness.body]).toEqual([200, { warnings: ['storage_full'] }])
  const status = (await app.send('GET', '/api/status')).body as { readonly disk: unknown }
  expect(status.disk).toMatchObject({ free: 100e6, reserve: 256e6, full: true })

  expect(
    (await app.send('POST', '/api/sql/query', { query: "DELETE FROM teas WHERE id = '1'" })).body,
  ).toMatchObject({ type: 'ok' })
  expect(await app.rows('SELECT count(*) FROM teas')).toEqual([[2]])
  const [vacuumed] = await app.rows('VACUUM')
  expect(vacuumed?.[2]).toBeGreaterThan(0)
  expect((await app.send('DELETE', `${BASES}/teas`)).status).toBe(204)
  await app.close()
})

test('a file that would leave less than the reserve is refused before it is written', async () => {
  const free = 300e6
  using folder = temporaryFolder()
  const app = await createTestApp({ directory: folder.path, freeBytesOf: () => free })
  const upload = (bytes: number) => {
    const form = new FormData()
    form.append('file', new File(['a,b\n', '1,2\n'.repeat(bytes / 4)], 'f.csv'))
    return app.send('PUT', `/api/files/f${bytes}`, form)
  }
  expect((await upload(1_000)).status).toBe(200)
  const refused = await upload(24_000_000)
  expect([refused.status, refused.text.includes('48 MB are needed')]).toEqual([507, true])
  await app.close()
})

test('memory that runs out in the middle of an insert is answered as such, and nothing is stored', async () => {
  let isFull = true
  const app = await createTestApp({
    embedders: {
      ...wordEmbedders,
      embedder: () => ({
        embed: async (texts) => {
          if (isFull) throw new RangeError('Out of memory')
          return texts.map(() => Float32Array.of(1, 0))
        },
      }),
      probe: async () => ({ kind: 'ready', dimensions: 2 }),
    },
  })
  await app.send('POST', BASES, { knowledge_base: { name: 'teas' } })
  const insert = () =>
    app.send('PUT', `${BASES}/teas`, { knowledge_base: { rows: [{ id: 1, content: 'tea' }] } })
  const refused = await insert()
  expect(refused).toMatchObject({ status: 507, body: { code: 'out_of_memory' } })
  expect(refused.text).toContain('try again, or raise EIDER_MEMORY_LIMIT')
  isFull = false
  expect((await insert()).status).toBe(200)
  await app.close()
})
