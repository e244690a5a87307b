import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { kernelFile } from '../../../scripts/build-kernel.ts'

const CARRIED = join(import.meta.dir, '../../../src/retrieval/kernel/kernel-module.ts')

test('the kernel that the program carries is its source, compiled', async () => {
  const built = await kernelFile()
  expect(built === (await Bun.file(CARRIED).text())).toBe(true)
})
