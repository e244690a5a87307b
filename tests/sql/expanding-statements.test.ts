/** Short statements for which DuckDB would need hours or all memory, or would crash, and similar harmless ones. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const NOT_SUPPORTED = 4002
const FORBIDDEN = 4004
const FAILED = 4007

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  const kbs = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', kbs, { knowledge_base: { name: 'kb' } })
  const rows = [{ id: 'a', content: 'one', price: 1 }]
  await t.send('PUT', `${kbs}/kb`, { knowledge_base: { rows } })
})
afterAll(() => t.close())

async function codeOf(query: string): Promise<number | undefined> {
  const { body } = await t.send('POST', '/api/sql/query', { query })
  // A failed statement's answer has this form (docs/errors.md).
  return (body as { readonly error_code?: number }).error_code
}

function within(count: number, open: string, inner: string, close: string): string {
  return `${open.repeat(count)}${inner}${close.repeat(count)}`
}

function doubledCtes(count: number, body: (previous: string) => string, kind = 'AS'): string {
  const ctes = Array.from({ length: count }, (_, index) => {
    return `c${index + 1} ${kind} (${body(`c${index}`)})`
  })
  return `WITH c0 ${kind} (SELECT 1 AS x), ${ctes.join(', ')} SELECT count(*) FROM c${count}`
}

const doubled = (count: number, first: string) => {
  const items = Array.from({ length: count }, (_, at) => `a${at} + a${at} AS a${at + 1}`)
  return `SELECT ${first} AS a0, ${items.join(', ')}`
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index).join(', ')
const deepList = `repeat('[', 300000) || '1' || repeat(']', 300000)`
const deepObject = `repeat('{"a":', 100000) || '1' || repeat('}', 100000)`

describe('refused at once', () => {
  const CASES: readonly (readonly [string, number, string])[] = [
    ['aliases doubled', NOT_SUPPORTED, doubled(30, '1')],
    [
      'columns doubled',
      NOT_SUPPORTED,
      doubledCtes(30, (cte) => `SELECT * FROM ${cte} a, ${cte} b`),
    ],
    [
      'CTEs doubled',
      NOT_SUPPORTED,
      doubledCtes(30, (cte) => `SELECT a.x FROM ${cte} a, ${cte} b`, 'AS NOT MATERIALIZED'),
    ],
    [
      'unions doubled',
      NOT_SUPPORTED,
      doubledCtes(30, (cte) => `SELECT * FROM ${cte} UNION ALL SELECT * FROM ${cte}`),
    ],
    ['arrow after arrow', NOT_SUPPORTED, `SELECT x ${'-> 1 '.repeat(40)}FROM range(1) t(x)`],
    ['lambdas', NOT_SUPPORTED, `SELECT ${within(30, 'list_transform([1], x -> ', '1', ')')}`],
    ['comprehensions', NOT_SUPPORTED, `SELECT ${within(30, '[', '1', ' FOR x IN [1]]')}`],
    ['BETWEEN', NOT_SUPPORTED, `SELECT ${within(30, '(', '1', ' BETWEEN 0 AND 2)::INT')}`],
    ['nullif', NOT_SUPPORTED, `SELECT ${within(30, 'nullif(', '1', ', 2)')}`],
    ['split_part', NOT_SUPPORTED, `SELECT ${within(20, 'split_part(', `'a'`, `, 'b', 1)`)}`],
    ['round_even', NOT_SUPPORTED, `SELECT ${within(8, 'round_even(', '1', ', 1)')}`],
    ['array_pop_back', NOT_SUPPORTED, `SELECT ${within(20, 'array_pop_back(', '[1]', ')')}`],
    [
      'a PIVOT of ninety thousand columns',
      NOT_SUPPORTED,
      `PIVOT (SELECT 1 AS a, 2 AS b) ON a IN (${numbers(300)}), b IN (${numbers(300)}) USING count(*)`,
    ],
    ['a sum of a sum', NOT_SUPPORTED, `SELECT 1${' + 1'.repeat(900)}`],
    ['functions', NOT_SUPPORTED, `SELECT ${within(900, 'abs(', '1', ')')}`],
    ['joins', NOT_SUPPORTED, `SELECT 1 FROM range(1)${', range(1)'.repeat(900)}`],
    [
      'CTEs within CTEs',
      NOT_SUPPORTED,
      within(900, 'WITH a AS (', 'SELECT 1', ') SELECT * FROM a'),
    ],
    ['a name of parts', NOT_SUPPORTED, `SELECT x${'.a'.repeat(20_000)} FROM (SELECT {a: 1} AS x)`],
    ['a shape that is computed', FORBIDDEN, `SELECT from_json('1', ${deepList})`],
    [
      'a shape that is deep',
      FORBIDDEN,
      `SELECT json_transform('1', '${within(600, '[', '"INT"', ']')}')`,
    ],
    ['VARIANT', FORBIDDEN, `SELECT (${deepList})::JSON::VARIANT`],
    ['VARIANT within a type', FORBIDDEN, `SELECT NULL::STRUCT(a VARIANT[])`],
    ['deep lists, json_structure', FAILED, `SELECT json_structure(${deepList})`],
    ['deep objects, json_structure', FAILED, `SELECT "JSON_STRUCTURE"(${deepObject})`],
    ['deep JSON written out', FAILED, `SELECT json_structure('${within(300_000, '[', '1', ']')}')`],
    ['deep JSON, json_contains', FAILED, `SELECT json_contains(${deepList}, '1')`],
    ['deep JSON, json_merge_patch', FAILED, `SELECT json_merge_patch('{}', ${deepObject})`],
    [
      'deep JSON of a column',
      FAILED,
      `SELECT json_group_structure(x) FROM (SELECT ${deepObject} AS x)`,
    ],
  ]
  for (const [name, code, sql] of CASES) {
    test(name, async () => {
      expect(await codeOf(sql)).toBe(code)
      expect(await t.rows('SELECT 1')).toEqual([[1]])
    }, 60_000)
  }

  test('views that read one another many times', async () => {
    const source = (name: string) => Array.from({ length: 6 }, (_, at) => `${name} AS t${at}`)
    await t.send('POST', '/api/sql/query', { query: 'CREATE VIEW v0 AS SELECT 1 AS x' })
    const codes: (number | undefined)[] = []
    for (let level = 1; level <= 9; level += 1) {
      const from = source(`v${level - 1}`).join(', ')
      codes.push(await codeOf(`CREATE VIEW v${level} AS SELECT t0.x FROM ${from}`))
    }
    expect(codes).toContain(NOT_SUPPORTED)
    expect(await t.rows('SELECT x FROM v1')).toEqual([[1]])
  })
})

describe('similar harmless statements run', () => {
  const chain = (count: number, last: string) => {
    return `SELECT 1 AS a0, ${Array.from({ length: count }, (_, at) => `a${at} + 1 AS a${at + 1}`).join(', ')}, ${last}`
  }
  const CASES: readonly (readonly [string, string, unknown])[] = [
    ['aliases one by one', `SELECT a40 FROM (${chain(40, '0 AS z')})`, 41],
    ['aliases doubled a few times', `SELECT a5 FROM (${doubled(5, '1')})`, 32],
    ['a long concatenation', `SELECT length('a'${` || 'a'`.repeat(150)})`, 151],
    [
      'many conditions',
      `SELECT count(*) FROM range(9) t(i) WHERE ${'i = 1 OR '.repeat(2000)}i = 2`,
      2,
    ],
    ['a long list', `SELECT 4999 IN (${numbers(5000)})`, true],
    ['arrows into JSON', `SELECT '{"a":{"b":{"c":[1]}}}'::JSON -> 'a' -> 'b' -> 'c' ->> 0`, '1'],
    [
      'lambdas within lambdas',
      `SELECT ${within(4, 'list_transform([1], x -> ', 'x', ')')}`,
      [[[[1]]]],
    ],
    [
      'functions used thrice',
      `SELECT nullif(nullif(nullif(split_part('a-b', '-', 1), 'x'), 'y'), 'z')`,
      'a',
    ],
    ['a pipeline', doubledCtes(8, (cte) => `SELECT a.x FROM ${cte} a JOIN ${cte} b USING (x)`), 1],
    [
      'a PIVOT',
      `SELECT count(*) FROM (PIVOT (SELECT 1 AS a, 2 AS b) ON a IN (${numbers(50)}), b IN (1, 2) USING count(*))`,
      1,
    ],
    ['a shape', `SELECT from_json('{"a": [1, 2]}', '{"a": ["INT"]}').a[2]`, 2],
    [
      'structure',
      `SELECT json_structure(json_merge_patch('{"a": 1}', '{"b": [2.5]}')) ->> '$.b[0]'`,
      'DOUBLE',
    ],
    [
      'structures of a group',
      `SELECT json_group_structure(j) ->> 'a' FROM (VALUES ('{"a": 1}'::JSON), (NULL)) t(j)`,
      'UBIGINT',
    ],
    [
      'JSON of a knowledge base',
      `SELECT json_structure((SELECT metadata FROM kb)) ->> 'price'`,
      'UBIGINT',
    ],
    [
      'a search in JSON',
      `SELECT json_contains((SELECT metadata FROM kb WHERE content = 'x'), '1')`,
      true,
    ],
    ['comments within comments', `SELECT ${within(50_000, '/*', ' ; ', '*/')} 5`, 5],
    ['numbers without an end', 'SELECT -1e400 < -1e308 AND 1e400 > 1e308', true],
    ['a comment that a carriage return ends', 'SELECT 5 -- five\r + 1', 6],
  ]
  for (const [name, sql, value] of CASES) {
    test(name, async () => expect(await t.rows(sql)).toEqual([[value]]))
  }

  test('a second statement behind a carriage return is seen', async () => {
    expect(await codeOf('SELECT 1 --\r; SELECT 2')).toBe(NOT_SUPPORTED)
  })
})
