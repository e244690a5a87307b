import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { BoundValue } from '../../src/core/domain/ports/engine-ports.ts'
import type { ResultValue } from '../../src/core/domain/query-result.ts'
import type { Store } from '../../src/store/store.ts'
import { failureOf, openMemoryStore, rowsOf } from '../support/store-fixture.ts'

let store: Store

beforeAll(async () => {
  store = await openMemoryStore()
})

afterAll(() => store.close())

const CONVERSIONS: readonly (readonly [string, ResultValue, string])[] = [
  ['NULL', null, 'INTEGER'],
  ['true', true, 'BOOLEAN'],
  ['1::TINYINT', 1, 'TINYINT'],
  ['4294967295::UINTEGER', 4294967295, 'UINTEGER'],
  ['9007199254740992', 2 ** 53, 'BIGINT'],
  ['-9007199254740992', -(2 ** 53), 'BIGINT'],
  ['9007199254740993', '9007199254740993', 'BIGINT'],
  ['-9007199254740993', '-9007199254740993', 'BIGINT'],
  ['-9223372036854775808', '-9223372036854775808', 'BIGINT'],
  ['18446744073709551615::UBIGINT', '18446744073709551615', 'UBIGINT'],
  ['7::HUGEINT', 7, 'HUGEINT'],
  ['sum(9007199254740992)', 2 ** 53, 'HUGEINT'],
  ['sum(-9007199254740993)', '-9007199254740993', 'HUGEINT'],
  ['7::UHUGEINT', 7, 'UHUGEINT'],
  ['340282366920938463463374607431768211455::UHUGEINT', `${2n ** 128n - 1n}`, 'UHUGEINT'],
  ['7::BIGNUM', 7, 'BIGNUM'],
  ['9007199254740993::BIGNUM', '9007199254740993', 'BIGNUM'],
  ['1.25::DECIMAL(9,2)', 1.25, 'DECIMAL(9,2)'],
  ['0.1::FLOAT', Math.fround(0.1), 'FLOAT'],
  ['0.1::DOUBLE', 0.1, 'DOUBLE'],
  ["'nan'::DOUBLE", null, 'DOUBLE'],
  ["'-inf'::FLOAT", null, 'FLOAT'],
  ["'text é😀'", 'text é😀', 'VARCHAR'],
  ["DATE '2024-02-29'", '2024-02-29', 'DATE'],
  ["'-infinity'::DATE", '-infinity', 'DATE'],
  ["TIME '01:02:03.4'", '01:02:03.400000', 'TIME'],
  ["TIMESTAMP '2024-02-29 01:02:03.000004'", '2024-02-29 01:02:03.000004', 'TIMESTAMP'],
  ["TIMESTAMP '1969-12-31 23:59:59.999999'", '1969-12-31 23:59:59.999999', 'TIMESTAMP'],
  ["'infinity'::TIMESTAMP", 'infinity', 'TIMESTAMP'],
  ["'-infinity'::TIMESTAMP", '-infinity', 'TIMESTAMP'],
  [
    "TIMESTAMPTZ '2024-01-01 00:00:00+02'",
    '2023-12-31 22:00:00.000000',
    'TIMESTAMP WITH TIME ZONE',
  ],
  ["TIMESTAMP_S '2024-01-01 00:00:01'", '2024-01-01 00:00:01.000000', 'TIMESTAMP_S'],
  ["TIMESTAMP_MS '2024-01-01 00:00:01.5'", '2024-01-01 00:00:01.500000', 'TIMESTAMP_MS'],
  ["TIMESTAMP_NS '1969-12-31 23:59:59.999999999'", '1969-12-31 23:59:59.999999', 'TIMESTAMP_NS'],
  ["INTERVAL '1 month 2 days'", '1 month 2 days', 'INTERVAL'],
  ["'\\x00\\xFF'::BLOB", 'AP8=', 'BLOB'],
  ["'101'::BIT", '101', 'BIT'],
  ["'8b1a9953-c461-4296-a827-abf8c47804d7'::UUID", '8b1a9953-c461-4296-a827-abf8c47804d7', 'UUID'],
  ["'a'::ENUM('a', 'b')", 'a', "ENUM('a', 'b')"],
  ['[1, NULL, 3]', [1, null, 3], 'INTEGER[]'],
  ['[0.5, 1]::FLOAT[2]', [0.5, 1], 'FLOAT[2]'],
  ["[DATE '2024-01-01']", ['2024-01-01'], 'DATE[]'],
  ["{'a': 1, 'b': [9007199254740993]}", { a: 1, b: ['9007199254740993'] }, ''],
  ['row(1, NULL, row(2, 3::HUGEINT))', [1, null, [2, 3]], ''],
  ["[row(1, 'a')]", [[1, 'a']], ''],
  [
    "{'a': row(9007199254740993, 2), 'b': [row(3, [row(4, 5)])]}",
    { a: ['9007199254740993', 2], b: [[3, [[4, 5]]]] },
    '',
  ],
  ['MAP {row(1, 2): row(3, 4)}', { '[1,2]': [3, 4] }, ''],
  ['MAP {1: [7::HUGEINT]}', { '1': [7] }, ''],
  ['union_value(pair := row(1, 2))', { pair: [1, 2] }, ''],
  [
    'array_value(row(1, 2), row(3, 4))',
    [
      [1, 2],
      [3, 4],
    ],
    '',
  ],
  [`from_json('{"a":1,"A":2}', '{"a":"INT","A":"INT"}')`, { a: 1, A: 2 }, ''],
  ["{'__proto__': 1, '0': 2}", JSON.parse('{"__proto__":1,"0":2}'), ''],
  ['NULL::STRUCT(a INT)', null, ''],
  [
    `'[9007199254740992,-9007199254740992,9007199254740993,{"a":-9007199254740993}]'::JSON`,
    [2 ** 53, -(2 ** 53), '9007199254740993', { a: '-9007199254740993' }],
    'JSON',
  ],
  ["MAP {'k': 1.5::DOUBLE, '2': NULL}", { k: 1.5, '2': null }, ''],
  ["union_value(n := 'x')", { n: 'x' }, ''],
  [`'{"a":1.0,"b":[12345678901234567890]}'::JSON`, { a: 1, b: ['12345678901234567890'] }, 'JSON'],
  ["'null'::JSON", null, 'JSON'],
  [`['[1]'::JSON]`, [[1]], 'JSON[]'],
]

