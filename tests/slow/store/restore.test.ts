import { expect, test } from 'bun:test'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../../src/store/store.ts'
import {
  current,
  documentOf,
  draftOf,
  rowsOf,
  temporaryFolder,
} from '../../support/store-fixture.ts'

const EIDER = join(import.meta.dir, '../../../src/eider.ts')

/** Runs the command line like a user. */
async function eider(...args: readonly string[]) {
  const child = Bun.spawn([process.execPath, EIDER, ...args], {
    env: { ...Bun.env, UV_THREADPOOL_SIZE: '16' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { exitCode: await child.exited, out, err }
}

async function backedUp(folder: string, hasKeys = true): Promise<string> {
  const store = await openStore({ directory: folder, backups: { hasKeys } })
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  await store.chunks.replaceDocuments(kb, [documentOf({ id: 'a', texts: ['one', 'two'] })])
  const { name } = await store.backups.create()
  await store.close()
  return join(folder, 'backups', name)
}

test('restore makes a data folder, and says what is in it', async () => {
  using folder = temporaryFolder()
  const backup = await backedUp(join(folder.path, 'data'))
  const target = join(folder.path, 'restored')
  const { exitCode, out, err } = await eider('restore', backup, '--data', target)
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: '' })
  expect(out).toContain('contents.knowledgeBases: 1')
  const store = await openStore({ directory: target })
  expect(await rowsOf(store, 'SELECT chunk_content FROM project_1.kb_1_chunks ORDER BY 1')).toEqual(
    [['one'], ['two']],
  )
  await store.close()
  // It is in use from here on, so the folder is not empty.
  const again = await eider('restore', backup, '--data', target)
  expect(again).toMatchObject({ exitCode: 1, err: expect.stringContaining('is not empty') })
}, 180_000)

test('restore refuses a backup that was changed, and leaves nothing behind', async () => {
  using folder = temporaryFolder()
  const backup = await backedUp(join(folder.path, 'data'))
  const target = join(folder.path, 'restored')
  const damages: readonly (readonly [string, string, (path: string) => void])[] = [
    ['eider-data.duckdb', 'was changed', (path) => appendFileSync(path, 'x')],
    ['eider-data.duckdb', 'was changed', (path) => truncateSync(path, 20_000)],
    ['eider.key', 'is missing', (path) => rmSync(path)],
    ['manifest.json', 'has no manifest.json', (path) => rmSync(path)],
    ['manifest.json', 'cannot be read', (path) => truncateSync(path, 50)],
    ['manifest.json', 'this version cannot read', (path) => writeFileSync(path, '{"format": 9}')],
  ]
  for (const [name, message, damage] of damages) {
    const copy = join(folder.path, 'copy')
    rmSync(copy, { recursive: true, force: true })
    cpSync(backup, copy, { recursive: true })
    damage(join(copy, name))
    const { exitCode, err } = await eider('restore', copy, '--data', target)
    expect({ name, exitCode, err }).toEqual({
      name,
      exitCode: 1,
      err: expect.stringContaining(message),
    })
    expect(existsSync(target)).toBe(false)
  }
}, 180_000)

test('a backup without keys needs the key, and the right one', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  const backup = await backedUp(data, false)
  const target = join(folder.path, 'restored')
  expect((await eider('restore', backup, '--data', target)).err).toContain('--key')
  const wrong = join(folder.path, 'wrong.key')
  writeFileSync(wrong, `${'ab'.repeat(32)}\n`)
  const refused = await eider('restore', backup, '--data', target, '--key', wrong)
  expect(refused.err).toContain('does not fit')
  expect(readdirSync(target)).toEqual([])
  const key = join(data, 'eider.key')
  expect((await eider('restore', backup, '--data', target, '--key', key)).exitCode).toBe(0)
}, 180_000)

test('a folder whose restore was killed is not served with what is there', async () => {
  using folder = temporaryFolder()
  const backup = await backedUp(join(folder.path, 'data'), false)
  const target = join(folder.path, 'restored')
  // A key that never comes holds the restore up after it has copied the database.
  const key = join(folder.path, 'pipe')
  await Bun.spawn(['mkfifo', key]).exited
  const child = Bun.spawn([
    process.execPath,
    EIDER,
    'restore',
    backup,
    '--data',
    target,
    '--key',
    key,
  ])
  while (!existsSync(join(target, 'eider-data.duckdb'))) await Bun.sleep(20)
  child.kill('SIGKILL')
  await child.exited
  await expect(openStore({ directory: target })).rejects.toThrow('did not finish: empty the folder')
  expect((await eider('restore', backup, '--data', target, '--key', key)).err).toContain(
    'not empty',
  )
}, 60_000)

