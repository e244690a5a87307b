/** Many rows as CSV and NDJSON must be the same bytes as from the values in JSON. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type SqlFormatName, sqlFormat } from '../../src/api/http/answers/sql-answer.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
})

afterAll(() => app.close())

const TEXTS = `['', 'a', 'a,b', '"', 'she said "no"', chr(13), 'two' || chr(10) || 'lines', chr(9), chr(1), chr(127),
  chr(92), 'é', '日本語', chr(128512), chr(8232), 'twelve bytes', 'thirteen byte', NULL, 'null',
  ' ', repeat('long, ', 40), repeat('é"', 90), repeat('x', 70), chr(0) || 'nul']`

/** An expression with \`i\`, the number of the row, for each type. */
const COLUMNS: Readonly<Record<string, string>> = {
  text: `${TEXTS}[1 + i % 24]`,
  varied: `CASE WHEN i % 7 = 0 THEN NULL ELSE ${TEXTS}[1 + i % 24] || md5(i::VARCHAR)[: i % 30] END`,
  json: `[json('{"a": 1}'), json('"x"'), json('""'), json('null'), json('[1, "a,b"]'), json('12345678901234567890')][1 + i % 6]`,
  enum: `CASE i % 3 WHEN 0 THEN 'low' WHEN 1 THEN 'a,"b' END::ENUM('low', 'a,"b')`,
  bool: '[true, false, NULL][1 + i % 3]',
  tiny: '(i % 256 - 128)::TINYINT',
  utiny: '(i % 256)::UTINYINT',
  small: '((i * 31) % 65536 - 32768)::SMALLINT',
  usmall: '((i * 31) % 65536)::USMALLINT',
  int: '[-2147483648, 2147483647, 0, -1, 10, 99, 100, 1000000000, NULL, i][1 + i % 10]::INTEGER',
  uint: '[4294967295, 2147483648, 2147483647, 0, i][1 + i % 5]::UINTEGER',
  big: `[9007199254740991, 9007199254740992, 9007199254740993, -9007199254740991, -9007199254740992, -9007199254740993,
    9223372036854775807, -9223372036854775808, 0, -1, 4294967296, -4294967297, NULL, i * 123456789][1 + i % 14]::BIGINT`,
  ubig: '[18446744073709551615, 9007199254740992, 1][1 + i % 3]::UBIGINT',
  huge: '[170141183460469231731687303715884105727, -1, 9007199254740993][1 + i % 3]::HUGEINT',
  float: `['nan', 'inf', '-inf', '-0', '0.1', '3.4e38', '1e-45', NULL, '7'][1 + i % 9]::FLOAT`,
  double: `['nan', 'inf', '-inf', '-0', '0.1', '1.7976931348623157e308', '5e-324', '1e21', '123456789012345680000', '-2147483648',
    '2147483648', '0.000001', '1e-7', NULL, '9007199254740993', '100'][1 + i % 16]::DOUBLE`,
  doubles: '(hash(i)::DOUBLE / 7919 - i * 1e12)::DOUBLE',
  dec4: '((i % 2000 - 1000) / 100)::DECIMAL(4, 2)',
  dec9: '((i * 7919 % 1000000 - 500000) / 1000)::DECIMAL(9, 3)',
  dec18:
    '((hash(i) % 100000000000000000)::HUGEINT - 50000000000000000)::DECIMAL(18, 0) / 10::DECIMAL(2, 0)',
  dec18s: '[-0.01, 123456789012345.678, NULL, 999999999999999.999][1 + i % 4]::DECIMAL(18, 3)',
  dec38: "['1234567890123456789012345678.12345', '-1', '0'][1 + i % 3]::DECIMAL(38, 5)",
  date: `['1970-01-01', '1969-12-31', '2024-02-29', '0001-01-01', '0044-03-15 (BC)', '9999-12-31', '12345-01-01', 'infinity', '-infinity', NULL][1 + i % 10]::DATE`,
  dates: "DATE '1600-01-01' + (i * 97)::INTEGER",
  time: `['00:00:00', '23:59:59.999999', '24:00:00', '12:34:56.5'][1 + i % 4]::TIME`,
  timestamp: `['1970-01-01', '1969-12-31 23:59:59.999999', '2024-02-29 12:34:56.000001', '1684-01-01', '2255-06-05 23:47:34', '2261-01-01',
    '0001-01-01', '9999-12-31 23:59:59', '0044-03-15 (BC) 01:02:03', '290000-01-01', 'infinity', '-infinity', NULL][1 + i % 13]::TIMESTAMP`,
  timestamps: "TIMESTAMP '1850-01-01' + to_microseconds(i * 86399999999 * 7)",
  midnight: "TIMESTAMP '1700-01-01' + to_microseconds(i * 86400000000 * 20 - i % 2)",
  tz: "TIMESTAMPTZ '2024-03-31 01:30:00+02' + to_microseconds(i * 1234567)",
  seconds: "(TIMESTAMP '2024-01-01' + to_seconds(i))::TIMESTAMP_S",
  millis: "(TIMESTAMP '2024-01-01' + to_milliseconds(i))::TIMESTAMP_MS",
  nanos: "(TIMESTAMP '2024-01-01' + to_microseconds(i))::TIMESTAMP_NS",
  interval: 'to_seconds(i)',
  uuid: "('00000000-0000-0000-0000-' || lpad(i::VARCHAR, 12, '0'))::UUID",
  blob: "encode('é' || i)",
  bit: "'0101'::BIT",
  list: '[i, NULL, 9007199254740993]',
  texts: `['a,b', NULL, '"']`,
  array: '[1.5, i]::DOUBLE[2]',
  struct: "{'a': i, 'b c': 'x,\"y'}",
  map: "MAP {'k' || i: i}",
  union: 'union_value(num := i)',
  nothing: 'NULL',
}