describe('a value as JSON', () => {
  test.each(CONVERSIONS)('%s', async (sql, expected, type) => {
    const { signal } = new AbortController()
    const statement = { sql: `SELECT ${sql} AS v`, values: {} }
    const { columns, batches } = await store.engine.run(statement, { timeoutMs: 5000 }, signal)
    const rows = await Array.fromAsync(batches)
    expect(rows).toEqual([[[expected]]])
    if (type !== '') expect(columns).toEqual([{ name: 'v', type }])
  })
})

const BOUND: readonly (readonly [BoundValue, string, ResultValue])[] = [
  [null, '"NULL"', null],
  [true, 'BOOLEAN', true],
  [1, 'INTEGER', 1],
  [2 ** 40, 'BIGINT', 2 ** 40],
  [1.5, 'DOUBLE', 1.5],
  [5n, 'BIGINT', 5],
  [2n ** 100n, 'HUGEINT', (2n ** 100n).toString()],
  ["it's", 'VARCHAR', "it's"],
  ['a\0b', 'VARCHAR', 'a\0b'],
  [Float32Array.from([1, 0.5]), 'FLOAT[2]', [1, 0.5]],
  [[1, 2], 'INTEGER[]', [1, 2]],
  [[1, 2.5, null], 'DOUBLE[]', [1, 2.5, null]],
  [['a', 1, true], 'VARCHAR[]', ['a', '1', 'true']],
  [[[1], [2.5]], 'DOUBLE[][]', [[1], [2.5]]],
]

describe('a bound value', () => {
  test.each(BOUND)('%p is bound as %s', async (value, type, expected) => {
    const rows = await rowsOf(store, 'SELECT typeof($v), $v', { v: value })
    expect(rows).toEqual([[type, expected]])
  })

  test('an empty list goes with every type', async () => {
    const rows = await rowsOf(store, "SELECT 1 IN $v, 'a' IN $v", { v: [] })
    expect(rows).toEqual([[false, false]])
  })

  test('an integer of more than 127 bits is refused', async () => {
    const failure = await failureOf(rowsOf(store, 'SELECT $v', { v: 2n ** 127n }))
    expect(failure.code).toBe('invalid_request')
  })
})
