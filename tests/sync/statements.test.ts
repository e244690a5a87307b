import { afterEach, describe, expect, test } from 'bun:test'
import { ended, type SyncFixture, syncFixture } from './sync-fixture.ts'

let fixture: SyncFixture

afterEach(() => fixture.close())

describe('sources in SQL', () => {
  test('are added, shown, refreshed, changed and dropped', async () => {
    fixture = await syncFixture()
    const { app, folder } = fixture
    const query = (sql: string) => app.send('POST', '/api/sql/query', { query: sql })
    await fixture.write('green.md', 'Steamed leaves.')
    const add = `ALTER KNOWLEDGE_BASE docs ADD SOURCE teas USING kind = 'folder', path = '${folder}', include = ['*.md'], schedule = 'every 2 hours'`
    expect((await query(add)).body).toMatchObject({ type: 'ok' })
    expect((await query(add)).body).toMatchObject({ type: 'error', error_code: 2802 })
    expect((await query(add.replace('SOURCE', 'SOURCE IF NOT EXISTS'))).body).toMatchObject({
      type: 'ok',
    })
    const [refreshed] = await app.rows('REFRESH KNOWLEDGE_BASE docs')
    expect(refreshed?.[0]).toBe('teas')
    await ended(app, Number(refreshed?.[1]))
    expect(
      await app.rows(
        "SELECT NAME, KNOWLEDGE_BASE, KIND, SCHEDULE, LAST_STATE, ADDED FROM information_schema.sources WHERE NAME = 'teas'",
      ),
    ).toEqual([['teas', 'docs', 'folder', 'every 2 hours', 'done', 1]])
    expect(await app.rows('SHOW SOURCES FROM docs')).toHaveLength(1)
    expect(await app.rows("SHOW SOURCES LIKE 'x%'")).toHaveLength(0)
    await query("ALTER KNOWLEDGE_BASE docs ALTER SOURCE teas USING schedule = '0 3 * * *'")
    const { body } = await app.send(
      'GET',
      '/api/projects/mindsdb/knowledge_bases/docs/sources/teas',
    )
    expect(body).toMatchObject({ schedule: '0 3 * * *', include: ['*.md'] })
    await query('ALTER KNOWLEDGE_BASE docs DROP SOURCE teas')
    expect(await app.rows('SHOW SOURCES')).toHaveLength(0)
    expect(Object.keys(await fixture.documents())).toEqual(['green.md'])
  })

  test('are declared in a PUT; others stay', async () => {
    fixture = await syncFixture()
    const kb = '/api/projects/mindsdb/knowledge_bases/docs'
    await fixture.addSource({ name: 'kept', kind: 'query', query: 'SELECT 1 AS id' })
    const put = (sources: readonly object[]) => {
      return fixture.app.send('PUT', kb, { knowledge_base: { sources } })
    }
    const declared = { name: 'teas', kind: 'folder', path: fixture.folder }
    expect((await put([declared])).status).toBe(200)
    expect((await put([{ ...declared, watch: false, schedule: 'every day' }])).status).toBe(200)
    const { body } = await fixture.app.send('GET', `${kb}/sources`)
    expect(body).toMatchObject([{ name: 'kept' }, { name: 'teas', schedule: 'every day' }])
    expect((await put([{ name: 'x', kind: 'ftp' }])).body).toMatchObject({ code: 'invalid_source' })
  })
})

describe('a source is refused', () => {
  const refused: readonly (readonly [object, string])[] = [
    [{ name: 'a', kind: 'folder', path: '/etc' }, 'folder_refused'],
    [{ name: 'a', kind: 'folder', path: '../..' }, 'folder_refused'],
    [{ name: 'a', kind: 'folder', path: 'not-there' }, 'folder_unreadable'],
    [{ name: 'a', kind: 'folder' }, 'invalid_source'],
    [{ name: 'a', kind: 'url', url: 'file:///etc/passwd' }, 'invalid_source'],
    [{ name: 'a', kind: 'url', url: 'http://u:p@localhost/' }, 'invalid_source'],
    [{ name: 'a', kind: 'query', query: 'SELECT 1', schedule: 'now and then' }, 'invalid_source'],
    [{ name: 'a', kind: 'query', query: 'SELECT 1', watch: true }, 'invalid_source'],
    [{ name: 'a', kind: 'query', query: 'SELECT 1', path: '/tmp' }, 'unknown_field'],
  ]
  test('with a code and the next step', async () => {
    fixture = await syncFixture()
    for (const [source, code] of refused) {
      const path = '/api/projects/mindsdb/knowledge_bases/docs/sources'
      const { body } = await fixture.app.send('POST', path, { source })
      expect({ source, body }).toMatchObject({ source, body: { code } })
    }
  })

  test('where no folders are configured, naming the setting', async () => {
    fixture = await syncFixture({ environment: { EIDER_FOLDERS_DIR: '' } })
    const path = '/api/projects/mindsdb/knowledge_bases/docs/sources'
    const source = { name: 'a', kind: 'folder', path: fixture.folder }
    const { text } = await fixture.app.send('POST', path, { source })
    expect(text).toContain('EIDER_FOLDERS_DIR')
  })
})
