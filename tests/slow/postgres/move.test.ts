/** Knowledge bases that move to a real PostgreSQL with pgvector and back while clients use them. */
import { afterAll, describe, expect, test } from 'bun:test'
import { sampleOf } from '../../support/sample.ts'
import type { TestApp } from '../../support/test-app.ts'
import { connection, KB, must, postgresApps, run } from './apps.ts'

const { server, connected, sql, close } = await postgresApps()
afterAll(close)

const STORAGE = { database: 'pg', table: 'kb' }
const TO_POSTGRES = alter(STORAGE)
const TO_EMBEDDED = `ALTER KNOWLEDGE_BASE kb USING storage = 'embedded'`

function alter(storage: object): string {
  return `ALTER KNOWLEDGE_BASE kb USING storage = ${JSON.stringify(storage)}`
}

const PLACES = ['Assam', 'Yunnan', 'Uji', 'Ceylon', 'Fujian', 'Nilgiri', 'Kenya']
const KINDS = ['green', 'black', 'white', 'oolong']

function rowOf(number: number, word = 'tea') {
  const place = PLACES[number % PLACES.length]
  const kind = KINDS[number % KINDS.length]
  return {
    id: `t${number}`,
    content: `A ${kind} ${word} from ${place}, number ${number}, steeped ${number % 9} times`,
    kind,
    price: number / 4,
    day: `2024-0${1 + (number % 9)}-05`,
  }
}

function rowsFrom(first: number, count: number, word?: string) {
  return Array.from({ length: count }, (_, index) => rowOf(first + index, word))
}

const QUESTIONS = [
  `SELECT id, distance FROM kb WHERE content = 'green tea from Uji' LIMIT 20`,
  `SELECT id, relevance FROM kb WHERE content = 'oolong Fujian' AND hybrid_search = true LIMIT 20`,
  `SELECT id, relevance FROM kb WHERE content = 'Kenya steeped' AND hybrid_search_alpha = 0 LIMIT 20`,
  `SELECT id FROM kb WHERE content = 'tea' AND kind = 'white' AND price < 90 LIMIT 20`,
  `SELECT id FROM kb WHERE content = 'tea' AND day > '2024-05-01' LIMIT 20`,
]
const OF_ALL_ROWS = [
  'SELECT id, chunk_id, chunk_content, metadata, kind, price, day FROM kb ORDER BY chunk_id',
]

async function answers(one: TestApp, questions = [...QUESTIONS, ...OF_ALL_ROWS]) {
  const asked = []
  for (const question of questions) asked.push(await one.rows(question))
  const { body } = await one.send('POST', `${KB}/search`, { query: 'black tea', k: 7 })
  return { asked, results: (body as { results: unknown }).results }
}

function insert(one: TestApp, rows: readonly object[]) {
  return one.send('PUT', KB, { knowledge_base: { rows } })
}

async function storageOf(one: TestApp): Promise<unknown> {
  const [[storage] = []] = await one.rows(`SELECT STORAGE FROM information_schema.knowledge_bases`)
  return storage
}

interface Job {
  readonly id: number
  readonly state: string
  readonly error: string | null
}

async function lastJob(one: TestApp): Promise<Job | undefined> {
  const { body } = await one.send('GET', '/api/jobs?kind=move&limit=1')
  return (body as { items: Job[] }).items[0]
}

async function ended(one: TestApp): Promise<Job | undefined> {
  for (;;) {
    const job = await lastJob(one)
    if (job?.state !== 'queued' && job?.state !== 'running') return job
    await Bun.sleep(20)
  }
}

async function moved(one: TestApp, statement: string): Promise<void> {
  await must(one, statement)
  expect(await ended(one)).toMatchObject({ state: 'done', error: null })
}

async function tablesThere(): Promise<unknown> {
  const found = await sql(`SELECT count(*)::int AS n FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'eider' AND c.relname LIKE 'kb%'`)
  return found[0]?.n
}

async function withBase(count: number): Promise<TestApp> {
  const one = await connected()
  await must(one, 'CREATE KNOWLEDGE_BASE kb')
  expect((await insert(one, rowsFrom(0, count))).status).toBe(200)
  await must(one, `DELETE FROM kb WHERE id = 't3'`)
  await insert(one, [rowOf(5, 'infusion')])
  return one
}

const DIRECTIONS = [
  [true, 'out'],
  [false, 'out'],
  [false, 'back'],
  [true, 'back'],
] as const

