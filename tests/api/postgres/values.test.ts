/** Values in text and binary form, as results, as parameters and in COPY. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  addTeas,
  failureOf,
  int16,
  int32,
  message,
  RawClient,
  type Received,
  type Served,
  serve,
  text,
  withClient,
} from './postgres-fixture.ts'

let open: Served
beforeAll(async () => {
  open = await serve()
  await addTeas(open)
})
afterAll(() => open.stop())

const SYNC = message('S')

/** Returns a value preceded by its length. */
function value(bytes: Uint8Array): Buffer {
  return Buffer.concat([int32(bytes.length), bytes])
}

function hex(digits: string): Buffer {
  return Buffer.from(digits.replaceAll(' ', ''), 'hex')
}

interface Bound {
  readonly sql: string
  readonly oid?: number
  /** The parameter in binary form. */
  readonly parameter?: Uint8Array
  readonly isBinary?: boolean
}

/** Returns all messages of a prepared statement with at most one parameter. */
async function run({ sql, oid = 0, parameter, isBinary = false }: Bound) {
  const client = await RawClient.started(open.port)
  const given = parameter === undefined ? [int16(0)] : [int16(1), value(parameter)]
  client.send(
    message('P', text(''), text(sql), int16(1), int32(oid)),
    message(
      'B',
      text(''),
      text(''),
      int16(1),
      int16(1),
      ...given,
      int16(1),
      int16(isBinary ? 1 : 0),
    ),
    message('D', Buffer.from('P'), text('')),
    message('E', text(''), int32(0)),
    SYNC,
  )
  const received = await client.until('Z')
  client.close()
  return received
}

/** Returns the first value of the first row. */
function firstValue(received: readonly Received[]): Buffer | null {
  const row = received.find(({ kind }) => kind === 'D')
  if (row === undefined) throw new Error(received.map(({ body }) => String(body)).join('\n'))
  const length = row.body.readInt32BE(2)
  return length === -1 ? null : row.body.subarray(6, 6 + length)
}

/** The SQL, PostgreSQL's binary form (as PostgreSQL 15 sends it), and the text. */
const VALUES: readonly (readonly [string, string, string])[] = [
  ['true', '01', 't'],
  ['(-2)::SMALLINT', 'fffe', '-2'],
  ['70000::INTEGER', '00011170', '70000'],
  ['(-5000000000)::BIGINT', 'fffffffed5fa0e00', '-5000000000'],
  ['1.5::FLOAT', '3fc00000', '1.5'],
  ["'-infinity'::DOUBLE", 'fff0000000000000', '-Infinity'],
  ['12345.678::DECIMAL(10,3)', '0003 0001 0000 0003 0001 0929 1a7c', '12345.678'],
  ['(-0.0005)::DECIMAL(6,4)', '0001 ffff 4000 0004 0005', '-0.0005'],
  ["'né'", '6ec3a9', 'né'],
  ["'\\xAB\\x00'::BLOB", 'ab00', '\\xab00'],
  ["DATE '2000-01-01'", '00000000', '2000-01-01'],
  ["DATE '1999-02-28'", 'fffffecd', '1999-02-28'],
  ["DATE '0044-03-15 (BC)'", 'fff49d7b', '0044-03-15 BC'],
  ["TIMESTAMP '0044-03-15 (BC) 04:05:06.5'", 'ff1af9e258ee81a0', '0044-03-15 04:05:06.5 BC'],
  ["DATE 'infinity'", '7fffffff', 'infinity'],
  ["DATE '20000-02-29'", '00645158', '20000-02-29'],
  ["TIME '04:05:06.789'", '00000003 6c97 ca88', '04:05:06.789'],
  ["TIMETZ '04:05:06+02:30'", '00000003 6c8b c080 ffff dcd8', '04:05:06+02:30'],
  ["TIMESTAMP '2000-01-01 00:00:01'", '00000000 000f4240', '2000-01-01 00:00:01'],
  ["TIMESTAMP '9999-12-31 23:59:59.999999'", '0380e70b913b7fff', '9999-12-31 23:59:59.999999'],
  ["TIMESTAMP '1999-12-31 23:59:59.5'", 'fffffffffff85ee0', '1999-12-31 23:59:59.5'],
  ["TIMESTAMP '-infinity'", '8000000000000000', '-infinity'],
  ["TIMESTAMPTZ '2000-01-01 01:00:00+01'", '0000000000000000', '2000-01-01 00:00:00+00'],
  [
    "INTERVAL '1 year 2 months 3 days 04:05:06'",
    '00000003 6c8b c080 00000003 0000000e',
    '1 year 2 mons 3 days 04:05:06',
  ],
  ["INTERVAL '-1 microsecond'", 'ffffffffffffffff 00000000 00000000', '-00:00:00.000001'],
  [
    "'0123e567-e89b-12d3-a456-426614174000'::UUID",
    '0123e567e89b12d3a456426614174000',
    '0123e567-e89b-12d3-a456-426614174000',
  ],
  ["'10110'::BIT", '00000005 b0', '10110'],
  [
    '[1, NULL]::INTEGER[]',
    '00000001 00000001 00000017 00000002 00000001 00000004 00000001 ffffffff',
    '{1,NULL}',
  ],
  ['[]::INTEGER[]', '00000000 00000000 00000017', '{}'],
  [
    '[[1, 2], [3, 4]]::INTEGER[][]',
    `00000002 00000000 00000017 00000002 00000001 00000002 00000001 ${[1, 2, 3, 4].map((n) => `00000004 0000000${n}`).join(' ')}`,
    '{{1,2},{3,4}}',
  ],
  ["{'a': 1}", '7b2261223a317d', '{"a":1}'],
  ['NULL::INTEGER', 'null', 'null'],
]

