/**
 * The golden table of MySQL's and MariaDB's types: the value in responses, and the value that
 * DuckDB reads.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { testMariadb } from '../../support/database-servers.ts'
import { dataSource, expectTypes, type TypeCase, testSources } from '../../support/test-sources.ts'

const server = await testMariadb()
const { sources, close } = testSources()
const source = dataSource('mysql', server?.parameters ?? {})
const signal = new AbortController().signal

afterAll(async () => {
  await close()
  await server?.stop()
})

const NUMBERS: readonly TypeCase[] = [
  ['tinyint(1)', '2', 'TINYINT', 2, '2'],
  ['tinyint unsigned', '255', 'UTINYINT', 255, '255'],
  ['smallint', '-32768', 'SMALLINT', -32_768, '-32768'],
  ['smallint unsigned', '65535', 'USMALLINT', 65_535, '65535'],
  ['mediumint', '-8388608', 'INTEGER', -8_388_608, '-8388608'],
  ['int unsigned', '4294967295', 'UINTEGER', 4_294_967_295, '4294967295'],
  ['bigint', '-9223372036854775808', 'BIGINT', '-9223372036854775808', '-9223372036854775808'],
  [
    'bigint unsigned',
    '18446744073709551615',
    'UBIGINT',
    '18446744073709551615',
    '18446744073709551615',
  ],
  ['decimal(10,2)', '-1.25', 'DECIMAL(10,2)', -1.25, '-1.25'],
  ['decimal(38,10) unsigned', '1.5', 'DECIMAL(38,10)', 1.5, '1.5000000000'],
  [
    'decimal(65,30)',
    '1.5',
    'VARCHAR',
    '1.500000000000000000000000000000',
    '1.500000000000000000000000000000',
  ],
  ['float', '0.5', 'FLOAT', 0.5, '0.5'],
  ['double', '0.1', 'DOUBLE', 0.1, '0.1'],
  ['bit(1)', "b'1'", 'BOOLEAN', true, 'true'],
  [
    'bit(64)',
    "b'1000000000000000000000000000000000000000000000000000000000000001'",
    'UBIGINT',
    '9223372036854775809',
    '9223372036854775809',
  ],
  ['year', '2155', 'SMALLINT', 2155, '2155'],
]

const TIMES: readonly TypeCase[] = [
  ['date', "'2024-02-29'", 'DATE', '2024-02-29', '2024-02-29'],
  ['date', "'0000-00-00'", 'DATE', null, null],
  ['date', "'2024-00-10'", 'DATE', null, null],
  [
    'datetime',
    "'9999-12-31 23:59:59'",
    'TIMESTAMP',
    '9999-12-31 23:59:59.000000',
    '9999-12-31 23:59:59',
  ],
  [
    'datetime(6)',
    "'2024-01-02 03:04:05.000600'",
    'TIMESTAMP',
    '2024-01-02 03:04:05.000600',
    '2024-01-02 03:04:05.0006',
  ],
  ['datetime', "'0000-00-00 00:00:00'", 'TIMESTAMP', null, null],
  [
    'timestamp null',
    "'2024-01-02 03:04:05'",
    'TIMESTAMP WITH TIME ZONE',
    '2024-01-02 03:04:05.000000',
    '2024-01-02 03:04:05+00',
  ],
  ['time', "'838:59:59'", 'INTERVAL', '838:59:59', '838:59:59'],
  ['time(6)', "'-01:02:03.500000'", 'INTERVAL', '-01:02:03.5', '-01:02:03.5'],
]

const TEXTS: readonly TypeCase[] = [
  [
    'varchar(50)',
    '\'new\\nline "q", \\\\ ü\\t;\'',
    'VARCHAR',
    'new\nline "q", \\ ü\t;',
    'new\nline "q", \\ ü\t;',
  ],
  ['varchar(50)', "''", 'VARCHAR', '', ''],
  ['varchar(50)', "'NULL'", 'VARCHAR', 'NULL', 'NULL'],
  ['varchar(50) character set latin1', "'é'", 'VARCHAR', 'é', 'é'],
  ['text character set utf16', "'😀'", 'VARCHAR', '😀', '😀'],
  ['char(5)', "'ab'", 'VARCHAR', 'ab', 'ab'],
  ['longtext', "'x'", 'VARCHAR', 'x', 'x'],
  ["enum('a','b ''c')", "'b ''c'", 'VARCHAR', "b 'c", "b 'c"],
  ["set('a','b','c')", "'c,a'", 'VARCHAR', 'a,c', 'a,c'],
  ['json', '\'{"a": [1, null]}\'', 'JSON', { a: [1, null] }, '{"a": [1, null]}'],
  ['blob', "x'00ff10'", 'BLOB', 'AP8Q', '\\x00\\xFF\\x10'],
  ['varbinary(10)', "x'ff'", 'BLOB', '/w==', '\\xFF'],
  ['binary(3)', "x'01'", 'BLOB', 'AQAA', '\\x01\\x00\\x00'],
  [
    'uuid',
    "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    'UUID',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  ],
  ['inet6', "'::1'", 'VARCHAR', '::1', '::1'],
]

const CASES = [...NUMBERS, ...TIMES, ...TEXTS]

describe.skipIf(server === null)('types of MariaDB', () => {
  test('each becomes the type of DuckDB that holds it, read and staged', async () => {
    const columns = CASES.map(
      ([type], index) => `c${index} ${type}${/ null$/.test(type) ? '' : ' NULL'}`,
    )
    const values = CASES.map(([, value]) => value)
    await server?.run(`SET sql_mode = ''; CREATE TABLE odd (\`row\` int, ${columns.join(', ')}) CHARACTER SET utf8mb4;
      INSERT INTO odd VALUES (1, ${values.join(', ')}), (2${', NULL'.repeat(CASES.length)})`)

    const prepared = await sources.describe(source, 'SELECT * FROM odd', signal)
    expect(prepared.slice(1).map(({ type }) => type)).toEqual(CASES.map(([, , duckdb]) => duckdb))
    const select = { sql: 'SELECT * FROM odd WHERE `row` > ? ORDER BY `row`', values: [0] }
    await expectTypes({ sources, source }, select, CASES)
  })
})