describe.skipIf(server === null)('moving a knowledge base', () => {
  for (const copy of [true, false]) {
    test(`to PostgreSQL and back, ${copy ? 'with' : 'without'} a copy: the answers stay`, async () => {
      const one = await withBase(2500)
      const before = await answers(one)
      await moved(one, alter({ ...STORAGE, copy }))
      expect(await storageOf(one)).toBe('pg.kb')
      expect(await answers(one, QUESTIONS)).toEqual({ ...before, asked: before.asked.slice(0, 5) })
      if (copy) expect(await answers(one)).toEqual(before)
      expect(await sql('SELECT count(*)::int AS n FROM eider.kb')).toEqual([{ n: 2499 }])
      const other = await connected()
      await must(
        other,
        `CREATE KNOWLEDGE_BASE kb USING storage = ${JSON.stringify(STORAGE)}, attach = true`,
      )
      expect(await answers(other)).toEqual(before)
      await must(other, 'DROP KNOWLEDGE_BASE kb')
      await insert(one, [rowOf(9000), rowOf(7, 'brew')])
      await one.send('DELETE', `${KB}/documents/t8`)
      const there = await answers(one, QUESTIONS)
      await moved(one, TO_EMBEDDED)
      expect(await storageOf(one)).toBe('duckdb.kb')
      expect(await answers(one, QUESTIONS)).toEqual(there)
      expect(await one.rows('SELECT count(*) FROM kb')).toEqual([[2499]])
      expect(await tablesThere()).toBe(0)
      await insert(one, [rowOf(9001)])
      expect(await one.rows(`SELECT id FROM kb WHERE id = 't9001'`)).toEqual([['t9001']])
      await one.close()
    })
  }

  for (const [copy, direction] of sampleOf(DIRECTIONS, 2)) {
    test(`writes during a move ${direction} (copy: ${copy}) are all there after it`, async () => {
      const one = await withBase(4000)
      const storage = { ...STORAGE, copy }
      if (direction === 'back') await moved(one, alter(storage))
      await must(one, direction === 'back' ? TO_EMBEDDED : alter(storage))
      const written = new Map<string, string>()
      let after = 0
      let rounds = 0
      for (let round = 0; after < 3; round += 1) {
        if ((await lastJob(one))?.state === 'done') after += 1
        const added = rowOf(10_000 + round, 'leaf')
        const replaced = rowOf(100 + (round % 50), `leaf${round}`)
        expect((await insert(one, [added, replaced])).status).toBe(200)
        for (const { id, content } of [added, replaced]) written.set(id, content)
        const removed = `t${1000 + round}`
        expect((await one.send('DELETE', `${KB}/documents/${removed}`)).status).toBe(204)
        const priced = { metadata: { price: 5000 + round } }
        expect((await one.send('PATCH', `${KB}/documents/t${2000 + round}`, priced)).status).toBe(
          200,
        )
        const search = `SELECT id, chunk_content FROM kb WHERE content = '${replaced.content}' LIMIT 1`
        expect(await one.rows(search)).toEqual([[replaced.id, replaced.content]])
        rounds = round
      }
      expect(await ended(one)).toMatchObject({ state: 'done' })
      const whole = await viewOf(one)
      // Each round adds one and removes one.
      expect(whole.size).toBe(3999)
      for (const [id, content] of written) expect(whole.get(id)?.[0]).toBe(content)
      for (let round = 0; round <= rounds; round += 1) {
        expect(whole.has(`t${1000 + round}`)).toBe(false)
        expect(whole.get(`t${2000 + round}`)?.[1]).toBe(5000 + round)
      }
      await one.close()
    })
  }

  for (const [copy, direction] of sampleOf(DIRECTIONS, 2)) {
    test(`many clients notice nothing of a move ${direction} (copy: ${copy})`, async () => {
      const one = await withBase(3000)
      const storage = { ...STORAGE, copy }
      if (direction === 'back') await moved(one, alter(storage))
      const stop = new AbortController()
      const wrong: unknown[] = []
      const searcher = async (question: string) => {
        const expected = await one.rows(question)
        while (!stop.signal.aborted) {
          const found = await one.rows(question).catch(String)
          // Words written meanwhile affect relevance.
          const isRight = question.includes('relevance')
            ? found.length === expected.length
            : Bun.deepEquals(found, expected)
          if (!isRight) wrong.push([question, found])
        }
      }
      const written: string[] = []
      const writer = async (name: string) => {
        for (let round = 0; !stop.signal.aborted; round += 1) {
          const id = `${name}${round}`
          const { status, body } = await insert(one, [{ id, content: `zzz ${id}` }])
          if (status === 200) written.push(id)
          else wrong.push([id, body])
        }
      }
      const clients = [...QUESTIONS.map(searcher), ...['a', 'b', 'c'].map(writer)]
      await must(one, direction === 'back' ? TO_EMBEDDED : alter(storage))
      expect(await ended(one)).toMatchObject({ state: 'done' })
      await Bun.sleep(500)
      stop.abort()
      await Promise.all(clients)
      expect(wrong).toEqual([])
      const whole = await viewOf(one)
      expect(written.filter((id) => !whole.has(id))).toEqual([])
      expect(whole.size).toBe(2999 + written.length)
      await one.close()
    })
  }

  test('settings and columns that change during the move arrive with it', async () => {
    const one = await withBase(3000)
    await must(one, TO_POSTGRES)
    await must(one, 'ALTER KNOWLEDGE_BASE kb USING hybrid_search = true')
    await insert(one, [
      { ...rowOf(1), price: 'more than a number', origin: { farm: 'Darjeeling' } },
    ])
    expect(await ended(one)).toMatchObject({ state: 'done' })
    const other = await connected()
    await must(
      other,
      `CREATE KNOWLEDGE_BASE kb USING storage = ${JSON.stringify(STORAGE)}, attach = true`,
    )
    expect(await answers(other)).toEqual(await answers(one))
    const { body } = await other.send('GET', KB)
    expect(body).toMatchObject({ params: { hybrid_search: true } })
    await must(other, 'DROP KNOWLEDGE_BASE kb')
    await must(one, 'DROP KNOWLEDGE_BASE kb')
    expect(await tablesThere()).toBe(0)
    await one.close()
  })

  test('a target that cannot be used changes nothing, and the error says why', async () => {
    const one = await withBase(20)
    const before = await answers(one)
    const refused = async (storage: unknown, why: string) => {
      const statement = `ALTER KNOWLEDGE_BASE kb USING storage = ${JSON.stringify(storage)}`
      expect(await run(one, statement)).toContain(why)
      const body = { knowledge_base: { storage } }
      const put = await one.send('PUT', KB, body)
      expect(put.status).toBeGreaterThanOrEqual(400)
      expect((put.body as { detail: string }).detail).toContain(why)
    }
    await sql('CREATE SCHEMA IF NOT EXISTS eider; CREATE TABLE eider.foreign_one (n int)')
    await sql(`CREATE USER reader LOGIN PASSWORD 'r'`)
    const reader = { ...server?.parameters, user: 'reader', password: 'r' }
    await must(one, connection(reader, 'readonly'))
    await must(one, connection({ ...server?.parameters, port: 1 }, 'gone'))
    await must(
      one,
      `CREATE KNOWLEDGE_BASE other USING storage = {"database": "pg", "table": "other"}`,
    )
    await refused({ database: 'nowhere', table: 'kb' }, 'nowhere')
    await refused({ database: 'pg', table: 'foreign_one' }, 'is a table that Eider did not make')
    await refused({ database: 'pg', table: 'other' }, 'holds a knowledge base')
    await refused({ database: 'readonly', table: 'kb' }, 'permission denied')
    await refused({ database: 'gone', table: 'kb' }, 'the connection is refused')
    await refused({ database: 'pg' }, 'Must provide "database" and "table"')
    expect(await run(one, `${TO_POSTGRES}, hybrid_search = true`)).toContain('before or after')
    expect(await run(one, 'ALTER KNOWLEDGE_BASE kb USING storage = null')).toContain('Must provide')
    await must(one, TO_EMBEDDED)
    expect(await lastJob(one)).toBeUndefined()
    expect(await answers(one)).toEqual(before)
    expect(await tablesThere()).toBe(0)
    await must(one, 'DROP KNOWLEDGE_BASE other')
    await one.close()
  })

  test('text that PostgreSQL cannot store ends the move, and the old storage stays in charge', async () => {
    const one = await withBase(30)
    await insert(one, [{ id: 'nul', content: 'a text\u0000with NUL' }])
    const before = await answers(one)
    await must(one, TO_POSTGRES)
    const job = await ended(one)
    expect([job?.state, job?.error]).toEqual(['failed', expect.stringContaining('NUL')])
    expect(await storageOf(one)).toBe('duckdb.kb')
    expect(await answers(one)).toEqual(before)
    expect(await tablesThere()).toBe(0)
    await must(one, `DELETE FROM kb WHERE id = 'nul'`)
    const retried = await one.send('POST', `/api/jobs/${job?.id}/retry`)
    expect(retried.status).toBeLessThan(300)
    expect(await ended(one)).toMatchObject({ state: 'done' })
    expect(await storageOf(one)).toBe('pg.kb')
    await must(one, 'DROP KNOWLEDGE_BASE kb')
    await one.close()
  })

  test('a cancelled move leaves nothing behind, and incomplete tables cannot be attached', async () => {
    const one = await withBase(4000)
    const before = await answers(one)
    await must(one, TO_POSTGRES)
    expect(await run(one, TO_POSTGRES)).toContain('is already moving kb')
    while ((await tablesThere()) === 0) await Bun.sleep(10)
    const other = await connected()
    const attach = `CREATE KNOWLEDGE_BASE kb USING storage = ${JSON.stringify(STORAGE)}, attach = true`
    expect(await run(other, attach)).toContain('is being moved to eider.kb')
    const job = await lastJob(one)
    await one.send('POST', `/api/jobs/${job?.id}/cancel`)
    expect(await ended(one)).toMatchObject({ state: 'cancelled' })
    expect(await tablesThere()).toBe(0)
    expect(await answers(one)).toEqual(before)
    await one.close()
  })

  test('during a move, the connection cannot be dropped; the knowledge base can', async () => {
    const one = await withBase(4000)
    await must(one, TO_POSTGRES)
    while ((await tablesThere()) === 0) await Bun.sleep(10)
    const job = await lastJob(one)
    expect(await run(one, 'DROP DATABASE pg')).toContain(`job ${job?.id}`)
    await must(one, 'DROP KNOWLEDGE_BASE kb')
    expect((await ended(one))?.state).toBe('failed')
    expect(await tablesThere()).toBe(0)
    await must(one, 'DROP DATABASE pg')
    await one.close()
  })

  test('a server that restarts in between ends the move, and its job can be resumed', async () => {
    const one = await withBase(4000)
    await must(one, TO_POSTGRES)
    while ((await tablesThere()) === 0) await Bun.sleep(10)
    await server?.restart()
    const job = await ended(one)
    if (job?.state === 'failed') {
      expect(await storageOf(one)).toBe('duckdb.kb')
      await one.send('POST', `/api/jobs/${job.id}/resume`)
    }
    expect(await ended(one)).toMatchObject({ state: 'done' })
    expect(await one.rows('SELECT count(*) FROM kb')).toEqual([[3999]])
    await must(one, 'DROP KNOWLEDGE_BASE kb')
    expect(await tablesThere()).toBe(0)
    await one.close()
  })

  test('one of two Eiders takes its knowledge base home: the other keeps the tables', async () => {
    const one = await withBase(200)
    await moved(one, TO_POSTGRES)
    const other = await connected()
    await must(
      other,
      `CREATE KNOWLEDGE_BASE kb USING storage = ${JSON.stringify(STORAGE)}, attach = true`,
    )
    await insert(other, [rowOf(7000)])
    await moved(one, TO_EMBEDDED)
    expect(await answers(one)).toEqual(await answers(other))
    await insert(other, [rowOf(7001)])
    expect(await one.rows(`SELECT count(*) FROM kb WHERE id IN ('t7000', 't7001')`)).toEqual([[1]])
    expect(await other.rows(`SELECT count(*) FROM kb WHERE id IN ('t7000', 't7001')`)).toEqual([
      [2],
    ])
    await must(other, 'DROP KNOWLEDGE_BASE kb')
    expect(await tablesThere()).toBe(0)
    await one.close()
  })
})

/** Texts and prices by id, read through a copy if it has none. */
async function viewOf(one: TestApp) {
  const from = 'SELECT id, chunk_content, price FROM kb'
  const [[storage] = []] = await one.rows('SELECT STORAGE FROM information_schema.knowledge_bases')
  const reader = storage === 'duckdb.kb' ? one : await connected()
  const attach = `CREATE KNOWLEDGE_BASE kb USING storage = ${JSON.stringify(STORAGE)}, attach = true`
  if (reader !== one) await must(reader, attach)
  const rows = await reader.rows(from)
  if (reader !== one) await must(reader, 'DROP KNOWLEDGE_BASE kb')
  if (reader !== one) await must(one, 'DROP KNOWLEDGE_BASE kb')
  return new Map(rows.map(([id, content, price]) => [String(id), [content, price]]))
}
