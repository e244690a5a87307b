import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { version } from '@duckdb/node-api'
import { Extensions } from '../../src/store/hnsw/extensions.ts'
import { HnswDatabase } from '../../src/store/hnsw/hnsw-database.ts'
import { openSearchableStore } from '../support/searchable-store.ts'
import { extensionPath } from './hnsw-fixture.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-vss-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function bytesOfExtension(): Promise<Uint8Array> {
  return new Uint8Array(await Bun.file(extensionPath()).arrayBuffer())
}

/** Looks for an extension file with these bytes in the configured folder. */
async function extensionsWith(bytes: Uint8Array): Promise<Extensions> {
  await Bun.write(join(folder, 'vss.duckdb_extension'), bytes)
  const platform = dirname(extensionPath()).split(/[\\/]/).at(-1) ?? ''
  const place = { directory: folder, ownDirectory: join(folder, 'own') }
  return new Extensions({ ...place, isInstallAllowed: false, version: version(), platform })
}

function opened({ path }: Extensions): Promise<HnswDatabase> {
  return HnswDatabase.open({ extensionPath: path ?? '', memoryLimit: '64MB' })
}

test('the fetched file is found and loads', async () => {
  const extensions = await extensionsWith(await bytesOfExtension())
  expect(extensions.possibility()).toEqual({ possible: true })
  const database = await opened(extensions)
  await database.close()
})

test('a store finds it in its configured folder', async () => {
  const directory = join(extensionPath(), '../../..')
  const store = await openSearchableStore({ extensionDirectory: directory })
  const possible = store.indexStates.possible()
  await store.close()
  expect(possible.hnsw).toEqual({ possible: true })
})

test('a file in which one bit was changed is not run', async () => {
  const bytes = await bytesOfExtension()
  const at = Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  const extensions = await extensionsWith(bytes)
  const failure: unknown = await opened(extensions).catch((error: unknown) => error)
  extensions.refuse(failure)
  expect(extensions.possibility()).toEqual({
    possible: false,
    reason:
      'The vss extension that was found is not used: it does not carry the signature of DuckDB',
  })
})

test('a file from whose middle a part is missing is not run', async () => {
  const bytes = await bytesOfExtension()
  const cut = new Uint8Array([...bytes.subarray(0, 100_000), ...bytes.subarray(-2000)])
  const extensions = await extensionsWith(cut)
  const failure: unknown = await opened(extensions).catch((error: unknown) => error)
  extensions.refuse(failure)
  expect(extensions.possibility()).toMatchObject({
    reason: expect.stringContaining('The vss extension that was found is not used'),
  })
})

test('a file that says it is for another version is not tried', async () => {
  const bytes = await bytesOfExtension()
  bytes.set(new TextEncoder().encode('v1.4.0'), bytes.length - 512 + 5 * 32)
  const extensions = await extensionsWith(bytes)
  expect(extensions.path).toBeNull()
  expect(extensions.possibility()).toMatchObject({ reason: expect.stringContaining('v1.4.0') })
})

test('statements of the instance reach no file and change no setting', async () => {
  const database = await opened(await extensionsWith(await bytesOfExtension()))
  const path = join(folder, 'out.csv')
  for (const sql of [
    `COPY (SELECT 1) TO '${path}'`,
    `SELECT * FROM read_csv('${path}')`,
    'SET threads = 8',
    'SET enable_external_access = true',
  ]) {
    await expect(database.lease((connection) => connection.run(sql))).rejects.toThrow()
  }
  await database.close()
  await expect(database.lease(async () => 1)).rejects.toThrow('released')
})
