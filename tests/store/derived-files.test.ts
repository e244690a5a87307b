import { expect, test } from 'bun:test'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StoredDerivedFiles } from '../../src/store/derived-files.ts'
import { temporaryFolder } from '../support/store-fixture.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

test('files are replaced whole, private, and removed when no longer wanted', async () => {
  using folder = temporaryFolder()
  const files = new StoredDerivedFiles(folder.path, () => {})
  expect(await files.read('a')).toBeNull()
  await files.keepOnly(new Set())
  await files.write('a', bytes('one'))
  await files.write('a', bytes('other'))
  await files.write('b', bytes('two'))
  expect(new TextDecoder().decode((await files.read('a')) ?? undefined)).toBe('other')
  expect((await stat(join(folder.path, 'derived', 'a'))).mode & 0o777).toBe(0o600)
  // Left behind by a kill. A wanted file may still be being written.
  await writeFile(join(folder.path, 'derived', 'a.part'), 'on')
  await writeFile(join(folder.path, 'derived', 'b.part'), 'tw')
  await files.keepOnly(new Set(['b']))
  expect((await readdir(join(folder.path, 'derived'))).toSorted()).toEqual(['b', 'b.part'])
})

test('an obstacle is not a file; nothing is written without room, or without a folder', async () => {
  using folder = temporaryFolder()
  const full = new StoredDerivedFiles(folder.path, () => {
    throw new Error('the disk is full')
  })
  await expect(full.write('a', bytes('one'))).rejects.toThrow('full')
  expect(await full.read('a')).toBeNull()
  await mkdir(join(folder.path, 'derived', 'a'), { recursive: true })
  expect(await full.read('a')).toBeNull()
  const none = new StoredDerivedFiles(null, () => {})
  await none.write('a', bytes('one'))
  await none.keepOnly(new Set())
  expect(await none.read('a')).toBeNull()
})