const CONTENT_TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const

/** Returns the text that the values of the JSON answer would give. */
async function expected(sql: string, name: SqlFormatName, exact = false): Promise<string> {
  const { body } = await app.send('POST', '/api/sql/query', { query: sql, exact })
  const { column_names: names, data } = body as { column_names: string[]; data: never[][] }
  const format = sqlFormat(name)
  return (
    format.head(
      names.map((each) => ({ name: each, type: 'VARCHAR' })),
      [],
    ) + format.rows(data, true)
  )
}

async function answered(sql: string, name: 'csv' | 'ndjson', exact = false): Promise<string> {
  const request = new Request('http://localhost/api/sql/query', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: CONTENT_TYPES[name] },
    body: JSON.stringify({ query: sql, exact }),
  })
  const answer = await app.app.handle(request)
  const text = Buffer.from(await answer.bytes()).toString()
  expect(answer.status === 200 ? '' : text).toBe('')
  return text
}

for (const name of ['csv', 'ndjson'] as const) {
  test.each([false, true])(`values of all types as ${name}; exact: %p`, async (exact) => {
    const cells = Object.entries(COLUMNS).map(([column, value]) => `${value} AS "${column}"`)
    const sql = `SELECT i, ${cells.join(', ')} FROM (SELECT range AS i FROM range(2500)) ORDER BY i`
    const got = await answered(sql, name, exact)
    const wanted = await expected(sql, name, exact)
    const [lines, wantedLines] = [got.split('\n'), wanted.split('\n')]
    const other = lines.findIndex((line, at) => line !== wantedLines[at])
    expect(other === -1 ? '' : lines[other]).toBe(other === -1 ? '' : (wantedLines[other] ?? ''))
    expect(got === wanted).toBe(true)
  })

  test(`texts of many bytes, names that repeat or need quotes, and no rows as ${name}`, async () => {
    for (const sql of [
      `SELECT i, repeat('a "long" text, ', 300) AS x, 1 AS x, 2 AS "a,b" FROM (SELECT range AS i FROM range(3000)) ORDER BY i`,
      'SELECT i AS "quoted "" name" FROM (SELECT range AS i FROM range(9000)) WHERE i % 3000 = 1 ORDER BY i',
      'SELECT range AS a FROM range(9000) WHERE range < 0',
    ]) {
      expect((await answered(sql, name)) === (await expected(sql, name))).toBe(true)
    }
  })
}

/** Every position that is possible, in few rows and in more than one piece. */
test.each([1, 2500])(
  'what a number cannot say is a text where that is asked for: %d rows',
  async (count) => {
    const nested = "[1.5, 'nan'::DOUBLE], {'a': 'inf'::FLOAT}, MAP {'k': '-inf'::DOUBLE}"
    const sql = `SELECT 'nan'::DOUBLE, 'inf'::DOUBLE, '-inf'::FLOAT, 0.5::DOUBLE, NULL::DOUBLE, ${nested},
    12345678901234567890.125::DECIMAL(38, 3), -1.250::DECIMAL(38, 3), 0.00012::DECIMAL(18, 5) FROM range(${count})`
    const rowOf = async (more: object): Promise<unknown> => {
      const { body } = await app.send('POST', '/api/sql/query', { query: sql, ...more })
      const { data } = body as { readonly data: readonly unknown[][] }
      expect(data).toHaveLength(count)
      return data.at(-1)
    }
    expect(await rowOf({ exact: true })).toEqual([
      ...['NaN', 'Infinity', '-Infinity', 0.5, null],
      ...[[1.5, 'NaN'], { a: 'Infinity' }, { k: '-Infinity' }],
      ...['12345678901234567890.125', -1.25, 0.00012],
    ])
    expect(await rowOf({})).toEqual([
      ...[null, null, null, 0.5, null, [1.5, null], { a: null }, { k: null }],
      ...[12345678901234567000, -1.25, 0.00012],
    ])
  },
)

test('a text that begins with a byte order mark keeps it', async () => {
  const sql = "SELECT chr(65279) || 'x' AS x FROM range(9000)"
  expect((await answered(sql, 'csv')).split('\r\n')[1]).toBe('\uFEFFx')
})
