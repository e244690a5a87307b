import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  for (const name of [
    'Report 2026.final.csv',
    'teas.csv',
    'twice.csv',
    'twice.json',
    'Résumé.txt',
  ]) {
    const content = name.endsWith('json') ? '[{"a":"json"}]' : `a\n${name}\n`
    const path = `/api/files/${encodeURIComponent(name)}`
    expect(await t.send('PUT', path, content)).toMatchObject({ status: 200 })
  }
})
afterAll(() => t.close())

async function failureOf(sql: string): Promise<unknown> {
  const { body } = await t.send('POST', '/api/sql/query', { query: sql })
  return (body as { readonly error_message?: string }).error_message
}

describe('a file is found in SQL', () => {
  test.each([
    'files."Report 2026.final.csv"',
    'files."Report 2026.final"',
    'files.`report 2026.FINAL`',
    'files.teas',
    'files.teas.csv',
    'files."TEAS.csv"',
    'files.twice.json',
    // Any composition of the accents is accepted.
    `files."${'Résumé'.normalize('NFD')}"`,
  ])('as %s', async (name) => {
    expect(await t.rows(`SELECT count(*) FROM ${name}`)).toEqual([[1]])
  })

  test('with context.db files, too', async () => {
    const query = 'SELECT a FROM teas'
    const { body } = await t.send('POST', '/api/sql/query', { query, context: { db: 'files' } })
    expect(body).toMatchObject({ data: [['teas.csv']] })
  })

  test('under its exact name first, else as the only one with another ending', async () => {
    const message = 'twice may be one of several files: twice.csv, twice.json. Write the whole name'
    expect(await failureOf('SELECT * FROM files.twice')).toStartWith(message)
    await t.send('POST', '/api/sql/query', {
      query: "CREATE TABLE files.twice AS SELECT 'exact' a",
    })
    expect(await t.rows('SELECT a FROM files.twice')).toEqual([['exact']])
    await t.send('POST', '/api/sql/query', { query: 'DROP TABLE files.twice' })
    expect(await failureOf('SELECT * FROM files.twice')).toStartWith(message)
    const { status, body } = await t.send('GET', '/api/files/twice')
    expect(status).toBe(409)
    expect(body).toMatchObject({ code: 'file_ambiguous', detail: message })
  })

  test('or the nearest name is suggested', async () => {
    expect(await failureOf('SELECT * FROM files.teaz')).toContain('Did you mean files."teas"?')
  })
})

test('the catalog shows whole names, and DESCRIBE takes short ones', async () => {
  const names = await t.rows(
    'SELECT table_name FROM information_schema.tables WHERE table_schema = $1'.replace(
      '$1',
      "'files'",
    ),
  )
  expect(names.flat()).toContain('Report 2026.final.csv')
  expect((await t.rows('DESCRIBE files.teas'))[0]?.[0]).toBe('a')
  expect(await t.rows('SHOW COLUMNS FROM files.teas.csv')).toHaveLength(1)
})

test('a file is inserted by its short name, and its agents read it', async () => {
  const projects = '/api/projects/mindsdb'
  await t.send('POST', `${projects}/knowledge_bases`, { knowledge_base: { name: 'kb' } })
  const knowledge_base = { files: ['teas', 'Résumé'] }
  const inserted = await t.send('PUT', `${projects}/knowledge_bases/kb`, { knowledge_base })
  expect(inserted.text).toBe('""')
  expect(await t.rows('SELECT count(DISTINCT id) FROM kb')).toEqual([[2]])
  const agent = { name: 'reader', data: { knowledge_bases: [], tables: ['files.teas'] } }
  expect((await t.send('POST', `${projects}/agents`, { agent })).status).toBe(201)
})

test('GET and DELETE take the name without its ending', async () => {
  await t.send('PUT', '/api/files/gone.csv', 'a\n1\n')
  expect((await t.send('GET', '/api/files/gone')).body).toMatchObject({ name: 'gone.csv' })
  expect((await t.send('DELETE', '/api/files/gone')).status).toBe(204)
  expect((await t.send('GET', '/api/files/gone.csv')).status).toBe(404)
})

test.each(['..', '../x', 'a/b', 'a\\b', '.', ' x', 'x'.repeat(256), 'a\u0000b', 'a\u0085b'])(
  'no file is named %p',
  async (name) => {
    const { status } = await t.send('PUT', `/api/files/${encodeURIComponent(name)}`, 'a\n1\n')
    expect([400, 404, 405]).toContain(status)
  },
)

test.each(['CON', 'x'.repeat(255), 'a"b`c', '🦆.txt', '.hidden', 'v2.5'])(
  'a file is named %p',
  async (name) => {
    const path = `/api/files/${encodeURIComponent(name)}`
    expect((await t.send('PUT', path, 'a\n1\n')).status).toBe(200)
    expect((await t.send('GET', path)).body).toMatchObject({ name })
    expect(await t.rows(`SELECT count(*) FROM files."${name.replaceAll('"', '""')}"`)).toEqual([
      [1],
    ])
    expect((await t.send('DELETE', path)).status).toBe(204)
  },
)

test.each([
  ['SELECT unit price (EUR) FROM files.stock', '"Unit Price (EUR)"'],
  ['SELECT 1 FROM files.stock list.csv', '"stock list.csv"'],
])('%s is told that its name needs quotes', async (sql, name) => {
  await t.send('PUT', '/api/files/stock.csv?replace=1', 'Tea,Unit Price (EUR)\nx,1\n')
  await t.send('PUT', '/api/files/stock%20list.csv?replace=1', 'a\n1\n')
  const message = await failureOf(sql)
  expect(message).toContain(`. This name needs quotes: ${name}\n`)
})

test.each([
  ['SELECT price', 'Did you mean "Price (EUR)"?'],
  ['SELECT sold', 'The columns are "Tea", "Price (EUR)"'],
  ['SELECT "green tea"', "A text needs single quotes: 'green tea'"],
])('%s of a file without such a column is told what to write', async (select, hint) => {
  await t.send('PUT', '/api/files/stock.csv?replace=1', 'Tea,Price (EUR)\ngreen tea,3\n')
  expect(await failureOf(`${select} FROM files.stock`)).toContain(`does not exist. ${hint}`)
})

test.each(['files."Prices 2026"', 'files.`prices 2026.CSV`'])(
  'a misspelled column of %s is told its name',
  async (name) => {
    await t.send('PUT', '/api/files/Prices%202026.csv?replace=1', 'tea,price\nx,3\n')
    expect(await failureOf(`SELECT prise FROM ${name}`)).toStartWith(
      'Column "prise" does not exist. Did you mean "price"?',
    )
  },
)

test.each([
  ['TWICE.json', 'files."twice.json"'],
  ['mindsdb."Report 2026.final"', 'files."Report 2026.final"'],
  ['"files.Report 2026.final"', 'files."Report 2026.final"'],
  ['report', 'files."Report 2026.final"'],
  ['files.report', 'files."Report 2026.final"'],
])('%s without its database is told where it is', async (written, name) => {
  expect(await failureOf(`SELECT * FROM ${written}`)).toContain(`Did you mean ${name}?`)
})
