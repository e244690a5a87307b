import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ memoryLimit: '1GB' })
  const numbers = Array.from({ length: 3000 }, (_, number) => `${number},x`).join('\n')
  await t.send('PUT', '/api/files/numbers', `number,name\n${numbers}\n`)
  await t.send('PUT', '/api/files/people', 'id,name,born\n1,Ann,2000-01-01\n2,Bob,2001-02-03\n')
})
afterAll(() => t.close())

interface Answer {
  readonly type: string
  readonly error_code?: number
  readonly error_message?: string
  readonly data?: readonly unknown[][]
  readonly column_names?: readonly string[]
}

async function answerOf(query: string, params = {}): Promise<Answer> {
  const { body } = await t.send('POST', '/api/sql/query', { query, params })
  return body as Answer
}

/** Too many steps for the rows that DuckDB processes at a time, which no interrupt would reach. */
const TOO_MUCH: readonly string[] = [
  `SELECT damerau_levenshtein(repeat('a', 30000), repeat('b', 30000))`,
  `SELECT levenshtein(repeat('a', 50000), repeat(name, 20000)) FROM files.people`,
  `SELECT editdist3(repeat(name, 20000), repeat(name, 20000)) FROM files.people`,
  `SELECT len(string_split(repeat(name, 10000000), '')) FROM files.people`,
  `SELECT list_reduce(range(2000000), (x, y) -> x + y)`,
  `SELECT len(list_sort(range(id * 4000000))) FROM files.people`,
  `SELECT max(jaro_similarity(repeat(name, 5000), repeat('b', 15000 + i::INT))) FROM files.people, range(2000) t(i)`,
  `SELECT len(str_split(repeat('a', 20000000), ''))`,
  `SELECT max(regexp_matches(repeat('ab ', 4000), repeat('a?', 2000) || i)) FROM range(4000) t(i)`,
  `SELECT repeat('a', 3000) LIKE concat(name, '%a%_a%_a%_a%_a%_a%_a%b') FROM files.people`,
  `SELECT list_transform(range(3000), x -> levenshtein(repeat('a', 1000), repeat('b', x)))`,
  `SELECT map_from_entries(list_zip(v, v)) FROM (SELECT list(i) AS v FROM range(200000) t(i)), range(2000)`,
  `SELECT max(list_entropy(l)) FROM (SELECT range(125000) AS l), range(2000)`,
  `SELECT max(list_aggregate(l, 'mode')) FROM (SELECT range(125000) AS l), range(2000)`,
  `SELECT max(a.levenshtein(b)) FROM (SELECT repeat(name, 20000) a, repeat(name, 20000) b FROM files.people)`,
  `SELECT t.a.levenshtein(b) FROM (SELECT repeat(name, 20000) a, repeat(name, 20000) b FROM files.people) t`,
  `SELECT x.main.levenshtein(b) FROM (SELECT repeat(name, 20000) main, repeat(name, 20000) b FROM files.people) x`,
  `SELECT pg_catalog.levenshtein(b) FROM (SELECT repeat(name, 20000) pg_catalog, repeat(name, 20000) b FROM files.people)`,
  `SELECT levenshtein(*COLUMNS(*)) FROM (SELECT repeat(name, 20000) a, repeat(name, 20000) b FROM files.people)`,
]

describe('a statement whose functions take too many steps at a time is refused', () => {
  for (const sql of TOO_MUCH) {
    test(sql.slice(0, 150), async () => {
      const { error_code: code, error_message: message } = await answerOf(sql)
      expect([code, message]).toEqual([4009, expect.any(String)])
    }, 60_000)
  }
})

/** Of more than 100 characters, as for the words of a question. */
const LONG_PATTERN = Array.from({ length: 12 }, (_, at) => `(?:word|term)${at}{0,1}`).join('|')

