import { afterAll, beforeAll, expect, test } from 'bun:test'
import { seededRandom } from '../../retrieval/sample-vectors.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'
const WORDS = [
  'tea',
  'green',
  'black',
  'schön',
  'чай',
  '茶',
  '🍵',
  'a',
  "it's",
  'x"y',
  '\\',
  '\u0000',
]

/** The same statement, run by the database instead of the fast path. */
const AS_STATEMENT = 'WITH none AS (SELECT 1) '

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

type Random = () => number

function pick<T>(items: readonly [T, ...T[]], random: Random): T {
  return items[Math.floor(random() * items.length)] ?? items[0]
}

function text(random: Random): string {
  const count = 1 + Math.floor(random() * 6)
  return Array.from({ length: count }, () => pick(WORDS as [string], random)).join(' ')
}

const VALUES: readonly [unknown, ...unknown[]] = [
  null,
  true,
  -0,
  7,
  9.5,
  1e17,
  1e300,
  '9007199254740993',
  'Zoë 🍵',
  'nul \u0000 here',
  '',
  '12345678901234567890',
  { b: 1, a: [1, 2.5, null], '2': 'x', 1: 'y' },
  [],
]

/** Metadata of all types, with missing values and keys that have a meaning in a search. */
function row(id: string, random: Random): Record<string, unknown> {
  return {
    id,
    content: text(random),
    price: pick([1, 2.5, 1e17, null], random),
    count: pick([1, 2, 9_007_199_254_740_991, null], random),
    colour: pick(['green', 'a"b', '', '🍵', null], random),
    fresh: pick([true, false, null], random),
    distance: pick([3, 4], random),
    'Two Words': pick(['x', 'y'], random),
    ...(random() < 0.3 ? { made: pick(['2024-02-29', '2025-01-01'], random) } : {}),
    ...(random() < 0.5 ? { any: pick(VALUES, random) } : {}),
  }
}

async function answer(query: string, params: object): Promise<string> {
  const { text: body } = await t.send('POST', '/api/sql/query', { query, params })
  return body
}

async function ok(query: string): Promise<void> {
  expect((await answer(query, {})).slice(0, 12)).toBe('{"type":"ok"')
}

async function put(rows: readonly object[]): Promise<void> {
  const { status } = await t.send('PUT', `${KB}/kb`, { knowledge_base: { rows } })
  expect(status).toBe(200)
}

const LISTS = [
  '*',
  'id, chunk_content, relevance',
  'ID AS "Who", k.distance, metadata',
  'chunk_id, price, count, colour, fresh',
  'metadata.distance, metadata.price, k.*, "two words"',
  'relevance, relevance AS again, made, content',
  'declared, "any", metadata."any"',
] as const

function statement(random: Random): { readonly query: string; readonly params: object } {
  const conditions = [
    pick(['content = :q', "content = 'green tea 茶'", 'content = :vector'], random),
    ...(random() < 0.3
      ? [pick(['relevance >= 0.4', 'distance < :far', '0.6 < k.relevance'], random)]
      : []),
    ...(random() < 0.3 ? [pick(["colour = 'green'", 'price < 100', 'fresh'], random)] : []),
    ...(random() < 0.3 ? ['hybrid_search = true'] : []),
  ]
  const limit = pick(
    ['', ' LIMIT 5', ' LIMIT 3 OFFSET 2', ' LIMIT 0', ' OFFSET 1', ' LIMIT 200'],
    random,
  )
  const list = pick(LISTS as unknown as [string], random)
  const params = {
    q: text(random),
    vector: Array.from({ length: 64 }, () => random() - 0.3),
    far: pick([0.5, 0.9, null], random),
  }
  const isVector = conditions[0] === 'content = :vector'
  const where = conditions.filter((one) => !isVector || one !== 'hybrid_search = true')
  return { query: `SELECT ${list} FROM kb AS k WHERE ${where.join(' AND ')}${limit}`, params }
}

test('an answer without a statement is that of the statement, byte for byte, after any writes', async () => {
  const random = seededRandom(34)
  await t.send('POST', KB, {
    knowledge_base: {
      name: 'kb',
      metadata_columns: [
        'declared',
        { name: 'made', type: 'DATE' },
        'price',
        'count',
        'colour',
        'fresh',
        'distance',
        'Two Words',
        'any',
      ],
    },
  })
  const ids = Array.from({ length: 120 }, (_, index) => `d${index}`)
  await put(ids.map((id) => row(id, random)))
  for (let round = 0; round < 12; round += 1) {
    for (let index = 0; index < 12; index += 1) {
      const { query, params } = statement(random)
      const expected = await answer(`${AS_STATEMENT}${query}`, params)
      // The database determines the columns of a new statement.
      for (let time = 0; time < 3; time += 1) {
        expect([query, await answer(query, params)]).toEqual([query, expected])
      }
    }
    const id = `d${Math.floor(random() * 120)}`
    if (round % 4 === 0) await put([row(id, random), row(`new${round}`, random)])
    if (round % 4 === 1) await ok(`UPDATE kb SET colour = 'other ${round}' WHERE fresh`)
    if (round % 4 === 2) await ok(`DELETE FROM kb WHERE id = '${id}'`)
    if (round % 4 === 3) await ok(`UPDATE kb SET price = '${round}' WHERE id = '${id}'`)
  }
})
