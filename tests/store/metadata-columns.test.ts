import { describe, expect, test } from 'bun:test'
import { type Row, type RowValue, TypedValue } from '../../src/core/domain/document.ts'
import { planMetadata, SeenColumns } from '../../src/store/documents/metadata-columns.ts'
import { failureOf } from '../support/store-fixture.ts'

function seen(...rows: readonly Row[]): SeenColumns {
  const columns = new SeenColumns()
  for (const row of rows) columns.add(row)
  return columns
}

/** Returns the type of a new column with these values, or null without values. */
function typeOf(...values: Row[string][]): string | null {
  return planMetadata([], seen(...values.map((value) => ({ a: value })))).columns[0]?.type ?? null
}

const TYPES: readonly (readonly [RowValue, string | null])[] = [
  [null, null],
  [true, 'BOOLEAN'],
  [0, 'BIGINT'],
  [-(2 ** 53) + 1, 'BIGINT'],
  [2 ** 53, 'DOUBLE'],
  [1.5, 'DOUBLE'],
  ['', 'VARCHAR'],
  ['2024-01-01', 'VARCHAR'],
  [[], 'JSON'],
  [{ a: null }, 'JSON'],
]

describe('the type of a value', () => {
  test.each(TYPES)('%j', (value, type) => {
    expect(typeOf(value)).toBe(type)
  })
})

test('a new column takes the type of more than half of its values, else text', () => {
  expect(typeOf(1, 2.5)).toBe('DOUBLE')
  expect(typeOf(1, 2, 'n/a')).toBe('BIGINT')
  expect(typeOf(1, 'n/a')).toBe('VARCHAR')
  expect(typeOf(true, 1, 'x')).toBe('VARCHAR')
  expect(typeOf([1], [2], 'x')).toBe('JSON')
  expect(typeOf(new TypedValue('DATE', '2024-01-01', null), 'soon', null)).toBe('VARCHAR')
  const half = new TypedValue('DECIMAL(4,1)', 9.5, null)
  expect(typeOf(half, new TypedValue('DECIMAL(4,2)', 1.25, null))).toBe('DECIMAL(18,2)')
})

/** Returns the type of a column after a value was added. */
function widened(type: string, value: Row[string], isDeclared = false): string | undefined {
  const column = { name: 'a', type, column: 'm1', ...(isDeclared ? { isDeclared } : {}) }
  return planMetadata([column], seen({ a: value })).columns[0]?.type
}

test('numbers and dates widen; what is of another kind changes nothing', () => {
  const typed = (type: string) => new TypedValue(type, 1, null)
  expect(widened('BIGINT', 2.5)).toBe('DOUBLE')
  expect(widened('SMALLINT', 70_000)).toBe('BIGINT')
  expect(widened('SMALLINT', 7)).toBe('SMALLINT')
  expect(widened('UTINYINT', typed('TINYINT'))).toBe('SMALLINT')
  expect(widened('UBIGINT', typed('BIGINT'))).toBe('HUGEINT')
  expect(widened('DECIMAL(10,2)', 9.99)).toBe('DECIMAL(10,2)')
  expect(widened('DECIMAL(10,2)', 9.999)).toBe('DECIMAL(18,3)')
  expect(widened('DECIMAL(10,2)', 1e300)).toBe('DOUBLE')
  expect(widened('DATE', typed('TIMESTAMP'))).toBe('TIMESTAMP')
  expect(widened('TIMESTAMP', typed('DATE'))).toBe('TIMESTAMP')
  expect(widened('INTEGER[]', typed('BIGINT[]'))).toBe('BIGINT[]')
  for (const type of ['BIGINT', 'BOOLEAN', 'DATE', 'VARCHAR', 'JSON', 'INTEGER[]']) {
    expect(widened(type, 'three')).toBe(type)
  }
  expect(widened('BIGINT', [1])).toBe('BIGINT')
})

test('a declared type stays', () => {
  expect(widened('BIGINT', 2.5, true)).toBe('BIGINT')
})

test('names match without case, keep their first spelling and nulls add nothing', () => {
  const plan = planMetadata([], seen({ Price: 1, PRICE: null }, { price: 2.5, empty: null }))
  expect(plan.columns).toEqual([{ name: 'Price', type: 'DOUBLE', column: 'm1' }])
})

test('a widened column gets a number that was never used', () => {
  const first = planMetadata([], seen({ a: 1, b: 'x' })).columns
  const second = planMetadata(first, seen({ A: 1.5, c: true }))
  expect(second.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'a DOUBLE',
    'b VARCHAR',
    'c BOOLEAN',
  ])
  expect(second.widened.map(({ from, to }) => [from.column, to.column])).toEqual([['m1', 'm3']])
  const third = planMetadata(second.columns, seen({ d: 1 }))
  expect(third.added).toEqual([{ name: 'd', type: 'BIGINT', column: 'm5' }])
})

test('more than 1000 columns are refused with the limit', async () => {
  const row: Row = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`c${index}`, 1]))
  const failure = await failureOf(Promise.resolve().then(() => planMetadata([], seen(row))))
  expect(failure.code).toBe('insert_failed')
  expect(failure.message).toContain('at most 1000; these rows would make it 1001')
})
