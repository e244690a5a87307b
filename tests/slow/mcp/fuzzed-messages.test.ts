/**
 * Every message to `/mcp` gets a response that follows the protocol, without an internal error, and
 * leaves nothing running.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Listener } from '../../../src/api/http/listen.ts'
import { AppError } from '../../../src/core/errors.ts'
import { makeKey } from '../../support/access-keys.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { fuzz } from './mcp-fuzzer.ts'

const failures: unknown[] = []
let app: TestApp
let listener: Listener

beforeAll(async () => {
  const log = {
    request: () => {},
    failure: ({ error }: { error: unknown }) => failures.push(error),
  }
  app = await createTestApp({ log })
  listener = app.app.listen({ hostname: '127.0.0.1', port: 0 })
  const path = '/api/projects/mindsdb'
  await app.send('POST', `${path}/knowledge_bases`, {
    knowledge_base: { name: 'docs', metadata_columns: ['year'] },
  })
  const rows = [
    { id: 'tea', content: 'Green tea needs 80 degrees', year: 2021 },
    { id: 'coffee', content: 'Coffee is brewed with boiling water', year: 1999 },
  ]
  await app.send('PUT', `${path}/knowledge_bases/docs`, { knowledge_base: { rows } })
  const agent = { name: 'helper', data: { knowledge_bases: ['mindsdb.docs'] } }
  await app.send('POST', `${path}/agents`, { agent })
})

afterAll(async () => {
  await listener.stop(0)
  await app.close()
})

test('answers of the protocol alone, and nothing is left running', async () => {
  const reader = await makeKey(app, ['read'])
  const asker = await makeKey(app, ['ask'], { projects: ['mindsdb'] })
  const url = listener.url.origin
  const clients = [{}, {}, reader.headers, asker.headers]
  const report = await fuzz({ url, clients, seed: 1, requests: 1500, atOnce: 8 })
  expect(report.wrong).toEqual([])
  // Responses that many simultaneous clients may get from a busy machine.
  const isBusy = (error: unknown) => error instanceof AppError && error.code === 'too_busy'
  expect(failures.filter((error) => !isBusy(error))).toEqual([])
  // Otherwise only the outermost checks would be tested.
  expect(report.seen.get('structuredContent')).toBeGreaterThan(100)
  // The test's own time limit applies.
  const { engine } = app.store
  while (engine.statementCounts().running > 0) await Bun.sleep(2)
  expect(await app.rows("SELECT id FROM docs WHERE id = 'tea'")).toEqual([['tea']])
}, 180_000)
