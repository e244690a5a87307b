import { expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { quote } from '../../src/core/domain/names.ts'
import { BackupSchedule } from '../../src/store/backup/backups.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts'
import {
  current,
  documentOf,
  draftOf,
  failureOf,
  newVector,
  rowsOf,
  temporaryFolder,
} from '../support/store-fixture.ts'

const NOON = Date.UTC(2026, 10, 22, 12)

/** A store in a folder with a knowledge base of this many chunks. */
async function filledStore(
  folder: string,
  chunkCount: number,
  options: Partial<StoreOptions> = {},
) {
  const store = await openStore({ directory: folder, threadPoolSize: 6, ...options })
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  const ids = Array.from({ length: chunkCount }, (_, index) => `d${index}`)
  const documents = ids.map((id, index) => {
    return documentOf({
      id,
      texts: [`text number ${index} of tea`],
      metadata: { 'odd "name" (x)': index, price: index / 2 },
      vectors: [newVector(index, 1, 2)],
    })
  })
  await store.chunks.replaceDocuments(kb, documents)
  return { store, kb }
}

const CONTENT =
  'FROM "project_1"."kb_1_chunks" JOIN "project_1"."kb_1_vectors" USING (chunk_key) ORDER BY chunk_key'

test('a backup contains the rows behind a gap, such as those of replaced documents', async () => {
  using folder = temporaryFolder()
  const { store, kb } = await filledStore(folder.path, 0)
  const words = Array.from({ length: 100 }, (_, index) => `word${index}`).join(' ')
  const documents = Array.from({ length: 400 }, (_, index) => {
    return documentOf({ id: `d${index}`, texts: [words] })
  })
  await store.chunks.replaceDocuments(kb, documents)
  await store.chunks.replaceDocuments(kb, documents)
  const count = 'SELECT count(*) FROM "project_1"."kb_1_recent_postings"'
  const before = await rowsOf(store, count)
  const { name } = await store.backups.create()
  await store.close()
  const restored = await openStore({ directory: join(folder.path, 'backups', name) })
  expect(await rowsOf(restored, count)).toEqual(before)
  await restored.close()
})

test('a backup opens as a data folder with the same rows, keys and comments', async () => {
  using folder = temporaryFolder()
  const { store } = await filledStore(folder.path, 50, { now: () => NOON })
  await store.catalog.createAgent({
    projectId: 1,
    name: 'ann',
    model: { provider: 'openai', modelName: 'm', apiKey: 'sk-secret', options: {} },
    data: { knowledgeBases: [], tables: [] },
    promptTemplate: null,
    params: {},
  })
  const before = await rowsOf(store, CONTENT)
  const definitions = await definitionsOf(store)
  const backup = await store.backups.create()
  await store.close()
  expect(backup).toMatchObject({ name: '2026-11-22T12-00-00-000', hasKeys: true })
  expect(backup.createdAt).toBe('2026-11-22 12:00:00.000000')

  const copy = join(folder.path, 'backups', backup.name)
  const sizes = readdirSync(copy).map((name) => statSync(join(copy, name)).size)
  expect(backup.sizeBytes).toBeGreaterThan(sizes.reduce((sum, size) => sum + size) - 100_000)
  const restored = await openStore({ directory: copy, threadPoolSize: 6 })
  expect(await rowsOf(restored, CONTENT)).toEqual(before)
  expect(await definitionsOf(restored)).toEqual(definitions)
  expect(restored.catalog.snapshot().agents[0]?.model?.apiKey).toBe('sk-secret')
  await restored.chunks.replaceDocuments(current(restored), [
    documentOf({ id: 'd1', texts: ['new'], vectors: [newVector(9, 9, 9)] }),
  ])
  expect(await rowsOf(restored, CONTENT)).toHaveLength(50)
  await restored.close()
})

/** Returns columns, types, defaults, comments and keys, so everything but the rows. */
function definitionsOf(store: Store) {
  return rowsOf(
    store,
    `SELECT table_name, sql || coalesce(comment, '') FROM duckdb_tables()
      WHERE NOT internal AND NOT temporary ORDER BY ALL`,
  )
}

test('only the owner can read a backup', async () => {
  using folder = temporaryFolder()
  const { store } = await filledStore(folder.path, 1)
  const { name } = await store.backups.create()
  await store.close()
  const copy = join(folder.path, 'backups', name)
  expect(statSync(copy).mode & 0o777).toBe(0o700)
  const modes = readdirSync(copy).map((file) => [file, statSync(join(copy, file)).mode & 0o777])
  expect(Object.fromEntries(modes)).toEqual({
    'eider-data.duckdb': 0o600,
    'eider-signing.key': 0o600,
    'eider.key': 0o600,
    'manifest.json': 0o600,
  })
})

test('the keys can be left out', async () => {
  using folder = temporaryFolder()
  const { store } = await filledStore(folder.path, 1, { backups: { hasKeys: false } })
  const { name, hasKeys } = await store.backups.create()
  await store.close()
  expect(hasKeys).toBe(false)
  expect(readdirSync(join(folder.path, 'backups', name)).sort()).toEqual([
    'eider-data.duckdb',
    'manifest.json',
  ])
})

test('a second backup at the same time is refused', async () => {
  using folder = temporaryFolder()
  const { store } = await filledStore(folder.path, 10)
  const first = store.backups.create()
  expect((await failureOf(store.backups.create())).code).toBe('backup_running')
  await first
  expect((await failureOf(store.backups.create())).code).toBe('none')
  expect(await store.backups.list()).toHaveLength(2)
  await store.close()
})

test('the newest backups stay, and those of another data folder', async () => {
  using folder = temporaryFolder()
  const directory = join(folder.path, 'all')
  let now = NOON
  const options = { backups: { directory, keep: 2 }, now: () => now++ }
  const one = await filledStore(join(folder.path, 'one'), 1, options)
  const other = await filledStore(join(folder.path, 'other'), 1, options)
  const kept = [await other.store.backups.create()]
  mkdirSync(join(directory, 'not a backup'))
  await one.store.backups.create()
  kept.push(await one.store.backups.create(), await one.store.backups.create())
  expect(await one.store.backups.list()).toEqual(kept.toReversed())
  expect(existsSync(join(directory, 'not a backup'))).toBe(true)
  await one.store.close()
  await other.store.close()
})

test('a backup that fails leaves nothing, and the next one works', async () => {
  using folder = temporaryFolder()
  const directory = join(folder.path, 'backups')
  const { store } = await filledStore(folder.path, 10)
  writeFileSync(directory, 'a file')
  const before = await databases(store)
  expect(await failureOf(store.backups.create())).toMatchObject({ code: 'backup_failed' })
  expect(
    existsSync(join(folder.path, 'exports')) ? readdirSync(join(folder.path, 'exports')) : [],
  ).toEqual([])
  await Bun.file(directory).delete()
  await store.backups.create()
  expect(readdirSync(directory)).toHaveLength(1)
  expect(await databases(store)).toEqual(before)
  await store.close()
})

/** Returns how many databases the instance has besides its own. */
async function databases(store: Store) {
  return (await rowsOf(store, 'SELECT count(*) FROM duckdb_databases() WHERE NOT internal'))[0]?.[0]
}

test('a server that stops ends its backup and leaves nothing of it', async () => {
  using folder = temporaryFolder()
  const { store } = await filledStore(folder.path, 500)
  const failure = failureOf(store.backups.create())
  await store.close()
  expect((await failure).code).toBe('shutting_down')
  expect(readdirSync(join(folder.path, 'backups'))).toEqual([])
})

test('a schedule knows when the next backup comes; without one there is none', async () => {
  using folder = temporaryFolder()
  const { store } = await filledStore(folder.path, 1)
  const nextOf = (pattern: string | undefined) => {
    const schedule = new BackupSchedule(store.backups, { pattern, onFailure: () => {} })
    schedule.start()
    const { next } = schedule.state()
    schedule.close()
    return next
  }
  expect(nextOf(undefined)).toBe(null)
  expect(nextOf('0 3 1 1 *')).toMatch(/^\d{4}-\d\d-\d\d \d\d:00:00\.000000$/)
  await store.close()
})

test('the next backup removes what a killed process left of its own', async () => {
  using folder = temporaryFolder()
  const { store } = await filledStore(folder.path, 1)
  const { name } = await store.backups.create()
  const directory = join(folder.path, 'backups')
  const { folderId } = await Bun.file(join(directory, name, 'manifest.json')).json()
  cpSync(join(directory, name), join(directory, `.partial-${folderId}-2026`), { recursive: true })
  cpSync(join(directory, name), join(directory, '.partial-of-another-2026'), { recursive: true })
  expect(await store.backups.list()).toHaveLength(1)
  const next = await store.backups.create()
  expect(readdirSync(directory).sort()).toEqual(
    ['.partial-of-another-2026', name, next.name].sort(),
  )
  await store.close()
})

test('a backup shows a single moment of the data, even during writes', async () => {
  using folder = temporaryFolder()
  const { store } = await filledStore(folder.path, 20)
  const writing = new AbortController()
  const writer = (async () => {
    for (let version = 1; !writing.signal.aborted; version += 1) {
      // Both are written in one transaction, so they never differ.
      const pair = ['left', 'right'].map((id) => {
        return documentOf({
          id,
          texts: [`version ${version}`],
          vectors: [newVector(version, 1, 1)],
        })
      })
      await store.chunks.replaceDocuments(current(store), pair)
    }
  })()
  const names = [(await store.backups.create()).name, (await store.backups.create()).name]
  writing.abort()
  await writer
  await store.close()
  for (const name of names) {
    const copy = await openStore({
      directory: join(folder.path, 'backups', name),
      threadPoolSize: 6,
    })
    const rows = await rowsOf(
      copy,
      `SELECT count(DISTINCT chunk_content), count(*) % 2 FROM ${quote('project_1')}.kb_1_chunks
        WHERE document_id IN ('left', 'right')`,
    )
    expect([
      [0, 0],
      [1, 0],
    ] as unknown[]).toContainEqual(rows[0])
    await copy.close()
  }
})
