import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { LoggedError } from '../../src/api/http/request/running-requests.ts'
import type { Backup } from '../../src/core/domain/server-state.ts'
import { settingsFrom } from '../../src/wiring/settings/settings.ts'
import { temporaryFolder } from '../support/store-fixture.ts'
import { createTestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

test('POST /api/backup makes a backup, GET /api/backups lists it', async () => {
  using folder = temporaryFolder()
  const app = await createTestApp({ isInProcess: true, directory: folder.path })
  await app.send('POST', KBS, { knowledge_base: { name: 'k' } })
  await app.send('PUT', `${KBS}/k`, { knowledge_base: { rows: [{ id: 1, content: 'tea' }] } })
  expect((await app.send('GET', '/api/backups')).body).toEqual([])
  const made = await app.send('POST', '/api/backup')
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    name: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}$/),
    size_bytes: expect.any(Number),
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/),
    row_count: expect.any(Number),
    has_keys: true,
  })
  expect((await app.send('GET', '/api/backups')).body).toEqual([made.body])
  await app.close()
})

test('backups are for those who are logged in', async () => {
  using folder = temporaryFolder()
  const environment = { EIDER_USERNAME: 'ann', EIDER_PASSWORD: 'secret' }
  const app = await createTestApp({ isInProcess: true, directory: folder.path, environment })
  expect((await app.send('POST', '/api/backup')).status).toBe(401)
  expect((await app.send('GET', '/api/backups')).status).toBe(401)
  await app.close()
})

test('a server in memory says that it has no backups', async () => {
  const app = await createTestApp({ isInProcess: true })
  expect(await app.send('POST', '/api/backup')).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('in memory') },
  })
  await app.close()
})

test('SQL neither sees nor reaches the copy while it is being made', async () => {
  using folder = temporaryFolder()
  const app = await createTestApp({ isInProcess: true, directory: folder.path })
  await app.send('POST', KBS, { knowledge_base: { name: 'k' } })
  const rows = Array.from({ length: 500 }, (_, id) => ({ id, content: `tea ${id}` }))
  await app.send('PUT', `${KBS}/k`, { knowledge_base: { rows } })
  const { promise: named, resolve } = Promise.withResolvers<string>()
  let isOver = false
  const backup = app.send('POST', '/api/backup').finally(() => {
    isOver = true
    resolve('')
  })
  const watch = async () => {
    const { signal } = new AbortController()
    const sql = `SELECT database_name FROM duckdb_databases() WHERE database_name LIKE 'copy_%'`
    while (!isOver) {
      const result = await app.store.engine.run({ sql, values: {} }, { timeoutMs: 9_000 }, signal)
      for await (const batch of result.batches) for (const [name] of batch) resolve(String(name))
    }
  }
  const watching = watch()
  const name = await named
  // Without an attached copy, the attempts below would prove nothing.
  expect(name).toStartWith('copy_')
  const tables = ['eider.counters', 'project_1.kb_1_chunks', 'main.counters', 'counters']
  const tries = [
    ...tables.map((table) => `SELECT * FROM "${name}".${table}`),
    `SELECT * FROM "${name}"."eider"."knowledge_bases"`,
    'SELECT * FROM duckdb_databases()',
    'SELECT * FROM pragma_database_list()',
    'SHOW ALL TABLES',
    `DETACH "${name}"`,
    `USE "${name}"`,
    `CREATE TABLE "${name}".x AS SELECT 1`,
    `DROP TABLE "${name}".project_1.kb_1_chunks`,
  ]
  const answers = []
  for (const query of tries) answers.push(await app.send('POST', '/api/sql/query', { query }))
  for (const { text } of answers) expect(text).toContain('"type":"error"')
  const listed = await app.send('POST', '/api/sql/query', {
    query: 'SELECT * FROM information_schema.tables',
  })
  expect(listed.text).not.toContain('copy_')
  expect((await backup).status).toBe(201)
  await watching
  await app.close()
})

interface Status {
  readonly backups: {
    readonly last: unknown
    readonly next: string | null
    readonly failed: unknown
  }
}

async function statusOf(app: Awaited<ReturnType<typeof createTestApp>>): Promise<Status> {
  return (await app.send('GET', '/api/status')).body as Status
}

test('the schedule makes backups by itself, and /api/status shows the last and the next', async () => {
  using folder = temporaryFolder()
  const environment = { EIDER_BACKUP_SCHEDULE: '* * * * * *' }
  const app = await createTestApp({ isInProcess: true, directory: folder.path, environment })
  expect((await statusOf(app)).backups).toEqual({ last: null, next: null, failed: null })
  const made = Promise.withResolvers<void>()
  const create = app.store.backups.create.bind(app.store.backups)
  app.store.backups.create = () => {
    // One backup is enough: a second one could fall between the two responses that are compared.
    app.store.backups.create = () => Promise.withResolvers<Backup>().promise
    return create().finally(made.resolve)
  }
  app.app.start()
  expect((await statusOf(app)).backups.next).toMatch(/^\d{4}-/)
  await made.promise
  const [newest] = (await app.send('GET', '/api/backups')).body as readonly unknown[]
  expect((await statusOf(app)).backups).toMatchObject({ last: newest, failed: null })
  await app.close()
  // The last backup is still known after a restart.
  const again = await createTestApp({ isInProcess: true, directory: folder.path })
  expect((await statusOf(again)).backups.last).toMatchObject({ has_keys: true })
  await again.close()
})

test('a backup of the schedule that fails is in the log and in /api/status', async () => {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, 'backups'), 'a file')
  const failure = Promise.withResolvers<LoggedError>()
  const environment = { EIDER_BACKUP_SCHEDULE: '* * * * * *' }
  const log = { request: () => {}, failure: failure.resolve }
  const app = await createTestApp({ isInProcess: true, directory: folder.path, environment, log })
  app.app.start()
  expect((await failure.promise).requestId).toBe('backup')
  expect((await statusOf(app)).backups.failed).toMatchObject({
    message: expect.stringContaining('cannot be used'),
  })
  await app.close()
})

test('an invalid schedule prevents the start', () => {
  for (const text of ['at night', '* * *', '0 0 31 2 *']) {
    expect(() => settingsFrom({ EIDER_BACKUP_SCHEDULE: text })).toThrow('EIDER_BACKUP_SCHEDULE')
  }
})
