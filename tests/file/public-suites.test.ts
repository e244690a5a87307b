/**
 * The suites of the public API against the built file, which is started in an empty folder with only HOME and PATH
 * (`startServer`, `createTestApp`). Tests that pass in fakes run in this process as usual.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type BuiltFile, builtFile } from '../slow/build/built-file.ts'

const ROOT = join(import.meta.dir, '../..')
const SUITE_MS_MAX = 1_200_000
/** Of the browser tests, only those that show that the page is complete and works. */
const SUITES = [
  ['./tests/api/'],
  ['./tests/clients/'],
  ['./tests/browser/first-run.test.ts', './tests/browser/docs.test.ts'],
]

let file: BuiltFile
beforeAll(async () => {
  file = await builtFile()
}, 240_000)
afterAll(() => file.remove())

for (const paths of SUITES) {
  test(
    `${paths.join(' and ')} against the built file`,
    async () => {
      const command = [process.execPath, 'test', ...paths, '--timeout=120000']
      const child = Bun.spawn(command, {
        cwd: ROOT,
        env: { ...process.env, BUILT_FILE: file.path, UV_THREADPOOL_SIZE: '16' },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      const lines = (await new Response(child.stderr).text()).split('\n')
      const failed = lines.filter((line) => line.startsWith('(fail)') || line.startsWith('error:'))
      expect([await child.exited, failed]).toEqual([0, []])
    },
    SUITE_MS_MAX,
  )
}
