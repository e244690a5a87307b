import { expect, test } from 'bun:test'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/store.ts'

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