describe('a value', () => {
  for (const [sql, binary, asText] of VALUES) {
    test(`${sql} in both forms`, async () => {
      const inBinary = firstValue(await run({ sql: `SELECT ${sql}`, isBinary: true }))
      expect(inBinary?.toString('hex') ?? 'null').toBe(binary.replaceAll(' ', ''))
      const inText = firstValue(await run({ sql: `SELECT ${sql}` }))
      expect(inText?.toString() ?? 'null').toBe(asText)
    })
  }

  test('lists of lists of different lengths have a text, and no binary form', async () => {
    const sql = 'SELECT [[1], [2, 3]]::INTEGER[][]'
    expect(firstValue(await run({ sql }))?.toString()).toBe('{{1},{2,3}}')
    const refused = await run({ sql, isBinary: true })
    expect(refused.map(({ body }) => String(body)).join()).toContain('no binary form')
  })
})

/** PostgreSQL's type, the binary form, and the text that is returned for it. */
const PARAMETERS: readonly (readonly [number, string, string])[] = [
  [16, '01', 't'],
  [20, 'fffffffed5fa0e00', '-5000000000'],
  [21, 'fffe', '-2'],
  [23, '00011170', '70000'],
  [25, '27 5c 27', "'\\'"],
  [17, 'ab005c', '\\xab005c'],
  [700, '3fc00000', '1.5'],
  [701, '7ff0000000000000', 'Infinity'],
  [1082, 'fffffecd', '1999-02-28'],
  [1082, '7fffffff', 'infinity'],
  [1083, '000000036c97ca88', '04:05:06.789'],
  [1114, '00000000000f4240', '2000-01-01 00:00:01'],
  [1184, '0000000000000000', '2000-01-01 00:00:00+00'],
  [1186, '000000036c8bc080 00000003 0000000e', '1 year 2 mons 3 days 04:05:06'],
  [1266, '000000036c8bc080 ffffdcd8', '04:05:06+02:30'],
  [1700, '0003 0001 0000 0003 0001 0929 1a7c', '12345.678'],
  [2950, '0123e567e89b12d3a456426614174000', '0123e567-e89b-12d3-a456-426614174000'],
  [3802, '01 7b2261223a317d', '{"a":1}'],
  [1007, '00000001 00000001 00000017 00000002 00000001 00000004 00000001 ffffffff', '{1,NULL}'],
  [1009, '00000001 00000000 00000019 00000001 00000001 00000003 615c22', '{"a\\\\\\""}'],
]

