import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { ATTEMPTS, fill, SECRET } from './hostile-attempts.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  await fill(t)
})
afterAll(() => t.close())

async function answerOf(query: string, params = {}) {
  const { body, text } = await t.send('POST', '/api/sql/query', { query, params })
  return { text, body: body as { type: string; error_code?: number; error_message?: string } }
}

/** Checks that nothing was written and that the server still works. */
async function expectUnharmed() {
  expect(await t.rows('SELECT id, price FROM kb')).toEqual([['a', 1]])
  expect(await t.rows('SHOW TABLES')).toEqual([['kb'], ['mine']])
}

describe('an attempt to escape the restrictions', () => {
  test('is tried in many ways', () => expect(ATTEMPTS.length).toBeGreaterThan(180))

  for (const { codes, sql } of ATTEMPTS) {
    test(sql, async () => {
      const { body, text } = await answerOf(sql)
      expect(body).toMatchObject({ type: 'error' })
      expect([...codes, body.error_message]).toContain(body.error_code ?? 0)
      expect(text).not.toContain('root:')
      expect(text).not.toContain(SECRET)
      await expectUnharmed()
    })
  }
})

describe('a statement that is too much', () => {
  const CASES: readonly (readonly [string, string])[] = [
    ['brackets in brackets', `SELECT ${'('.repeat(20_000)}1${')'.repeat(20_000)}`],
    ['lists in lists', `SELECT ${'['.repeat(5000)}1${']'.repeat(5000)}`],
    ['NOT after NOT', `SELECT ${'NOT '.repeat(20_000)}true`],
    ['a sum without end', `SELECT ${'1+'.repeat(20_000)}1`],
    ['sub-queries in sub-queries', `${'SELECT * FROM ('.repeat(500)}SELECT 1${')'.repeat(500)}`],
    ['a long name', `SELECT 1 AS ${'a'.repeat(1_000_000)}`],
    ['an unknown long name', `SELECT * FROM ${'a'.repeat(1_000_000)}`],
    ['a long text', `SELECT length('${'x'.repeat(1_000_000)}')`],
    ['a long list', `SELECT 1 IN (${'1,'.repeat(50_000)}1)`],
    ['options in options', `CREATE KNOWLEDGE_BASE x USING a = ${'['.repeat(5000)}`],
    ['a NUL', "SELECT 'a\0b', 1"],
    ['a text that is huge', "SELECT length(repeat('x', 100000000000))"],
    ['a list that is huge', 'SELECT len(range(100000000000))'],
    ['lone surrogates', "SELECT '\ud800'"],
  ]
  for (const [name, sql] of CASES) {
    test(`${name}: an answer, and the server goes on`, async () => {
      const { body } = await answerOf(sql)
      expect(['table', 'error']).toContain(body.type)
      expect(body.error_message ?? '').not.toContain('Internal error')
      await expectUnharmed()
    }, 60_000)
  }

  test('a Unicode separator does not end a line', async () => {
    const { body } = await answerOf('SELECT 1 -- \u2028 ; DROP KNOWLEDGE_BASE kb')
    expect(body.type).toBe('table')
    await expectUnharmed()
  })

  test('parameters are values and never SQL', async () => {
    const params = { x: "'; DROP KNOWLEDGE_BASE kb; --", 'a"b': 1, __proto__: { y: 1 } }
    expect(await t.rows('SELECT :x AS x', params)).toEqual([[params.x]])
    await expectUnharmed()
  })
})
