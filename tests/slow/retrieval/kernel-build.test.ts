import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { COMPILER, kernelFiles } from '../../../scripts/build-kernel.ts'

const CARRIED = join(import.meta.dir, '../../../src/retrieval/kernel')

// `npm ci --prefix kernel` installs the compiler, as CI does.
test.skipIf(!existsSync(COMPILER))(
  'the kernel that the program carries is its source, compiled',
  async () => {
    for (const [name, built] of Object.entries(await kernelFiles())) {
      const carried = await Bun.file(join(CARRIED, name)).text()
      expect([name, built === carried]).toEqual([name, true])
    }
  },
)
