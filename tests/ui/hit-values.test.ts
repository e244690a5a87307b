import { expect, test } from 'bun:test'
import { hasMoreValues, valuesOf } from '../../src/ui/views/search/columns/hit-values.tsx'

test('values to filter by come before columns without one, and many of them can be unfolded', () => {
  const metadata = { a: null, b: 'x', tags: ['p', 'q', 'p'], info: { deep: 1 }, c: '', source: 's' }
  expect(valuesOf(metadata).map(({ name, value }) => `${name} ${value}`)).toEqual([
    ...['b x', 'tags p', 'tags q', 'a null'],
  ])
  expect(hasMoreValues(metadata)).toBe(false)
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`column_${at}`, at]))
  expect(hasMoreValues(many)).toBe(true)
})