describe('a parameter', () => {
  for (const [oid, digits, expected] of PARAMETERS) {
    test(`of type ${oid}, ${digits}`, async () => {
      const found = firstValue(await run({ sql: 'SELECT $1', oid, parameter: hex(digits) }))
      expect(found?.toString()).toBe(expected)
    })
  }

  test('whose bytes do not fit its type is refused, and the connection goes on', async () => {
    for (const [oid, digits] of [
      [20, '01'],
      [1082, ''],
      [1700, '0001'],
      [1007, '00000001 00000000 00000017 00007fff'],
      [1082, '7ffffff0'],
    ] as const) {
      const answer = await run({ sql: 'SELECT $1', oid, parameter: hex(digits) })
      expect([oid, String(answer.find(({ kind }) => kind === 'E')?.body)]).toEqual([
        oid,
        expect.stringContaining('do not fit'),
      ])
    }
  })

  test('bytes without a type are a text where they can be, and a BLOB elsewhere', async () => {
    await withClient(open, async (client) => {
      await client.query('CREATE TABLE bytes (a BLOB)')
      const bytes = Buffer.from([0, 255, 92, 39])
      await client.query('INSERT INTO bytes VALUES ($1)', [bytes])
      expect((await client.query('SELECT a FROM bytes')).rows).toEqual([{ a: bytes }])
    })
  })

  test('takes the type of the column that it is compared with or stored in', async () => {
    await withClient(open, (client) =>
      client.query('CREATE TABLE typed (n INTEGER, d DATE, s VARCHAR)'),
    )
    const cases: readonly (readonly [string, readonly number[]])[] = [
      ['SELECT s FROM typed WHERE n < $1 AND d = $2 AND s = $3', [23, 1082, 25]],
      ['SELECT s FROM typed WHERE typed.n BETWEEN $1 AND $2', [23, 23]],
      ['SELECT s FROM typed WHERE "n" IN ($1, $2, $3)', [23, 23, 23]],
      ['INSERT INTO typed (d, n) VALUES ($1, $2), ($3, $4)', [1082, 23, 1082, 23]],
      ['INSERT INTO typed VALUES ($1, $2, $3)', [23, 1082, 25]],
      ['UPDATE typed SET s = $1, n = $2 WHERE d <> $3', [25, 23, 1082]],
      ['SELECT id FROM teas WHERE content = $1 AND price < $2 LIMIT $3', [25, 20, 20]],
      ['SELECT $1::DATE FROM typed WHERE nothing = $2', [1082, 25]],
    ]
    for (const [sql, oids] of cases) {
      const client = await RawClient.started(open.port)
      client.send(
        message('P', text('s'), text(sql), int16(0)),
        message('D', Buffer.from('S'), text('s')),
        SYNC,
      )
      const answer = (await client.until('Z')).find(({ kind }) => kind === 't')
      const found = oids.map((_, index) => answer?.body.readInt32BE(2 + index * 4))
      expect([sql, found]).toEqual([sql, [...oids]])
      client.close()
    }
  })
})

const NOTHING = { kind: 'E', body: Buffer.alloc(0) }

