import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const LONG = 'x'.repeat(100_001)

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

test('a text too long for a column, which DuckDB would read for each null after it, stays in metadata', async () => {
  await t.send('POST', KBS, { knowledge_base: { name: 'kb' } })
  const rows = [
    { id: 1, content: 'a', body: LONG.slice(1), list: [1] },
    { id: 2, content: 'b', body: LONG, list: [LONG] },
    { id: 3, content: 'c' },
  ]
  expect((await t.send('PUT', `${KBS}/kb`, { knowledge_base: { rows } })).status).toBe(200)
  const sizes = 'SELECT id, length(body), list IS NULL FROM kb ORDER BY id'
  expect(await t.rows(sizes)).toEqual([
    ['1', 100_000, false],
    ['2', null, true],
    ['3', null, true],
  ])
  const kept = "SELECT length(metadata->>'body') FROM kb WHERE id = 2"
  expect(await t.rows(kept)).toEqual([[100_001]])
  const { body } = await t.send('GET', `${KBS}/kb`)
  const why = 'longer than 100000 characters: null in the column and unchanged in metadata'
  expect(body).toMatchObject({
    params: {
      warnings: [
        `Column body: 1 inserted value is ${why}`,
        `Column list: 1 inserted value is ${why}`,
      ],
    },
  })
})

test('in a declared column it is refused, with what to do', async () => {
  const columns = [{ name: 'code', type: 'VARCHAR' }]
  await t.send('POST', KBS, { knowledge_base: { name: 'declared', metadata_columns: columns } })
  const rows = [{ id: 1, content: 'a', code: LONG }]
  const answer = await t.send('PUT', `${KBS}/declared`, { knowledge_base: { rows } })
  expect(answer.status).toBe(400)
  expect(answer.text).toContain(
    'row 1, column code: a metadata column holds up to 100000 characters, not 100001; make longer texts content',
  )
  expect(await t.rows('SELECT count(*) FROM declared')).toEqual([[0]])
})

test('digits followed by a letter are refused in a column of numbers', async () => {
  const column = { name: 'price', type: 'DOUBLE' }
  await t.send('POST', KBS, { knowledge_base: { name: 'prices', metadata_columns: [column] } })
  const put = (price: unknown) => {
    const rows = [{ id: 1, content: 'a', price }]
    return t.send('PUT', `${KBS}/prices`, { knowledge_base: { rows } })
  }
  expect((await put('007.50')).status).toBe(200)
  expect(await t.rows('SELECT price FROM prices')).toEqual([[7.5]])
  const answer = await put(`${'0'.repeat(2_000_000)}x`)
  expect(answer.status).toBe(400)
  expect(answer.text).toContain('column price')
})

test('a name of more than a thousand characters and more than a thousand names are refused', async () => {
  await t.send('POST', KBS, { knowledge_base: { name: 'named' } })
  const rows = (length: number) => [{ id: 1, content: 'a', ['n'.repeat(length)]: 1 }]
  const put = (length: number) => {
    return t.send('PUT', `${KBS}/named`, { knowledge_base: { rows: rows(length) } })
  }
  expect((await put(1_000)).status).toBe(200)
  const refused = await put(1_001)
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('Metadata names have at most 1000 characters')
  const wide = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`c${index}`, 1]))
  const row = { id: 2, content: 'b', ...wide }
  const tooWide = await t.send('PUT', `${KBS}/named`, { knowledge_base: { rows: [row] } })
  expect(tooWide.text).toContain('The number of metadata columns is at most 1000')
})

test('definitions have lists of at most a thousand items', async () => {
  const names = Array.from({ length: 1_001 }, (_, index) => `mindsdb.t${index}`)
  const create = (fields: object) =>
    t.send('POST', KBS, { knowledge_base: { name: 'd', ...fields } })
  const many = await create({ metadata_columns: names })
  expect(many).toMatchObject({ status: 400 })
  expect(many.text).toContain('Field \\"metadata_columns\\" has at most 1000 items')
  expect(await create({ metadata_columns: [LONG] })).toMatchObject({ status: 400 })
  expect(await create({ metadata_columns: names.slice(1) })).toMatchObject({ status: 201 })
  const agent = { name: 'a', data: { tables: names } }
  const asked = await t.send('POST', '/api/projects/mindsdb/agents', { agent })
  expect(asked.text).toContain('Field \\"tables\\" has at most 1000 items')
})
