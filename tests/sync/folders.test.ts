import { afterEach, describe, expect, test } from 'bun:test'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type SyncFixture, syncFixture } from './sync-fixture.ts'

let fixture: SyncFixture

afterEach(() => fixture.close())

describe('a folder', () => {
  test('is synced: added, changed, unchanged, removed', async () => {
    fixture = await syncFixture()
    const { write, folder } = fixture
    await write('green.md', '# Green tea\n\nSteamed leaves.')
    await write('black/assam.txt', 'Malty leaves from Assam.')
    await write('black/notes.csv', 'id,taste\n1,strong\n2,mild\n')
    await fixture.addSource({ name: 'teas', kind: 'folder', path: folder })
    expect(await fixture.run('teas')).toMatchObject({
      ...{ state: 'done', added: 3, changed: 0, unchanged: 0, removed: 0, failed: 0, error: null },
    })
    expect(Object.keys(await fixture.documents())).toEqual([
      'black/assam.txt',
      'black/notes.csv:1',
      'black/notes.csv:2',
      'green.md',
    ])

    await write('green.md', '# Green tea\n\nPan-fired leaves.')
    await write('white.md', 'Withered buds.')
    await rename(join(folder, 'black/assam.txt'), join(folder, 'assam.txt'))
    expect(await fixture.run('teas')).toMatchObject({
      ...{ state: 'done', added: 2, changed: 1, unchanged: 1, removed: 1, failed: 0 },
    })
    const documents = await fixture.documents()
    expect(Object.keys(documents)).toEqual([
      'assam.txt',
      'black/notes.csv:1',
      'black/notes.csv:2',
      'green.md',
      'white.md',
    ])
    expect(documents['green.md']).toContain('Pan-fired')
  })

  test('that is missing or empty does not delete its documents', async () => {
    fixture = await syncFixture()
    await fixture.write('teas/green.md', 'Steamed leaves.')
    await fixture.addSource({ name: 'teas', kind: 'folder', path: 'teas' })
    await fixture.run('teas')
    await rm(join(fixture.folder, 'teas/green.md'))
    const empty = await fixture.run('teas')
    expect(empty).toMatchObject({ state: 'failed', removed: 0 })
    expect(empty.error).toContain('allow_empty')
    await rm(join(fixture.folder, 'teas'), { recursive: true })
    expect(await fixture.run('teas')).toMatchObject({ state: 'failed', removed: 0 })
    expect(Object.keys(await fixture.documents())).toEqual(['green.md'])
  })
})
