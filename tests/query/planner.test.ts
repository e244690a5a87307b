import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { CatalogSnapshot } from '../../src/core/domain/access/catalog-snapshot.ts'
import { Planner } from '../../src/query/select/planner.ts'
import type { PlanRequest } from '../../src/query/select/planning-protocol.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const WORKER = new URL('../../src/wiring/threads/planner-entry.ts', import.meta.url).href
const LIST = Array.from({ length: 5000 }, (_, index) => `'t${index}'`).join(',')

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', '/api/projects/mindsdb/knowledge_bases', { knowledge_base: { name: 'kb' } })
  const insert = "INSERT INTO kb (id, content, price) VALUES ('a', 'green tea', 1)"
  expect((await t.send('POST', '/api/sql/query', { query: insert })).body).toMatchObject({
    type: 'ok',
  })
})
afterAll(() => t.close())

function request(sql: string): PlanRequest {
  return {
    sql,
    database: 'mindsdb',
    search: null,
    allowed: undefined,
    readsChunkKeys: false,
    tables: new Map(),
  }
}

interface Seen {
  readonly texts: string[]
  readonly planner: Planner
  readonly snapshot: CatalogSnapshot
}

function planner({ planningMs = 60_000, parse = (_sql: string): unknown => undefined } = {}): Seen {
  const texts: string[] = []
  const { engine } = t.store
  return {
    texts,
    snapshot: t.store.catalog.snapshot(),
    planner: new Planner({
      planningMs,
      workerUrl: WORKER,
      engine: {
        parse: async (sql) => {
          texts.push(sql)
          await parse(sql)
          return engine.parse(sql)
        },
        print: (tree) => engine.print(tree),
      },
    }),
  }
}

const ALIVE = new AbortController().signal

test('a large statement planned in the thread gives the same result', async () => {
  const { planner: one, snapshot } = planner()
  try {
    const search = "SELECT id FROM kb WHERE content = 'tea' AND price < :most"
    const here = await one.plan(request(search), snapshot, ALIVE)
    const inThread = await one.plan(request(`${search}${' '.repeat(20_000)}`), snapshot, ALIVE)
    expect(inThread).toEqual(here)
    expect(inThread.parameterNames).toEqual(['most'])
  } finally {
    await one.close()
  }
})

test('a small statement that reads a large view is planned in the thread', async () => {
  const query = `CREATE VIEW wide AS SELECT 1 AS one WHERE 'x' NOT IN (${LIST})`
  expect((await t.send('POST', '/api/sql/query', { query })).body).toMatchObject({ type: 'ok' })
  const { planner: one, snapshot, texts } = planner()
  try {
    const plan = await one.plan(request('SELECT * FROM wide'), snapshot, ALIVE)
    expect(plan.sql).toContain("'t4999'")
    // The view turned out to be large, so its statement runs first here and then again in the
    // thread.
    expect(texts.filter((text) => text === 'SELECT * FROM wide')).toHaveLength(2)
  } finally {
    await one.close()
  }
})

test('errors keep their codes, places and lines', async () => {
  const { planner: one, snapshot } = planner()
  try {
    const missing = one.plan(request(`SELECT *\nFROM nowhere -- ${LIST}`), snapshot, ALIVE)
    await expect(missing).rejects.toMatchObject({
      code: 'sql_unknown_name',
      excerpt: expect.stringContaining('FROM nowhere'),
    })
    const wrong = one.plan(request(`SELECT FROM WHERE -- ${LIST}`), snapshot, ALIVE)
    await expect(wrong).rejects.toMatchObject({ code: 'sql_syntax' })
  } finally {
    await one.close()
  }
})

test('planning has a deadline, and the next statement has a thread of its own', async () => {
  const never = new Promise<never>(() => {})
  const stuck = planner({ planningMs: 1, parse: () => never })
  try {
    const late = stuck.planner.plan(request(`SELECT 1 -- ${LIST}`), stuck.snapshot, ALIVE)
    await expect(late).rejects.toMatchObject({ code: 'timeout' })
  } finally {
    await stuck.planner.close()
  }
})

test('a client that goes away ends the planning, and the next one gets its plan', async () => {
  const client = new AbortController()
  let isFirst = true
  const { planner: one, snapshot } = planner({
    parse: () => {
      if (!isFirst) return
      isFirst = false
      client.abort(new Error('gone'))
    },
  })
  try {
    const first = one.plan(request(`SELECT 1 -- ${LIST}`), snapshot, client.signal)
    const second = one.plan(request(`SELECT 2 -- ${LIST}`), snapshot, ALIVE)
    await expect(first).rejects.toThrow('gone')
    expect((await second).sql).toBe('SELECT 2')
  } finally {
    await one.close()
  }
})

test('closing ends running plans', async () => {
  const started = Promise.withResolvers<void>()
  const { planner: one, snapshot } = planner({
    parse: () => {
      started.resolve()
      return new Promise<never>(() => {})
    },
  })
  const waiting = one.plan(request(`SELECT 1 -- ${LIST}`), snapshot, ALIVE)
  const refused = waiting.catch((error: unknown) => error)
  await started.promise
  await one.close()
  expect(await refused).toMatchObject({ code: 'shutting_down' })
  const late = one.plan(request(`SELECT 1 -- ${LIST}`), snapshot, ALIVE)
  await expect(late).rejects.toMatchObject({ code: 'shutting_down' })
})
