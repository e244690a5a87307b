import { expect, test } from 'bun:test'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/store.ts'
import { temporaryFolder } from '../support/store-fixture.ts'

test('the start warns about a key file or data folder that other users can open', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'eider-modes-'))
  const warningsOfStart = async () => {
    const warnings: string[] = []
    const store = await openStore({ directory, onWarning: (message) => warnings.push(message) })
    await store.close()
    return warnings
  }
  try {
    await chmod(directory, 0o700)
    expect(await warningsOfStart()).toEqual([])
    await chmod(join(directory, 'eider.key'), 0o640)
    await chmod(directory, 0o755)
    expect(await warningsOfStart()).toEqual([
      expect.stringContaining(`data folder ${directory}: chmod 700`),
      expect.stringContaining('eider.key: chmod 600'),
    ])
  } finally {
    await rm(directory, { recursive: true })
  }
})

test('the start warns about a disk on which writes will be refused', async () => {
  using folder = temporaryFolder()
  const warnings: string[] = []
  const store = await openStore({
    directory: folder.path,
    diskReserve: '256MB',
    freeBytesOf: () => 1e6,
    onWarning: (message) => warnings.push(message),
  })
  await store.close()
  expect(warnings).toContainEqual(expect.stringContaining('1 MB left and 256 MB must stay free'))
})