/** Normal uses, each with its first value. */
const FINE: readonly (readonly [string, unknown])[] = [
  [`SELECT len(repeat('x', 1000000))`, 1_000_000],
  [`SELECT len(repeat(name, 1000000)) FROM files.people WHERE id = 1`, 3_000_000],
  [`SELECT len(string_split(repeat('ab ', 3400000), ' '))`, 3_400_001],
  [`SELECT count(*) FROM range(10000000)`, 10_000_000],
  [`SELECT l.list_transform(lambda x: x + 1).list_sum() FROM (SELECT [1, 2] AS l)`, 5],
  [`SELECT main.levenshtein('a', 'b') + system.main.levenshtein('a', 'b')`, 2],
  [`SELECT pg_catalog.current_schema()`, 'mindsdb'],
  [`SELECT t.l.list_filter(x -> x > 1)[1] FROM (SELECT [1, 2] AS l) t`, 2],
  [`SELECT len(replace(repeat('ab', 1000000), 'a', '&amp;'))`, 6_000_000],
  [
    `SELECT max(len(replace(replace(i || '<&>', '&', '&amp;'), '<', '&lt;'))) FROM range(3000) t(i)`,
    14,
  ],
  [`SELECT list_median(range(1000001))`, 500_000],
  [`SELECT list_aggregate(range(1000000), 'sum')`, 499_999_500_000],
  [`SELECT levenshtein(repeat('a', 3000), repeat('b', 3000))`, 3000],
  [`SELECT max(levenshtein(name, 'Anna')) FROM files.people, range(3000)`, 4],
  [`SELECT lpad(id::VARCHAR, 5, '0') FROM files.people ORDER BY id`, '00001'],
  [
    `SELECT count(*) FROM range(3000) t(i) WHERE regexp_matches(repeat('some words ', 80) || i, '${LONG_PATTERN}')`,
    3000,
  ],
  [`SELECT list_transform([1, 2], x -> 'n' || x)[1]`, 'n1'],
  [`SELECT list_transform(range(3), x -> repeat('ab', x))[3]`, 'abab'],
  [`SELECT list_reduce(range(1000), (x, y) -> x + y)`, 499_500],
  [
    `SELECT upper(name) || '!' FROM files.people GROUP BY upper(name) || '!' ORDER BY upper(name) || '!'`,
    'ANN!',
  ],
  [
    `SELECT repeat(name, id::INT) FROM files.people GROUP BY repeat(name, id::INT) ORDER BY 1 DESC`,
    'BobBob',
  ],
  [`SELECT repeat(:name, :n), typeof(:n), upper(:name)`, 'abab'],
  [`SELECT DISTINCT replace(name, 'n', name) AS r FROM files.people ORDER BY r`, 'AAnnAnn'],
  [`SELECT string_agg(name || lower(name), ',' ORDER BY id) FROM files.people`, 'Annann,Bobbob'],
  [
    `SELECT format('{:>6} {:.2f} {{}} {:,}', name, 1.234, 12345) FROM files.people`,
    '   Ann 1.23 {} 12,345',
  ],
  [`SELECT format(:format, name, id) FROM files.people ORDER BY id`, 'Ann = 001, 2 * 20000'],
  [`SELECT format(name || ' {:>4}', id) FROM files.people ORDER BY id`, 'Ann    1'],
  [`SELECT printf('%-5s|%05d|%.3f%%', name, id, 1.5) FROM files.people`, 'Ann  |00001|1.500%'],
  [`SELECT max(format('{} {}', name, i)) FROM files.people, range(3000) t(i)`, 'Bob 999'],
  [`SELECT printf('%s', NULL) IS NULL`, true],
  [`SELECT COLUMNS('name') || '!' FROM files.people, range(1) ORDER BY ALL`, 'Ann!'],
  [`SELECT upper(COLUMNS(x -> x = 'name')) FROM files.people, range(1) ORDER BY 1`, 'ANN'],
  [`SELECT replace(COLUMNS('name'), 'n', name) FROM files.people, range(1) ORDER BY 1`, 'AAnnAnn'],
  [`SELECT concat(*COLUMNS('name|id')) FROM files.people ORDER BY 1`, '1Ann'],
  [
    `SELECT s.* EXCLUDE (id), r FROM files.people s, (SELECT repeat('a', id::INT) r FROM files.people) ORDER BY ALL`,
    'Ann',
  ],
  [
    `SELECT * REPLACE (upper(name) AS name) FROM (SELECT name, repeat(name, id::INT) r FROM files.people) ORDER BY name`,
    'ANN',
  ],
  [
    `SELECT DISTINCT s.name FROM files.people s, (SELECT repeat('a', id::INT) r FROM files.people) ORDER BY s.name`,
    'Ann',
  ],
  [
    `SELECT s.name, count(*) FROM files.people s, (SELECT repeat('a', id::INT) r FROM files.people) GROUP BY s.name ORDER BY s.name`,
    'Ann',
  ],
  [`SELECT :name, upper(:name) || id FROM files.people, range(2)`, 'ab'],
  [`SELECT concat_ws(', ', name, NULL, id) FROM files.people ORDER BY id`, 'Ann, 1'],
  [`SELECT max(concat_ws(', ', upper(name), i)) FROM files.people, range(3000) t(i)`, 'BOB, 999'],
  [`SELECT list_aggr([id, 2, 3], 'string_agg', ' - ') FROM files.people ORDER BY id`, '1 - 2 - 3'],
  [`SELECT list_aggregate([1, 2, 3], 'sum')`, 6],
  [`SELECT list_concat([name], [id::VARCHAR])[2] FROM files.people, range(1) ORDER BY id`, '1'],
  [`SELECT len(range(born, born + INTERVAL 3 DAY, INTERVAL 1 DAY)) FROM files.people`, 3],
]

