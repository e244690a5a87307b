import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { requireFile } from '../../src/core/domain/access/catalog-snapshot.ts'
import { restore } from '../../src/store/restore.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { each, newFile } from '../support/direct-reading.ts'
import { failureOf, temporaryFolder } from '../support/store-fixture.ts'

const { signal } = new AbortController()

function stored(store: Store, name: string, text: string, replaces = false) {
  return store.contents.withFolder(async (folder) => {
    const content = await folder.write(each([new TextEncoder().encode(text)]))
    const file = newFile({ name, content, replaces, format: 'text' })
    return store.files.importRows(file, each([{ content: text }]), signal)
  })
}

async function textOf(store: Store, name: string): Promise<string> {
  const { path } = await store.contents.contentOf(requireFile(store.catalog.snapshot(), name))
  return Bun.file(path).text()
}

test('file contents survive a restart, and unreferenced ones are removed', async () => {
  using folder = temporaryFolder()
  const first = await openStore({ directory: folder.path })
  await stored(first, 'a', 'one')
  await stored(first, 'a', 'two', true)
  expect(first.contents.sizeBytes).toBe(3)
  await first.close()
  // Files left behind by a process that is killed before the catalog names them, while others are
  // added.
  await Bun.write(join(folder.path, 'files', crypto.randomUUID()), 'orphan')
  await Bun.write(join(folder.path, 'uploads', 'x', 'sent-1'), 'half')
  const second = await openStore({ directory: folder.path })
  expect(await textOf(second, 'a')).toBe('two')
  expect(readdirSync(join(folder.path, 'files'))).toHaveLength(1)
  expect(readdirSync(folder.path)).not.toContain('uploads')
  expect(second.contents.sizeBytes).toBe(3)
  await second.close()
})

test('a file that cannot be stored leaves no bytes', async () => {
  using folder = temporaryFolder()
  const store = await openStore({ directory: folder.path })
  await stored(store, 'a', 'one')
  expect((await failureOf(stored(store, 'a', 'two'))).code).toBe('file_exists')
  const doomed = newFile({ name: 'b', format: 'text' })
  const rows = (async function* () {
    yield { content: 'x' }
    throw new Error('the rows end here')
  })()
  await expect(store.files.importRows(doomed, rows, signal)).rejects.toThrow('the rows end here')
  expect(await textOf(store, 'a')).toBe('one')
  expect(readdirSync(join(folder.path, 'files'))).toHaveLength(1)
  expect(readdirSync(join(folder.path, 'uploads'))).toEqual([])
  await store.close()
})

test('a backup has the bytes of files, and what is restored has them', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  const store = await openStore({ directory: data })
  await stored(store, 'a', 'one')
  const { name, sizeBytes } = await store.backups.create()
  await store.files.dropFile(requireFile(store.catalog.snapshot(), 'a'))
  expect(readdirSync(join(data, 'files'))).toEqual([])
  await store.close()
  const target = join(folder.path, 'restored')
  const manifest = await restore({ backup: join(data, 'backups', name), folder: target })
  expect(manifest.files.reduce((sum, file) => sum + file.sizeBytes, 0)).toBe(sizeBytes)
  const restored = await openStore({ directory: target })
  expect(await textOf(restored, 'a')).toBe('one')
  await restored.close()
})

test('files dropped during a backup are removed after it', async () => {
  using folder = temporaryFolder()
  const store = await openStore({ directory: folder.path })
  await stored(store, 'a', 'one')
  await store.contents.whileHeld(async () => {
    await store.files.dropFile(requireFile(store.catalog.snapshot(), 'a'))
    expect(await store.contents.keys()).toHaveLength(1)
  })
  expect(await store.contents.keys()).toEqual([])
  await store.close()
})
