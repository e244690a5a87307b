import { afterEach, describe, expect, mock, test } from 'bun:test'
import fs, { writeFileSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FolderWatch } from '../../src/ingest/sync/folder-watch.ts'
import { type SyncFixture, syncFixture } from './sync-fixture.ts'

let fixture: SyncFixture

afterEach(() => fixture.close())

function watchOf(path: string, onChange: () => void): FolderWatch {
  const rules = { include: [], exclude: [], hidden: true }
  const times = { quietMs: 5, patienceMs: 20, pollMs: 10 }
  return new FolderWatch({ path, roots: [fixture.folder], rules, onChange, ...times })
}

describe('a folder', () => {
  test('is not left through links, and pipes and devices are not files', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'eider-outside-'))
    await writeFile(join(outside, 'secret.md'), 'A secret.')
    fixture = await syncFixture()
    const { folder } = fixture
    await fixture.write('green.md', 'Steamed leaves.')
    await mkdir(join(folder, 'sub'))
    await symlink(join(outside, 'secret.md'), join(folder, 'file.md'))
    await symlink(outside, join(folder, 'folder'))
    await symlink('/dev/zero', join(folder, 'zero.md'))
    await symlink('..', join(folder, 'sub/loop'))
    await symlink('../green.md', join(folder, 'sub/green.md'))
    expect(Bun.spawnSync(['mkfifo', join(folder, 'pipe.md')]).exitCode).toBe(0)
    await fixture.addSource({ name: 'files', kind: 'folder', path: folder })
    expect(await fixture.run('files')).toMatchObject({ state: 'done', added: 2, failed: 0 })
    expect(Object.keys(await fixture.documents())).toEqual(['green.md', 'sub/green.md'])
    await rm(outside, { recursive: true })
  })

  test('keeps the stored version of a file that cannot be read', async () => {
    fixture = await syncFixture()
    const { folder } = fixture
    await fixture.write('green.md', 'Steamed leaves.')
    await fixture.write('white.md', 'Withered buds.')
    await fixture.addSource({ name: 'files', kind: 'folder', path: folder })
    await fixture.run('files')
    await rm(join(folder, 'green.md'))
    await rm(join(folder, 'white.md'))
    // A link to itself exists but cannot be read.
    await symlink('green.md', join(folder, 'green.md'))
    expect(await fixture.run('files')).toMatchObject({ state: 'done', failed: 1, removed: 1 })
    expect(await fixture.documents()).toEqual({ 'green.md': 'Steamed leaves.' })
  })

  test('has a file that is written to all the time: the next run reads it', async () => {
    fixture = await syncFixture()
    const path = join(fixture.folder, 'log.txt')
    await writeFile(path, 'Steamed leaves. '.repeat(100_000))
    await fixture.addSource({ name: 'files', kind: 'folder', path: fixture.folder })
    let isWriting = true
    const writing = (async () => {
      while (isWriting) await appendFile(path, 'Fired. ')
    })()
    const during = await fixture.run('files')
    isWriting = false
    await writing
    expect(during).toMatchObject({ state: 'done', added: 0, failed: 1 })
    expect(await fixture.documents()).toEqual({})
    expect(await fixture.run('files')).toMatchObject({ added: 1, failed: 0 })
  })

  test('that is not there is looked for again and again, and watched when it is', async () => {
    fixture = await syncFixture()
    const path = join(fixture.folder, 'later')
    let changed = Promise.withResolvers<void>()
    const watch = watchOf(path, () => changed.resolve())
    watch.start()
    await changed.promise
    expect(watch.mode).toBe('polling')
    changed = Promise.withResolvers<void>()
    await fixture.write('later/green.md', 'Steamed leaves.')
    await changed.promise
    watch.close()
  })

  test('that another folder takes the place of is watched instead', async () => {
    fixture = await syncFixture()
    const path = join(fixture.folder, 'current')
    await fixture.write('current/green.md', 'Steamed leaves.')
    await fixture.write('next/black.md', 'Withered leaves.')
    let changed = Promise.withResolvers<void>()
    const watch = watchOf(path, () => changed.resolve())
    watch.start()
    await changed.promise
    await rename(path, join(fixture.folder, 'before'))
    await rename(join(fixture.folder, 'next'), path)
    // The first reports may be of the swap itself.
    for (const name of ['1', '2', '3', '4', '5']) {
      changed = Promise.withResolvers<void>()
      await fixture.write(`current/${name}.md`, name)
      await changed.promise
    }
    expect(watch.mode).toBe('events')
    watch.close()
  })

  test('reports a file that is written as soon as the first run begins', async () => {
    fixture = await syncFixture()
    const path = join(fixture.folder, 'green.md')
    let reports = 0
    const reported = Promise.withResolvers<void>()
    const watch = new FolderWatch({
      path: fixture.folder,
      roots: [fixture.folder],
      rules: { include: [], exclude: [], hidden: true },
      onChange: () => {
        if (++reports === 1) writeFileSync(path, 'Steamed leaves.')
        else reported.resolve()
      },
      ...{ quietMs: 0, patienceMs: 20, pollMs: 10 },
    })
    watch.start()
    // A timer is due before the folder is open.
    Bun.sleepSync(20)
    await reported.promise
    watch.close()
  })

  test('that cannot be watched is scanned by one scan at a time, with pauses', async () => {
    fixture = await syncFixture()
    for (let index = 0; index < 3000; index += 1) {
      writeFileSync(join(fixture.folder, `${index}.md`), 'Steamed leaves.')
    }
    const watchNothing = () => {
      throw new Error('no more watches')
    }
    mock.module('node:fs', () => ({ ...fs, default: fs, watch: watchNothing }))
    let scans = 0
    const rules = {
      get include() {
        scans += 1
        return []
      },
      exclude: [],
      hidden: true,
    }
    const watch = new FolderWatch({
      ...{ path: fixture.folder, roots: [fixture.folder], rules, onChange: () => {} },
      ...{ quietMs: 5, patienceMs: 20, pollMs: 1 },
    })
    watch.start()
    await Bun.sleep(1000)
    watch.close()
    // Each pause is 20 times as long as the scan before.
    expect(scans).toBeLessThan(7)
    expect(watch.note).toEndWith('no more watches')
    mock.module('node:fs', () => ({ ...fs, default: fs }))
  })
})