describe('a statement of an ordinary size runs', () => {
  for (const [sql, expected] of FINE) {
    test(sql, async () => {
      const { data, error_message: message } = await answerOf(sql, {
        n: 2,
        name: 'ab',
        format: '{} = {:03}, 2 * 20000',
      })
      expect([message, data?.[0]?.[0]]).toEqual([undefined, expected])
    }, 60_000)
  }
})

test('columns are called as they would be without limits', async () => {
  const sql = `SELECT levenshtein(name, 'Anna'), len(list_sort(range(id))), name LIKE '%a_%n' FROM files.people`
  const { column_names: names } = await answerOf(sql)
  expect(names).toEqual([
    `levenshtein("name", 'Anna')`,
    'len(list_sort("range"(id)))',
    `("name" ~~ '%a_%n')`,
  ])
})

describe('a pattern with many wildcards is looked for in one pass', () => {
  const CASES: readonly (readonly [string, boolean | null])[] = [
    [`repeat('a', 200) LIKE '%a_%a_%a_%a_%a_%a_%b'`, false],
    [`repeat('a', 200) ILIKE '%A_%a_%A_%a_%a_%a_%A'`, true],
    [`repeat('a', 200) GLOB '*a?*a?*a?*a?*b'`, false],
    [`repeat('a', 200) NOT LIKE '%a_%a_%a_%a_%a_%a_%b'`, true],
    [`NULL NOT LIKE '%a_%b'`, null],
    [`'50% of_it' LIKE '%!%_of!_%' ESCAPE '!'`, true],
    [`'50% of it' LIKE '%!%_of!_%' ESCAPE '!'`, false],
    [`'(a+b)' LIKE '%(_+%'`, true],
    [`'ü' || chr(10) || 'x' LIKE '%_%x'`, true],
  ]
  for (const [sql, expected] of CASES) {
    test(sql, async () => expect((await answerOf(`SELECT ${sql}`)).data).toEqual([[expected]]))
  }
})

