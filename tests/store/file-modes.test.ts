import { expect, test } from 'bun:test'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/store.ts'

test('a key file and a data folder that others can open are warned of at start', async () => {
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
