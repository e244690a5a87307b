import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  const kbs = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', kbs, { knowledge_base: { name: 'kb' } })
  await t.send('PUT', `${kbs}/kb`, {
    knowledge_base: { rows: [{ id: 'a', content: 'one', price: 1 }] },
  })
})
afterAll(() => t.close())

function list(count: number, item: (index: number) => string, by = ','): string {
  return Array.from({ length: count }, (_, index) => item(index)).join(by)
}

function params(count: number): Readonly<Record<string, number>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index]))
}

interface Case {
  readonly sql: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly code?: number
  readonly says: string
}

/** Each is one more than its limit, or far above it if the limit is a product. */
const REFUSED: Readonly<Record<string, Case>> = {
  'words and signs': { sql: `SELECT ${'1+'.repeat(25_000)}1`, says: '50000 words and signs' },
  'words and signs to a megabyte': { sql: '+'.repeat(1_000_000), says: '50000 words and signs' },
  parameters: {
    sql: `SELECT ${list(2001, (index) => `:p${index}`, '+')}`,
    params: params(2001),
    says: '2000 parameters',
  },
  'values in parameters': {
    sql: 'SELECT len(:a) + :b',
    params: { a: Array(20_000).fill(1), b: 1 },
    code: 1002,
    says: '20000 values',
  },
  'quotes in a long text': { sql: `SELECT '${"''".repeat(500_000)}'`, says: 'too many quotes' },
  SELECTs: { sql: list(2001, () => 'SELECT 1', ' UNION ALL '), says: '2000 SELECTs' },
  'tables in a FROM': { sql: `SELECT 1 FROM ${list(65, (i) => `kb t${i}`)}`, says: '64 tables' },
  columns: { sql: `SELECT ${list(5001, String)}`, says: '5000 columns' },
  'a text that is searched for': {
    sql: 'SELECT id FROM kb WHERE content = :text',
    params: { text: 'a '.repeat(100_001) },
    code: 4005,
    says: '200000 characters',
  },
  'texts in an IN': {
    sql: `SELECT id FROM kb WHERE content IN (${list(20_000, (index) => `'t${index}'`)})`,
    code: 4005,
    says: '1000 texts',
  },
}

describe('a statement above a limit is refused:', () => {
  for (const [name, { sql, params = {}, code = 4002, says }] of Object.entries(REFUSED)) {
    test(name, async () => {
      const { body } = await t.send('POST', '/api/sql/query', { query: sql, params })
      expect(body).toMatchObject({ type: 'error', error_code: code })
      expect((body as { error_message: string }).error_message).toContain(says)
    })
  }
})

describe('a statement at the limit is answered:', () => {
  test('parameters', async () => {
    const sql = `SELECT ${list(20, (n) => list(100, (i) => `:p${n * 100 + i}`, '+'))}`
    expect((await t.rows(sql, params(2000)))[0]?.[0]).toBe(4950)
  })

  test('values in parameters', async () => {
    const most = Array.from({ length: 19_999 }, (_, index) => index)
    expect(await t.rows('SELECT len(:a)', { a: most })).toEqual([[19_999]])
  })

  test('tables in a FROM', async () => {
    const from = list(64, (index) => `(SELECT ${index} AS n) t${index}`)
    expect(await t.rows(`SELECT t0.n + t63.n FROM ${from}`)).toEqual([[63]])
  })

  test('an IN of 10 000 numbers, and an INSERT of 5 000 rows', async () => {
    const numbers = list(10_000, (index) => String(index))
    expect(await t.rows(`SELECT id FROM kb WHERE price IN (${numbers})`)).toEqual([['a']])
    const rows = list(5000, (index) => `('r${index}', '', ${index})`)
    const query = `INSERT INTO kb (id, content, price) VALUES ${rows}, ('b', 'two', 2)`
    const { body } = await t.send('POST', '/api/sql/query', { query })
    expect(body).toMatchObject({ type: 'ok', affected_rows: 1 })
  }, 60_000)

  test('apostrophes in a long text', async () => {
    const text = "it''s ".repeat(5000)
    expect(await t.rows(`SELECT length('${text}')`)).toEqual([[25_000]])
  })
})

test('a list of addresses that is too long is refused before it is read', async () => {
  const urls = Array.from({ length: 20_000 }, (_, index) => `not an address ${index}`)
  const { body } = await t.send('PUT', '/api/projects/mindsdb/knowledge_bases/kb', {
    knowledge_base: { urls },
  })
  expect(body).toMatchObject({ status: 400, detail: expect.stringContaining('1000 pages') })
})
