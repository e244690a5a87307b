import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { isEverything } from '../../support/sample.ts'
import { syncFixture } from '../../sync/sync-fixture.ts'

const RUNS = isEverything ? 30 : 12

test('a file that is replaced all the time has not vanished', async () => {
  const fixture = await syncFixture()
  const path = join(fixture.folder, 'green.md')
  await fixture.write('green.md', 'Steamed leaves.')
  await fixture.addSource({ name: 'files', kind: 'folder', path: fixture.folder })
  await fixture.run('files')
  const script = `while :; do echo Fired > ${path}.tmp; mv ${path}.tmp ${path}; done`
  const replacing = Bun.spawn(['sh', '-c', script])
  try {
    for (let run = 0; run < RUNS; run += 1) {
      expect(await fixture.run('files')).toMatchObject({ removed: 0, error: null })
    }
  } finally {
    replacing.kill()
    await replacing.exited
    await fixture.close()
  }
}, 180_000)