describe('COPY', () => {
  async function copied(sql: string): Promise<{ kinds: string; bytes: Buffer; response: Buffer }> {
    const client = await RawClient.started(open.port)
    client.send(message('Q', text(sql)))
    const received = await client.until('Z')
    client.close()
    const bytes = Buffer.concat(received.filter(({ kind }) => kind === 'd').map(({ body }) => body))
    const [first] = received
    const kinds = received.map(({ kind }) => kind).join('')
    return { kinds, bytes, response: first?.body ?? Buffer.alloc(0) }
  }

  test('writes rows in the binary form', async () => {
    const sql =
      'COPY (SELECT 7::INTEGER AS a, \'é\' AS b, NULL::DATE AS c) TO STDOUT (FORMAT "binary")'
    const { kinds, bytes, response } = await copied(sql)
    expect(kinds).toBe('HddcCZ')
    expect(response.toString('hex')).toBe('01 0003 0001 0001 0001'.replaceAll(' ', ''))
    expect(bytes.toString('hex')).toBe(
      [
        ['5047434f50590aff0d0a00', '00000000', '00000000'],
        ['0003', '00000004', '00000007', '00000002', 'c3a9', 'ffffffff'],
        ['ffff'],
      ]
        .flat()
        .join(''),
    )
  })

  test('writes values of frequent types as it writes those of rare ones', async () => {
    const columns = [
      'true AS a, NULL::BOOLEAN AS b, (-128)::TINYINT AS c, 65535::USMALLINT AS d, -7 AS e, 9007199254740993 AS f',
      "0.1::FLOAT AS g, 1e300::DOUBLE AS h, 'nan'::DOUBLE AS i, '-infinity'::DOUBLE AS j, (-1.5)::DECIMAL(9,2) AS k",
      "(-0.05)::DECIMAL(18,2) AS l, 12::DECIMAL(4,0) AS m, 0.1::DECIMAL(18,10) AS n, DATE '1500-02-03' AS o",
      "DATE '-infinity' AS p, TIMESTAMP '2024-01-02 03:04:05.1' AS q, TIMESTAMPTZ '2024-01-02 03:04:05+00' AS r, TIMESTAMPTZ '0044-03-15 (BC) 04:05:06.25+00' AS v",
      "TIMESTAMP '0001-01-01 00:00:00' AS s, 'a\tb\\c\r\nd é' AS t, '' AS u",
    ].join(', ')
    const fast = (await copied(`COPY (SELECT ${columns}) TO STDOUT`)).bytes.toString()
    // One list makes COPY write all columns the slow way.
    const slow = (await copied(`COPY (SELECT ${columns}, [1] AS z) TO STDOUT`)).bytes.toString()
    expect(slow).toBe(fast.replace('\n', '\t{1}\n'))
    expect(fast.split('\t').slice(0, 6)).toEqual([
      't',
      '\\N',
      '-128',
      '65535',
      '-7',
      '9007199254740993',
    ])
    expect(fast).toContain('\t-1.50\t-0.05\t12\t0.1000000000\t1500-02-03\t-infinity\t')
    expect(fast).toContain('\t2024-01-02 03:04:05.1\t2024-01-02 03:04:05+00\t')
    expect(fast).toEndWith('\ta\\tb\\\\c\\r\\nd é\t\n')
  })

  test('writes the same rows in the fast way and in the other, as CSV and in the binary form', async () => {
    const rows = `(1::SMALLINT, 2, 3::BIGINT, true, 1.5::FLOAT, -0.1::DOUBLE, 'a "b", c' || chr(10), DATE '1969-12-31',
      TIMESTAMP '1969-12-31 23:59:59.5', TIMESTAMPTZ 'infinity', 10000.05::DECIMAL(18,4), -0.05::DECIMAL(4,2)),
      (NULL, NULL, -9223372036854775808, false, 'inf', 'nan', '', DATE '-infinity', TIMESTAMP '290000-01-01 00:00:00',
      TIMESTAMPTZ '2026-01-02 03:04:05Z', -99999999999999.9999, 0)`
    const names = 'a, b, c, d, e, f, g, h, i, j, k, l'
    const written = async (format: string, columns: string) => {
      const select = `SELECT ${columns} FROM (VALUES ${rows}) AS t(${names})`
      const { kinds, bytes } = await copied(`COPY (${select}) TO STDOUT (FORMAT ${format})`)
      expect(kinds).toBe(`H${'d'.repeat(format === 'csv' ? 2 : 3)}cCZ`)
      return bytes.toString(format === 'csv' ? 'utf8' : 'hex')
    }
    const csv = await written('csv', names)
    expect(csv.replaceAll(/,?\n(?=$|,)/g, '\n')).toBe(
      // Stored documents that are chunked again keep all white space and metadata.
      (await written('csv', `${names}, [] AS z`)).replaceAll(',{}\n', '\n'),
    )
    expect(csv).toStartWith('1,2,3,t,1.5,-0.1,"a ""b"", c\n",1969-12-31,1969-12-31 23:59:59.5,')
    const binary = await written('binary', names)
    const slow = await written('binary', `${names}, 7::TINYINT AS z`)
    expect(binary.replaceAll('000cffffffff', '000dffffffff').replace('000c', '000d')).toBe(
      slow.replaceAll('000000020007', ''),
    )
  })

  test('says how many rows are stored if a later one is malformed', async () => {
    const client = await RawClient.started(open.port)
    client.send(message('Q', text('CREATE TABLE numbers (a INTEGER, b INTEGER)')))
    await client.until('Z')
    client.send(message('Q', text('COPY numbers FROM STDIN')))
    await client.until('G')
    client.send(message('d', Buffer.from(`${'1\t2\n'.repeat(3000)}7\n`)), message('c'))
    const failed = (await client.until('Z')).find(({ kind }) => kind === 'E') ?? NOTHING
    expect(failureOf(failed).M).toBe(
      'COPY: row 3001 has 1 value, not 2; the first 2571 rows are stored',
    )
    client.close()
  })

  test('reads the binary form however it is split, and refuses bytes that are not it', async () => {
    const client = await RawClient.started(open.port)
    client.send(message('Q', text('CREATE TABLE pairs (a INTEGER, b VARCHAR[])')))
    await client.until('Z')
    const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
    const list = Buffer.from('00000001000000000000001900000001000000010000000178', 'hex')
    const row = [int16(2), int32(4), int32(7), int32(list.length), list]
    const sent = async (bytes: Buffer, pieceBytes: number) => {
      client.send(message('Q', text('COPY pairs FROM STDIN (FORMAT binary)')))
      await client.until('G')
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        client.send(message('d', bytes.subarray(at, at + pieceBytes)))
      }
      client.send(message('c'))
      return failureOf((await client.until('Z')).find(({ kind }) => kind === 'E') ?? NOTHING).M
    }
    const bare = Buffer.concat([header, ...row, ...row])
    const whole = Buffer.concat([bare, int16(-1)])
    for (const bytes of [whole, bare]) expect(await sent(bytes, 7)).toBeUndefined()
    expect(await sent(whole, 1)).toBeUndefined()
    expect(await sent(bare.subarray(0, -1), 1000)).toBe('COPY: the data ends too early')
    expect(await sent(Buffer.from('7\t{x}\n'.repeat(9)), 1000)).toContain('does not begin as')
    const short = Buffer.concat([header, int16(1), int32(4), int32(7), int16(-1)])
    expect(await sent(short, 1000)).toBe('COPY: row 1 has 1 value, not 2')
    const negative = Buffer.concat([header, int16(2), int32(-5), int32(0)])
    expect(await sent(negative, 1000)).toBe('COPY: a value has -5 bytes')
    client.send(message('Q', text("SELECT count(*) FROM pairs WHERE a = 7 AND b = ['x']")))
    const stored = (await client.until('Z')).find(({ kind }) => kind === 'D')
    expect(stored?.body.toString('utf8', 6)).toBe('6')
    client.close()
  })

  test('a row whose text is long is one message', async () => {
    const sql =
      "COPY (SELECT repeat('x', 300000) || i AS s FROM range(5) t(i) ORDER BY i) TO STDOUT"
    const { kinds, bytes } = await copied(sql)
    expect([kinds, bytes.length]).toEqual(['HdddddcCZ', 5 * 300_002])
  })

  test('escapes what would end a cell or a line', async () => {
    const sql = "SELECT 'a\tb\nc\\d|e' AS x, '' AS y, NULL AS z"
    expect((await copied(`COPY (${sql}) TO STDOUT`)).bytes.toString()).toBe(
      'a\\tb\\nc\\\\d|e\t\t\\N\n',
    )
    const piped = await copied(`COPY (${sql}) TO STDOUT (DELIMITER '|')`)
    expect(piped.bytes.toString()).toBe('a\\tb\\nc\\\\d\\|e||\\N\n')
    const csv = await copied(`COPY (${sql}) TO STDOUT (FORMAT csv, HEADER)`)
    expect(csv.bytes.toString()).toBe('x,y,z\n"a\tb\nc\\d|e","",\n')
  })
})

describe('a statement that reads the catalog and data', () => {
  test('joins both', async () => {
    await withClient(open, async (client) => {
      const { rows } = await client.query(
        `SELECT c.relname, (SELECT count(*) FROM teas WHERE content = 'caffeine')::INT AS found, t.id
         FROM pg_catalog.pg_class c JOIN teas t ON c.oid = 'teas'::regclass WHERE t.price < 6`,
      )
      expect(rows).toEqual([{ relname: 'teas', found: 2, id: '2' }])
      const counted = await client.query(
        'SELECT (SELECT count(*) FROM pg_attribute WHERE attrelid > 0)::INT > 5 AS many, count(*)::INT AS n FROM teas',
      )
      expect(counted.rows).toEqual([{ many: true, n: 2 }])
    })
  })

  test('says what is missing where neither has it', async () => {
    await withClient(open, async (client) => {
      const failure = await client.query('SELECT * FROM pg_class, nowhere').catch((e) => e)
      expect([failure.code, failure.message]).toEqual(['42P01', expect.stringContaining('nowhere')])
    })
  })
})
