import { afterEach, describe, expect, setSystemTime, test } from 'bun:test'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { DAY_MS, HOUR_MS } from '../../src/core/time.ts'
import { duckdbSources } from '../support/duckdb-sources.ts'
import { createTestApp, wordEmbedders } from '../support/test-app.ts'
import { ended, type SyncFixture, syncFixture } from './sync-fixture.ts'

const RUN = '/api/projects/mindsdb/knowledge_bases/docs/sources/files/run'

let fixture: SyncFixture

afterEach(async () => {
  setSystemTime()
  await fixture.close()
})

/** Records each text that is embedded. A text with `slow` waits for a gate. */
class WatchedModel {
  readonly texts: string[] = []
  readonly reached = Promise.withResolvers<void>()
  readonly #gate = Promise.withResolvers<void>()

  open(): void {
    this.#gate.resolve()
  }

  registry(): EmbedderRegistry {
    return {
      ...wordEmbedders,
      embedder: (model) => ({
        embed: async (texts, signal) => {
          this.texts.push(...texts)
          if (texts.some((text) => text.includes('slow'))) {
            this.reached.resolve()
            const { promise: ending, resolve } = Promise.withResolvers<void>()
            signal.addEventListener('abort', () => resolve(), { once: true })
            await Promise.race([this.#gate.promise, ending])
            signal.throwIfAborted()
          }
          return wordEmbedders.embedder(model).embed(texts, signal)
        },
      }),
    }
  }
}

async function begun(): Promise<number> {
  const { body } = await fixture.app.send('POST', RUN)
  return (body as { readonly id: number }).id
}

describe('a run', () => {
  test('needs no body, also if a client announces JSON; a body needs its type', async () => {
    fixture = await syncFixture()
    await fixture.addSource({ name: 'files', kind: 'query', query: "SELECT 1 id, 'a' content" })
    const sent = async (type: string, body?: string) => {
      const { status } = await fixture.app.send('POST', RUN, body, { 'content-type': type })
      return status
    }
    expect(await sent('application/json')).toBe(202)
    expect(await sent('application/json', '{"full": true}')).toBe(202)
    expect(await sent('', '{"full": true}')).toBe(415)
  })

  test('that is cancelled keeps what it stored, and the next one continues', async () => {
    const model = new WatchedModel()
    fixture = await syncFixture({ embedders: model.registry() })
    const rows =
      "SELECT i AS id, if(i < 500, 'tea ', 'slow tea ') || i AS content FROM range(600) t(i)"
    await fixture.addSource({ name: 'files', kind: 'query', query: rows })
    const id = await begun()
    await model.reached.promise
    // A second request during a run returns the same run.
    expect(await begun()).toBe(id)
    await fixture.app.send('POST', `/api/jobs/${id}/cancel`)
    await ended(fixture.app, id)
    const [cancelled] = await fixture.runs('files')
    expect(cancelled).toMatchObject({ state: 'cancelled', added: 500, removed: 0 })
    expect(Object.keys(await fixture.documents())).toHaveLength(500)
    model.open()
    const next = { state: 'done', added: 100, unchanged: 500, changed: 0, removed: 0 }
    expect(await fixture.run('files')).toMatchObject(next)
    expect(Object.keys(await fixture.documents())).toHaveLength(600)
  })

  test('whose knowledge base is dropped ends and says so', async () => {
    const model = new WatchedModel()
    fixture = await syncFixture({ embedders: model.registry() })
    const rows = "SELECT i AS id, 'slow tea ' || i AS content FROM range(600) t(i)"
    await fixture.addSource({ name: 'files', kind: 'query', query: rows })
    const id = await begun()
    await model.reached.promise
    await fixture.app.send('DELETE', RUN.replace('/sources/files/run', ''))
    model.open()
    await ended(fixture.app, id)
    const { body } = await fixture.app.send('GET', `/api/jobs/${id}`)
    expect(body).toMatchObject({
      state: 'failed',
      error: expect.stringMatching(/docs does not exist|of files was dropped$/),
    })
  })

  test('that stops after storing a text does not take it for the previous version', async () => {
    fixture = await syncFixture()
    await fixture.write('green.md', 'Steamed leaves.')
    await fixture.addSource({ name: 'files', kind: 'folder', path: fixture.folder })
    await fixture.run('files')
    await fixture.write('green.md', 'Fired leaves.')
    const { sources } = fixture.app.store
    const remember = sources.remember.bind(sources)
    sources.remember = async (source, items) => {
      if (items.some(({ hash }) => hash !== null)) throw new Error('the disk is gone')
      await remember(source, items)
    }
    expect(await fixture.run('files')).toMatchObject({ state: 'failed' })
    sources.remember = remember
    await fixture.write('green.md', 'Steamed leaves.')
    expect(await fixture.run('files')).toMatchObject({ state: 'done', changed: 1 })
    expect(await fixture.documents()).toEqual({ 'green.md': 'Steamed leaves.' })
  })

  test('that was done when the process died is not run again for the same job', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'eider-sync-'))
    fixture = await syncFixture({ directory })
    await fixture.write('green.md', 'Steamed leaves.')
    await fixture.addSource({ name: 'files', kind: 'folder', path: fixture.folder })
    const done = await fixture.run('files')
    await fixture.app.close()
    const instance = await DuckDBInstance.create(join(directory, 'eider-data.duckdb'))
    const connection = await instance.connect()
    await connection.run("UPDATE eider.job_states SET state = 'running', finished_at = NULL")
    connection.closeSync()
    instance.closeSync()
    const app = await createTestApp({ directory })
    app.app.start()
    await ended(app, done.job_id)
    const { body } = await app.send('GET', RUN.replace(/run$/, 'runs'))
    expect(body).toEqual([done])
    expect((await app.send('GET', `/api/jobs/${done.job_id}`)).body).toMatchObject({
      state: 'done',
      documents: 1,
    })
    await app.close()
    await rm(directory, { recursive: true })
  })

