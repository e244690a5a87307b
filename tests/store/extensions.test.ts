import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Extensions,
  type ExtensionsOptions,
  installExtension,
} from '../../src/store/hnsw/extensions.ts'
import { HnswDatabase } from '../../src/store/hnsw/hnsw-database.ts'
import { openSearchableStore } from '../support/searchable-store.ts'
import { extensionBytes, writeExtension } from './fake-extension.ts'

const BUILD = { version: 'v1.5.5', platform: 'linux_amd64' }

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-extensions-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

function extensions(changes: Partial<ExtensionsOptions> = {}): Extensions {
  return new Extensions({
    directory: join(folder, 'configured'),
    ownDirectory: join(folder, 'own'),
    isInstallAllowed: false,
    ...BUILD,
    ...changes,
  })
}

function reasonOf(one: Extensions): string {
  const possibility = one.possibility()
  return possibility.possible ? 'possible' : possibility.reason
}

test('the configured folder comes first, then that of DuckDB', async () => {
  const own = await writeExtension(join(folder, 'own'), BUILD)
  expect(extensions().path).toBe(own)
  const configured = await writeExtension(join(folder, 'configured'), BUILD)
  expect(extensions().path).toBe(configured)
  expect(extensions().possibility()).toEqual({ possible: true })
})

test('a file that lies in the configured folder itself is found', async () => {
  const path = join(folder, 'configured', 'vss.duckdb_extension')
  await Bun.write(path, extensionBytes(BUILD))
  expect(extensions().path).toBe(path)
})

test('without a file the reason says how to get one', () => {
  const found = extensions({ directory: './nowhere' })
  expect(found.path).toBeNull()
  expect(reasonOf(found)).toBe(
    'The vss extension for DuckDB v1.5.5, linux_amd64 was not found in ./nowhere: npm run extensions',
  )
})

test('a file for another version or platform is named with both', async () => {
  const bytes = extensionBytes({ version: 'v1.4.1', platform: 'osx_arm64' })
  await writeExtension(join(folder, 'configured'), BUILD, bytes)
  expect(reasonOf(extensions())).toBe(
    'The vss extension that was found is for DuckDB v1.4.1, osx_arm64; it must be for DuckDB v1.5.5, linux_amd64',
  )
})

test.each([
  ['empty', new Uint8Array(), 'is empty'],
  ['short', new Uint8Array(100), 'is damaged, or no extension'],
  ['cut off', extensionBytes(BUILD).subarray(0, -40), 'is damaged, or no extension'],
  ['of zeros', new Uint8Array(40_000), 'is damaged, or no extension'],
  ['unsigned', extensionBytes(BUILD, 0), 'is not signed by DuckDB'],
  ['of noise', crypto.getRandomValues(new Uint8Array(40_000)), 'is damaged, or no extension'],
])('a file that is %s cannot be used', async (_, bytes, expected) => {
  await writeExtension(join(folder, 'configured'), BUILD, bytes)
  expect(extensions().path).toBeNull()
  expect(reasonOf(extensions())).toContain(expected)
  expect(reasonOf(extensions())).not.toContain(folder)
})

test('a folder in its place cannot be used', async () => {
  const { version, platform } = BUILD
  const path = join(folder, 'configured', version, platform, 'vss.duckdb_extension')
  await mkdir(path, { recursive: true })
  expect(reasonOf(extensions())).toContain('is no file')
})

test('a wrong file in the configured folder does not hide the right one of DuckDB', async () => {
  await writeExtension(join(folder, 'configured'), BUILD, new Uint8Array())
  const own = await writeExtension(join(folder, 'own'), BUILD)
  expect(extensions().path).toBe(own)
})

test('DuckDB refuses a file that only looks like an extension, and leaves everything else unchanged', async () => {
  const path = await writeExtension(join(folder, 'configured'), BUILD)
  const found = extensions()
  expect(found.possibility().possible).toBe(true)
  const failure: unknown = await HnswDatabase.open({
    extensionPath: path,
    memoryLimit: '64MB',
  }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(Error)
  found.refuse(failure)
  expect(found.path).toBeNull()
  expect(reasonOf(found)).toStartWith('The vss extension that was found is not used: ')
  expect(reasonOf(found)).not.toContain(folder)
})

describe('fetching', () => {
  test('is not tried where it is not allowed', async () => {
    const found = extensions({ install: () => Promise.reject(new Error('not to be called')) })
    found.start()
    await found.settled()
    expect(reasonOf(found)).toContain('was not found')
  })

  test('makes the extension possible without a restart', async () => {
    const directory = join(folder, 'configured')
    const { promise, resolve } = Promise.withResolvers<void>()
    const found = extensions({
      isInstallAllowed: true,
      install: async (asked) => {
        expect(asked).toEqual({ name: 'vss', directory })
        await promise
        await writeExtension(directory, BUILD)
      },
    })
    found.start()
    expect(reasonOf(found)).toBe('The vss extension is being fetched by DuckDB')
    resolve()
    await found.settled()
    expect(found.possibility()).toEqual({ possible: true })
  })

  test('that fails says so without showing an address', async () => {
    const found = extensions({
      isInstallAllowed: true,
      install: () => Promise.reject(new Error('IO Error: at https://host.example')),
    })
    found.start()
    await found.settled()
    expect(reasonOf(found)).toEndWith('DuckDB could not fetch it')
    expect(reasonOf(found)).not.toContain('host.example')
  })

  test('by DuckDB itself is not begun after an abort', async () => {
    const asked = { name: 'vss', directory: folder } as const
    const aborted = AbortSignal.abort(new Error('the server stops'))
    await expect(installExtension(asked, aborted)).rejects.toThrow('the server stops')
    expect(readdirSync(folder)).toEqual([])
  })

  test('ends with the store', async () => {
    const found = extensions({
      isInstallAllowed: true,
      install: (_, signal) => {
        const { promise, reject } = Promise.withResolvers<void>()
        signal.addEventListener('abort', () => reject(signal.reason))
        return promise
      },
    })
    found.start()
    found.close()
    await found.settled()
    expect(found.path).toBeNull()
  })
})

test('a store opens with a damaged extension and does not use it', async () => {
  await Bun.write(join(folder, 'vss.duckdb_extension'), 'nothing of the kind')
  const store = await openSearchableStore({ extensionDirectory: folder })
  const { exact, ivf } = store.indexStates.possible()
  await store.close()
  expect([exact, ivf]).toEqual([{ possible: true }, { possible: true }])
  expect(store.extensions.path).not.toBe(join(folder, 'vss.duckdb_extension'))
})
