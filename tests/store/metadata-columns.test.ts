import { describe, expect, test } from 'bun:test'
import type { Row, RowValue } from '../../src/domain/document.ts'
import type { MetadataType } from '../../src/domain/knowledge-base.ts'
import { planMetadata, typeOfValue, widerType } from '../../src/store/documents/metadata-columns.ts'
import { failureOf } from '../support/store-fixture.ts'

const TYPES: readonly (readonly [RowValue, MetadataType | null])[] = [
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
    expect(typeOfValue(value)).toBe(type)
  })
})

test('numbers widen to DOUBLE, anything else to VARCHAR', () => {
  expect(widerType('BIGINT', 'DOUBLE')).toBe('DOUBLE')
  expect(widerType('BOOLEAN', 'BIGINT')).toBe('VARCHAR')
  expect(widerType('JSON', 'JSON')).toBe('JSON')
  expect(widerType('JSON', 'VARCHAR')).toBe('VARCHAR')
})

test('names match without case, keep their first spelling and nulls add nothing', () => {
  const plan = planMetadata(
    [],
    [
      { Price: 1, PRICE: null },
      { price: 2.5, empty: null },
    ],
  )
  expect(plan.columns).toEqual([{ name: 'Price', type: 'DOUBLE', column: 'm1' }])
})

test('a widened column gets a number that was never used', () => {
  const first = planMetadata([], [{ a: 1, b: 'x' }]).columns
  const second = planMetadata(first, [{ A: 'text', c: true }])
  expect(second.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'a VARCHAR',
    'b VARCHAR',
    'c BOOLEAN',
  ])
  expect(second.widened.map(({ from, to }) => [from.column, to.column])).toEqual([['m1', 'm3']])
  const third = planMetadata(second.columns, [{ d: 1 }])
  expect(third.added).toEqual([{ name: 'd', type: 'BIGINT', column: 'm5' }])
})

test('more than 1000 columns are refused with the limit', async () => {
  const row: Row = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`c${index}`, 1]))
  const failure = await failureOf(Promise.resolve().then(() => planMetadata([], [row])))
  expect(failure.code).toBe('insert_failed')
  expect(failure.message).toContain('at most 1000; these rows would make it 1001')
})
