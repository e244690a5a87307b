import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { MIGRATIONS } from '../../src/store/catalog/migrate.ts'
import { openStore } from '../../src/store/store.ts'
import { current, documentOf, draftOf, temporaryFolder } from '../support/store-fixture.ts'

const STORE_MODULE = join(import.meta.dir, '../../src/store/store.ts')

const NEWEST = Math.max(...MIGRATIONS.map(({ number }) => number))

/** Opens the folder in another process and returns the output. */
async function openElsewhere(directory: string): Promise<string> {
  const program = `
    import { openStore } from ${JSON.stringify(STORE_MODULE)}
    try { await (await openStore({ directory: process.argv[1] })).close(); console.log('opened') }
    catch (error) { console.log(error.name === 'StartError', error.message) }`
  const child = Bun.spawn([process.execPath, '-e', program, directory], { stderr: 'inherit' })
  const text = await new Response(child.stdout).text()
  await child.exited
  return text.trim()
}

test('a second process is refused and told who has the folder', async () => {
  using folder = temporaryFolder()
  const store = await openStore({ directory: folder.path, address: '127.0.0.1:1234' })
  const answer = await openElsewhere(folder.path)
  expect(answer).toStartWith(`true The data folder ${folder.path} is in use by another Eider`)
  expect(answer).toContain(`process ${process.pid} on `)
  expect(answer).toContain('listening on 127.0.0.1:1234')
  await store.close()
  expect(await openElsewhere(folder.path)).toBe('opened')
})

test('the note of a killed process does not prevent a start', async () => {
  using folder = temporaryFolder()
  const note = { processId: 1, host: 'elsewhere', startedAt: '2020-01-01 00:00:00.000000' }
  writeFileSync(join(folder.path, 'eider.lock'), JSON.stringify(note))
  const store = await openStore({ directory: folder.path })
  expect(readFileSync(join(folder.path, 'eider.lock'), 'utf8')).toContain(`${process.pid}`)
  await store.close()
  expect(readdirSync(folder.path)).not.toContain('eider.lock')
})

test('a folder that cannot be used is refused with its path and the reason', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'file')
  writeFileSync(file, 'not a folder')
  const refusal = `The data folder ${file} cannot be used: it is a file`
  await expect(openStore({ directory: file })).rejects.toThrow(refusal)
  const below = join(file, 'data')
  await expect(openStore({ directory: below })).rejects.toThrow('a part of its path is a file')
})

test('a file that is not a database is refused', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'eider-data.duckdb'), 'x'.repeat(10_000))
  await expect(openStore({ directory: folder.path })).rejects.toThrow(
    'not a valid DuckDB database file',
  )
})

test('a memory limit that is too small to open the folder is named, and nothing else', async () => {
  using folder = temporaryFolder()
  const [directory, killed] = [join(folder.path, 'data'), join(folder.path, 'killed')]
  const refused = (at: string) => {
    return expect(openStore({ directory: at, memoryLimit: '1MB' })).rejects.toThrow(
      `EIDER_MEMORY_LIMIT is too small to open the data folder ${at}: raise it`,
    )
  }
  await refused(directory)
  const store = await openStore({ directory })
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  const texts = Array.from({ length: 2000 }, (_, index) => `${'tea '.repeat(50)} ${index}`)
  await store.chunks.replaceDocuments(kb, [documentOf({ id: 'a', texts })])
  // This is what a killed process leaves behind: changes that are only in the log.
  await Bun.spawn(['cp', '-r', directory, killed]).exited
  await store.close()
  await refused(directory)
  await refused(killed)
  const again = await openStore({ directory: killed })
  expect(await again.chunks.chunkCount(current(again))).toBe(2000)
  await again.close()
})

test('a file of a newer version is refused, naming both versions', async () => {
  using folder = temporaryFolder()
  const next = {
    number: NEWEST + 1,
    name: 'next',
    sql: 'CREATE TABLE eider.x(a INTEGER)',
  }
  const newer = await openStore({ directory: folder.path, migrations: [...MIGRATIONS, next] })
  await newer.close()
  const versions = `catalog version ${NEWEST + 1}, this program knows up to ${NEWEST}`
  await expect(openStore({ directory: folder.path })).rejects.toThrow(versions)
})

