/**
 * The golden table of PostgreSQL's types: the value in responses, and the value that DuckDB reads.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { testPostgres } from '../../support/database-servers.ts'
import {
  dataSource,
  expectTypes,
  LIMITS,
  readRows,
  type TypeCase,
  testSources,
} from '../../support/test-sources.ts'

const server = await testPostgres()
const { sources, close } = testSources()
const source = dataSource('postgres', server?.parameters ?? {})
const signal = new AbortController().signal

afterAll(async () => {
  await close()
  await server?.stop()
})

const TYPES_OF_USERS = `CREATE TYPE mood AS ENUM ('sad', 'it''s ok');
  CREATE DOMAIN price AS numeric(6,2) CHECK (VALUE > 0);
  CREATE DOMAIN code AS text;
  CREATE TYPE pair AS (a int, b text)`

const NUMBERS: readonly TypeCase[] = [
  ['boolean', 'true', 'BOOLEAN', true, 'true'],
  ['smallint', '-32768', 'SMALLINT', -32_768, '-32768'],
  ['integer', '2147483647', 'INTEGER', 2_147_483_647, '2147483647'],
  ['bigint', '9007199254740992', 'BIGINT', 9_007_199_254_740_992, '9007199254740992'],
  ['bigint', '-9223372036854775808', 'BIGINT', '-9223372036854775808', '-9223372036854775808'],
  ['oid', '4294967295', 'UINTEGER', 4_294_967_295, '4294967295'],
  ['real', '0.1', 'FLOAT', 0.100_000_001_490_116_12, '0.1'],
  ['double precision', '0.1', 'DOUBLE', 0.1, '0.1'],
  ['double precision', 'NaN', 'DOUBLE', null, 'nan'],
  ['double precision', '-Infinity', 'DOUBLE', null, '-inf'],
  ['numeric(10,3)', '1.125', 'DECIMAL(10,3)', 1.125, '1.125'],
  [
    'numeric(38,0)',
    '99999999999999999999999999999999999999',
    'DECIMAL(38,0)',
    1e38,
    '9'.repeat(38),
  ],
  ['numeric(10,3)', 'NaN', 'DECIMAL(10,3)', null, null],
  ['numeric(5,-2)', '12345', 'DECIMAL(7,0)', 12_300, '12300'],
  ['numeric(3,5)', '0.00123', 'DECIMAL(5,5)', 0.00123, '.00123'],
  ['numeric(39,1)', '1.5', 'VARCHAR', '1.5', '1.5'],
  [
    'numeric',
    '12345678901234567890.123456789',
    'DOUBLE',
    12_345_678_901_234_567_000,
    '1.2345678901234567e+19',
  ],
  ['numeric', '-Infinity', 'DOUBLE', null, '-inf'],
  ['numeric', 'NaN', 'DOUBLE', null, 'nan'],
  ['numeric', `1${'0'.repeat(400)}`, 'DOUBLE', null, 'inf'],
  ['money', '-1234.5', 'VARCHAR', '-$1,234.50', '-$1,234.50'],
  ['price', '3.5', 'DECIMAL(6,2)', 3.5, '3.50'],
]

const TIMES: readonly TypeCase[] = [
  ['date', '2024-02-29', 'DATE', '2024-02-29', '2024-02-29'],
  ['date', '0044-03-15 BC', 'DATE', '0044-03-15 (BC)', '0044-03-15 (BC)'],
  ['date', 'infinity', 'DATE', 'infinity', 'infinity'],
  ['date', '5874897-12-31', 'DATE', '5874897-12-31', '5874897-12-31'],
  ['time', '24:00:00', 'TIME', '24:00:00.000000', '24:00:00'],
  ['time', '01:02:03.4', 'TIME', '01:02:03.400000', '01:02:03.4'],
  ['timetz', '12:00:00.5+05:30', 'TIME WITH TIME ZONE', '12:00:00.5+05:30', '12:00:00.5+05:30'],
  [
    'timestamp',
    '2024-05-06 07:08:09.123456',
    'TIMESTAMP',
    '2024-05-06 07:08:09.123456',
    '2024-05-06 07:08:09.123456',
  ],
  [
    'timestamp',
    '0044-03-15 12:00:00 BC',
    'TIMESTAMP',
    '-000043-03-15 12:00:00.000000',
    '0044-03-15 (BC) 12:00:00',
  ],
  ['timestamp', '-infinity', 'TIMESTAMP', '-infinity', '-infinity'],
  [
    'timestamp',
    '12024-01-01',
    'TIMESTAMP',
    '+012024-01-01 00:00:00.000000',
    '12024-01-01 00:00:00',
  ],
  [
    'timestamptz',
    '2024-05-06 07:08:09+02',
    'TIMESTAMP WITH TIME ZONE',
    '2024-05-06 05:08:09.000000',
    '2024-05-06 05:08:09+00',
  ],
  [
    'timestamptz',
    '0044-03-15 12:00:00+00 BC',
    'TIMESTAMP WITH TIME ZONE',
    '-000043-03-15 12:00:00.000000',
    '0044-03-15 (BC) 12:00:00+00',
  ],
  [
    'interval',
    '1 year -2 mons +3 days -04:05:06.7',
    'INTERVAL',
    '10 months 3 days -04:05:06.7',
    '10 months 3 days -04:05:06.7',
  ],
  ['interval', '-1 year -1 day', 'INTERVAL', '-1 year -1 day', '-1 year -1 day'],
  ['interval', '0', 'INTERVAL', '00:00:00', '00:00:00'],
]

const TEXTS: readonly TypeCase[] = [
  [
    'text',
    'new\nline "q", \\ ü\t\r\n;',
    'VARCHAR',
    'new\nline "q", \\ ü\t\r\n;',
    'new\nline "q", \\ ü\t\r\n;',
  ],
  ['text', '', 'VARCHAR', '', ''],
  ['text', 'NULL', 'VARCHAR', 'NULL', 'NULL'],
  ['text', '\\.', 'VARCHAR', '\\.', '\\.'],
  ['text', '  spaces  ', 'VARCHAR', '  spaces  ', '  spaces  '],
  ['varchar(5)', '😀é', 'VARCHAR', '😀é', '😀é'],
  ['char(5)', 'ab', 'VARCHAR', 'ab', 'ab'],
  ['name', 'n', 'VARCHAR', 'n', 'n'],
  ['code', 'c', 'VARCHAR', 'c', 'c'],
  ['mood', "it's ok", 'VARCHAR', "it's ok", "it's ok"],
  [
    'uuid',
    'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11',
    'UUID',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  ],
  [
    'json',
    '{"a": 12345678901234567890}',
    'JSON',
    { a: '12345678901234567890' },
    '{"a": 12345678901234567890}',
  ],
  ['jsonb', '[1, null, "x"]', 'JSON', [1, null, 'x'], '[1, null, "x"]'],
  ['bytea', '\\x00ff10', 'BLOB', 'AP8Q', '\\x00\\xFF\\x10'],
  ['bytea', '', 'BLOB', '', ''],
  ['bit(4)', '1010', 'VARCHAR', '1010', '1010'],
  ['bit varying', '101', 'VARCHAR', '101', '101'],
  ['inet', '10.0.0.1/8', 'VARCHAR', '10.0.0.1/8', '10.0.0.1/8'],
  ['macaddr', '08:00:2b:01:02:03', 'VARCHAR', '08:00:2b:01:02:03', '08:00:2b:01:02:03'],
  ['int4range', '[1,5]', 'VARCHAR', '[1,6)', '[1,6)'],
  ['tsvector', 'fat cat', 'VARCHAR', "'cat' 'fat'", "'cat' 'fat'"],
  ['xml', '<a>x</a>', 'VARCHAR', '<a>x</a>', '<a>x</a>'],
  ['point', '(1,2)', 'VARCHAR', '(1,2)', '(1,2)'],
  ['pair', '(1,"a b")', 'VARCHAR', '(1,"a b")', '(1,"a b")'],
]

const LISTS: readonly TypeCase[] = [
  ['int[]', '{1,NULL,3}', 'INTEGER[]', [1, null, 3], '[1, NULL, 3]'],
  ['int[]', '{}', 'INTEGER[]', [], '[]'],
  ['int[]', '[0:1]={5,6}', 'INTEGER[]', [5, 6], '[5, 6]'],
  [
    'text[][]',
    '{{a,"b\\"c"},{NULL,"x,y{}"}}',
    'VARCHAR[][]',
    [
      ['a', 'b"c'],
      [null, 'x,y{}'],
    ],
    `[[a, 'b"c'], [NULL, 'x,y{}']]`,
  ],
  [
    'text[]',
    '{"NULL","","back\\\\slash"}',
    'VARCHAR[]',
    ['NULL', '', 'back\\slash'],
    "['NULL', '', back\\slash]",
  ],
  ['boolean[]', '{t,f}', 'BOOLEAN[]', [true, false], '[true, false]'],
  ['bytea[]', '{"\\\\x00ff",NULL}', 'BLOB[]', ['AP8=', null], '[\\x00\\xFF, NULL]'],
  ['numeric(5,2)[]', '{1.25,NaN}', 'DECIMAL(5,2)[]', [1.25, null], '[1.25, NULL]'],
  ['numeric[]', '{1.25,NaN}', 'DOUBLE[]', [1.25, null], '[1.25, nan]'],
  [
    'date[]',
    '{0044-03-15 BC,2024-01-02}',
    'DATE[]',
    ['0044-03-15 (BC)', '2024-01-02'],
    "['0044-03-15 (BC)', 2024-01-02]",
  ],
  [
    'timestamp[]',
    '{2024-01-02 03:04:05}',
    'TIMESTAMP[]',
    ['2024-01-02 03:04:05.000000'],
    "['2024-01-02 03:04:05']",
  ],
  ['interval[]', '{1 mon,-1 day}', 'INTERVAL[]', ['1 month', '-1 day'], '[1 month, -1 day]'],
  ['jsonb[]', '{"{\\"a\\": 1}"}', 'JSON[]', [{ a: 1 }], '[{"a": 1}]'],
  [
    'uuid[]',
    '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}',
    'UUID[]',
    ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    '[a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11]',
  ],
  ['mood[]', '{sad}', 'VARCHAR[]', ['sad'], '[sad]'],
]

const CASES = [...NUMBERS, ...TIMES, ...TEXTS, ...LISTS]

describe.skipIf(server === null)('types of PostgreSQL', () => {
  test('each becomes the type of DuckDB that holds it, read and staged', async () => {
    await server?.run(TYPES_OF_USERS)
    const columns = CASES.map(([type], index) => `c${index} ${type}`)
    const values = CASES.map(([, value]) => `'${value.replaceAll("'", "''")}'`)
    await server?.run(`CREATE TABLE odd (row int, ${columns.join(', ')})`)
    await server?.run(
      `INSERT INTO odd VALUES (1, ${values.join(', ')}), (2${', NULL'.repeat(CASES.length)})`,
    )

    const select = { sql: 'SELECT * FROM odd ORDER BY row', values: [] }
    await expectTypes({ sources, source }, select, CASES)
  })

  test('a list of other dimensions than its column says is refused, not shown as another', async () => {
    await server?.run("CREATE TABLE flat (a int[]); INSERT INTO flat VALUES ('{{1,2},{3,4}}')")
    const select = { sql: 'SELECT a FROM flat', values: [] }
    expect(readRows(sources, [source, select], LIMITS, signal)).rejects.toThrow(
      'Could not convert string',
    )
  })
})