  test('that waits when the process ends is still the only one of its source', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'eider-sync-'))
    fixture = await syncFixture({ directory, embedders: new WatchedModel().registry() })
    await fixture.addSource({ name: 'files', kind: 'query', query: "SELECT 1 id, 'a' content" })
    const rows = [{ id: 's', content: 'slow tea' }]
    const insert = { knowledge_base: { rows, background: true } }
    await fixture.app.send('PUT', RUN.replace('/sources/files/run', ''), insert)
    const id = await begun()
    await fixture.app.close()
    const app = await createTestApp({ directory, embedders: new WatchedModel().registry() })
    app.app.start()
    await Bun.sleep(200)
    expect((await app.send('POST', RUN)).body).toMatchObject({ id, state: 'queued' })
    await app.close()
    await rm(directory, { recursive: true })
  })

  test('is not delayed by a clock that was set back', async () => {
    fixture = await syncFixture()
    const { app } = fixture
    app.app.start()
    const schedule = 'every 1 hour'
    const query = "SELECT 1 AS id, 'a' AS content"
    setSystemTime(new Date(Date.now() + DAY_MS))
    await fixture.addSource({ name: 'files', kind: 'query', query, schedule })
    expect(await fixture.run('files')).toMatchObject({ state: 'done', trigger: 'request' })
    setSystemTime()
    // Any change of a source looks at all of them, as the timer does within a minute.
    await fixture.addSource({ name: 'other', kind: 'query', query })
    while ((await fixture.runs('files'))[0]?.trigger !== 'schedule') await Bun.sleep(20)
    const { next_run_at: next } = (await app.send('GET', RUN.replace(/\/run$/, ''))).body as {
      readonly next_run_at: string
    }
    expect(Date.parse(`${next.replace(' ', 'T')}Z`)).toBeLessThanOrEqual(Date.now() + HOUR_MS)
    expect(await fixture.runs('files')).toHaveLength(2)
  })

  test('takes the vectors of a file that was moved', async () => {
    const model = new WatchedModel()
    fixture = await syncFixture({ embedders: model.registry() })
    await fixture.write('green.md', 'Steamed leaves.')
    await fixture.addSource({ name: 'files', kind: 'folder', path: fixture.folder })
    await fixture.run('files')
    model.texts.length = 0
    await rename(join(fixture.folder, 'green.md'), join(fixture.folder, 'white.md'))
    expect(await fixture.run('files')).toMatchObject({ added: 1, removed: 1 })
    expect(model.texts).toEqual([])
  })

  test('reads a table of a remote database', async () => {
    const sources = await duckdbSources('shop')
    await sources.run('shop', "CREATE TABLE teas AS SELECT 1 AS id, 'green tea' AS content")
    fixture = await syncFixture({ sources })
    await fixture.app.send('POST', '/api/sql/query', {
      query:
        'CREATE DATABASE shop ENGINE = \'postgres\', PARAMETERS = {"host": "h", "database": "d", "user": "u"}',
    })
    await fixture.addSource({ name: 'files', kind: 'table', table: 'shop.teas' })
    expect(await fixture.run('files')).toMatchObject({ state: 'done', added: 1, error: null })
    await sources.run(
      'shop',
      "UPDATE teas SET content = 'fired tea'; INSERT INTO teas VALUES (2, 'b')",
    )
    expect(await fixture.run('files')).toMatchObject({ added: 1, changed: 1, removed: 0 })
    await sources.run('shop', 'DROP TABLE teas')
    expect(await fixture.run('files')).toMatchObject({ state: 'failed', removed: 0 })
    expect(await fixture.documents()).toEqual({ '1': 'fired tea', '2': 'b' })
  })
})