test('a migration that was edited after it was applied is refused', async () => {
  using folder = temporaryFolder()
  await (await openStore({ directory: folder.path })).close()
  const migrations = MIGRATIONS.map((step) => ({ ...step, sql: `${step.sql}\n-- edited` }))
  await expect(openStore({ directory: folder.path, migrations })).rejects.toThrow('0001_catalog')
})

test('a migration that fails leaves nothing behind', async () => {
  using folder = temporaryFolder()
  const broken = {
    number: NEWEST + 1,
    name: 'broken',
    sql: 'CREATE TABLE eider.half(a INTEGER); SELECT nope',
  }
  const migrations = [...MIGRATIONS, broken]
  await expect(openStore({ directory: folder.path, migrations })).rejects.toThrow('nope')
  const fixed = { ...broken, sql: 'CREATE TABLE eider.half(a INTEGER)' }
  const store = await openStore({
    directory: folder.path,
    migrations: [...MIGRATIONS, fixed],
  })
  await store.close()
})

test('secrets cannot be read in the data folder, except with its key', async () => {
  using folder = temporaryFolder()
  const store = await openStore({ directory: folder.path })
  const secret = 'sk-very-secret-value'
  const kb = await store.catalog.createKnowledgeBase({
    ...draftOf('kb'),
    embeddingModel: {
      provider: 'openai',
      modelName: 'm',
      apiKey: secret,
      baseUrl: `https://user:${secret}@host/`,
      options: { deep: { connection: `postgres://u:${secret}@h/db` } },
    },
    params: { anything: secret },
  })
  await store.chunks.replaceDocuments(kb, [documentOf({ id: 'a', texts: ['visible text'] })])
  await store.close()

  const bytes = readdirSync(folder.path)
    .filter((name) => statSync(join(folder.path, name)).isFile())
    .map((name) => readFileSync(join(folder.path, name)).toString('latin1'))
    .join('')
  expect(bytes).toContain('visible text')
  expect(bytes).not.toContain(secret)
  expect(statSync(join(folder.path, 'eider.key')).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder.path, 'eider-signing.key')).mode & 0o777).toBe(0o600)
})

test('a missing or damaged key file is refused instead of losing the secrets', async () => {
  using folder = temporaryFolder()
  await (await openStore({ directory: folder.path })).close()
  const key = join(folder.path, 'eider.key')
  const bytes = readFileSync(key)
  writeFileSync(key, 'short')
  await expect(openStore({ directory: folder.path })).rejects.toThrow('is damaged')
  rmSync(key)
  await expect(openStore({ directory: folder.path })).rejects.toThrow('is missing: put it back')
  writeFileSync(key, `${'0'.repeat(64)}\n`)
  await expect(openStore({ directory: folder.path })).rejects.toThrow('The key file does not fit')
  writeFileSync(key, bytes)
  await (await openStore({ directory: folder.path })).close()
})

test('a knowledge base older than index statements accepts one', async () => {
  using folder = temporaryFolder()
  const before = await openStore({ directory: folder.path })
  await before.catalog.createKnowledgeBase(draftOf('kb'))
  await before.close()
  // Restores the earlier folder, without the columns and the migrations that create them.
  const instance = await DuckDBInstance.create(join(folder.path, 'eider-data.duckdb'))
  const connection = await instance.connect()
  for (const column of ['vector_index', 'sealed_next_embedding_model', 'vectors_number']) {
    await connection.run(`ALTER TABLE eider.knowledge_bases DROP COLUMN ${column}`)
  }
  await connection.run('DELETE FROM eider.migrations WHERE number BETWEEN 3 AND 6')
  connection.closeSync()
  instance.closeSync()
  const after = await openStore({ directory: folder.path })
  const [kb] = after.catalog.snapshot().knowledgeBases
  expect(kb?.vectorIndex).toBeNull()
  const vectorIndex = { type: 'hnsw', options: { m: 8 } } as const
  if (kb !== undefined) await after.catalog.alterKnowledgeBase(kb, { vectorIndex })
  await after.close()
  const again = await openStore({ directory: folder.path })
  expect(again.catalog.snapshot().knowledgeBases[0]?.vectorIndex).toEqual(vectorIndex)
  await again.close()
})