test('salvage saves what can be read around a damaged block, and leaves the folder as it is', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  const store = await openStore({ directory: data })
  const secretive = { ...draftOf('kb'), params: { note: 'sk-secret' } }
  const kb = await store.catalog.createKnowledgeBase(secretive)
  const texts = Array.from({ length: 6000 }, (_, index) => `<${index}> ${'tea '.repeat(120)}`)
  await store.chunks.replaceDocuments(kb, [documentOf({ id: 'a', texts })])
  const other = await store.catalog.createKnowledgeBase(draftOf('other "one"/../x'))
  await store.chunks.replaceDocuments(other, [documentOf({ id: 'b', texts: ['whole'] })])
  await store.close()
  const path = join(data, 'eider-data.duckdb')
  const bytes = readFileSync(path)
  const at = bytes.indexOf('<3000> ')
  expect(at).toBeGreaterThan(0)
  bytes[at] = 0
  writeFileSync(path, bytes)

  const target = join(folder.path, 'saved')
  const { exitCode, out } = await eider('salvage', data, '--to', target, '--json')
  expect(exitCode).toBe(0)
  const report = JSON.parse(out)
  expect(report.withLog).toBe(true)
  const [damaged, whole] = report.tables.toSorted(
    (one: { rows: number }, two: { rows: number }) => {
      return two.rows - one.rows
    },
  )
  expect(whole).toMatchObject({ rows: 1, lostRows: 0 })
  expect(damaged.rows).toBeGreaterThan(0)
  expect(damaged.lostRows).toBeGreaterThan(0)
  expect(damaged.rows + damaged.lostRows).toBe(6000)
  const lines = readFileSync(join(target, damaged.file), 'utf8').trim().split('\n')
  expect(lines).toHaveLength(damaged.rows)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ document_id: 'a', chunk_content: texts[0] })
  const saved = readFileSync(join(target, 'definitions.json'), 'utf8')
  expect(saved).toContain('"kb"')
  expect(saved).not.toContain('sealed')
  expect(readFileSync(path).equals(bytes)).toBe(true)
}, 120_000)

test('salvage saves long definitions whole', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  const store = await openStore({ directory: data })
  const contentColumns = Array.from({ length: 20_000 }, (_, index) => `content ${index}`)
  await store.catalog.createKnowledgeBase({ ...draftOf('kb'), contentColumns })
  await store.close()
  const target = join(folder.path, 'saved')
  expect((await eider('salvage', data, '--to', target)).exitCode).toBe(0)
  expect(readFileSync(join(target, 'definitions.json'), 'utf8')).toContain('content 19999')
}, 60_000)

test('salvage reads without the log where the log is damaged', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  const store = await openStore({ directory: data })
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  await store.chunks.replaceDocuments(kb, [documentOf({ id: 'a', texts: ['in the file'] })])
  await store.close()
  const again = await openStore({ directory: data })
  await again.chunks.replaceDocuments(current(again), [
    documentOf({ id: 'b', texts: ['in the log'] }),
  ])
  const copy = join(folder.path, 'copy')
  mkdirSync(copy)
  // This is what a killed process leaves behind. Another process may only read the database.
  await Bun.spawn(['cp', '-r', `${data}/.`, copy]).exited
  await again.close()
  const log = join(copy, 'eider-data.duckdb.wal')
  const bytes = readFileSync(log)
  bytes[bytes.length - 12] = (bytes[bytes.length - 12] ?? 0) ^ 1
  writeFileSync(log, bytes)
  const { out } = await eider('salvage', copy, '--to', join(folder.path, 'saved'), '--json')
  const report = JSON.parse(out)
  expect(report).toMatchObject({ withLog: false, tables: [{ rows: 1, lostRows: 0 }] })
  expect(report.damage[0]).toStartWith('the log: ')
}, 180_000)

const LOG = 'eider-data.duckdb.wal'

for (const missing of [[LOG], [LOG, 'eider-log.mark']]) {
  test(`accept-loss lets a folder start without ${missing.join(' and ')}`, async () => {
    using folder = temporaryFolder()
    const data = join(folder.path, 'data')
    const store = await openStore({ directory: data })
    await store.close()
    expect((await eider('accept-loss', data)).out).toContain('nothing is lost')
    const again = await openStore({ directory: data })
    await again.catalog.createKnowledgeBase(draftOf('kb'))
    const copy = join(folder.path, 'copy')
    mkdirSync(copy)
    await Bun.spawn(['cp', '-r', `${data}/.`, copy]).exited
    await again.close()
    for (const name of missing) rmSync(join(copy, name))
    await expect(openStore({ directory: copy })).rejects.toThrow('accept-loss')
    expect((await eider('accept-loss', copy)).exitCode).toBe(0)
    const left = await openStore({ directory: copy })
    expect(left.catalog.snapshot().knowledgeBases).toEqual([])
    await left.close()
  }, 180_000)
}

test('a restored folder opens for the keys and users of the one that was backed up', async () => {
  using folder = temporaryFolder()
  const store = await openStore({
    directory: join(folder.path, 'data'),
    backups: { hasKeys: true },
  })
  const { signal } = new AbortController()
  const limits = { namespaces: null, createdBy: 'ada' }
  const { text } = await store.keys.create({
    ...{ ...limits, name: 'reports', scopes: ['read'], requestsPerMinute: null, expiresAt: null },
  })
  const ann = { ...limits, name: 'ann', password: 'correct horse', role: 'viewer' } as const
  const { id } = await store.users.create(ann, signal)
  const { name } = await store.backups.create()
  await store.close()
  const target = join(folder.path, 'restored')
  const backup = join(folder.path, 'data', 'backups', name)
  expect((await eider('restore', backup, '--data', target)).exitCode).toBe(0)
  const restored = await openStore({ directory: target })
  expect(restored.keys.find(text)?.principal.name).toBe('reports')
  expect(await restored.users.isPassword(id, ann.password, '127.0.0.1', signal)).toBe(true)
  expect(await restored.users.isPassword(id, 'wrong', '127.0.0.1', signal)).toBe(false)
  await restored.close()
})