describe('a parameter of several types', () => {
  for (const sql of [
    'SELECT hash(:p) IS NULL, upper(:p)',
    'SELECT typeof(:p), strlen(:p)',
    'SELECT row(:p), upper(:p)',
    'SELECT {a: :p}, upper(:p)',
    'SELECT count(:p), upper(:p)',
    'SELECT list_sort([:p]), hash([:p]), typeof(:p), upper(:p)',
    'SELECT hash(:p) h, count(*) FROM files.people GROUP BY hash(:p)',
  ]) {
    test(`does not end the database: ${sql}`, async () => {
      expect((await answerOf(sql, { p: 'abc' })).type).toBe('table')
      expect(await t.rows('SELECT 1')).toEqual([[1]])
    })
  }
})

describe('a row that would take long to convert', () => {
  const LARGE: readonly string[] = [
    'SELECT list(i) FROM range(300000) t(i)',
    'SELECT histogram(i) FROM range(300000) t(i)',
    'SELECT list({a: i, b: [i]}) FROM range(90000) t(i)',
    `SELECT ('[' || repeat('{"a":1},', 1200000) || '1]')::JSON`,
    `SELECT repeat('abcdefghij', 7000000)`,
  ]
  const send = (query: string, accept: string) => {
    const url = `http://localhost/api/sql/query?${new URLSearchParams({ query })}`
    return t.app.handle(new Request(url, { headers: { accept } }))
  }
  for (const sql of LARGE) {
    test(`is refused as text: ${sql}`, async () => {
      expect(await answerOf(sql)).toMatchObject({ type: 'error', error_code: 4009 })
      for (const accept of ['text/csv', 'application/x-ndjson']) {
        const response = await send(sql, accept)
        expect([response.status, await response.json()]).toMatchObject([
          400,
          { code: 'sql_too_costly' },
        ])
      }
    }, 60_000)
  }

  test('comes in binary formats', async () => {
    for (const format of ['arrow.stream', 'parquet']) {
      const response = await send(LARGE[0] ?? '', `application/vnd.apache.${format}`)
      expect([response.status, (await response.bytes()).length > 300_000]).toEqual([200, true])
    }
  })

  test('can have large parts, which are counted for each row', async () => {
    const sql = `SELECT range(100000) FROM range(20) UNION ALL SELECT NULL`
    const { data = [] } = await answerOf(sql)
    expect(data.map(([list]) => (list as unknown[] | null)?.length)).toEqual([
      ...Array<number>(20).fill(100_000),
      undefined,
    ])
  }, 60_000)

  test('is read alone, so that others need not wait', async () => {
    const lists = await t.send('POST', '/api/sql/query', {
      query: 'SELECT range(20000) FROM range(200)',
      response_format: 'jsonlines',
    })
    // The head, and more than one batch.
    expect(lists.text.trim().split('\n').length).toBeGreaterThan(10)
  }, 60_000)

  test('is text if its JSON is too deep for JavaScript', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const { data } = await answerOf(`SELECT (repeat('[', 50000) || repeat(']', 50000))::JSON`)
    expect(data).toEqual([[deep]])
    const brackets = { a: '['.repeat(20_000) }
    expect(
      (await answerOf('SELECT CAST(:p AS JSON)', { p: JSON.stringify(brackets) })).data,
    ).toEqual([[brackets]])
  })
})

test('a method has the name that it is written with, and its checks are those of a function', async () => {
  const named = await answerOf(
    "SELECT l.list_sum(), t.s.upper() FROM (SELECT [1, 2] AS l, 'a' AS s) t",
  )
  expect([named.column_names, named.data]).toEqual([['l.list_sum()', 't.s.upper()'], [[3, 'A']]])
  const hidden = "SELECT l.list_aggregate('listagg_of_nothing', 'sum') FROM (SELECT [1, 2] AS l)"
  expect(await answerOf(hidden)).toMatchObject({ error_code: 4004 })
})
