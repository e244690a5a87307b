import { expect, test } from 'bun:test'
import { isDefault, valuesWithDefaults } from '../../src/query/rows/assignments.ts'

const COLUMNS = ['a', 'b', 'c']
const DEFAULTS = new Map([
  ['a', '1'],
  ['b', "'x, y'"],
])

function replaced(source: string): string {
  return valuesWithDefaults(source, COLUMNS, DEFAULTS)
}

test('DEFAULT becomes the value of its column, or NULL', () => {
  expect(replaced('VALUES (DEFAULT, f(1, 2), default), (2, [1, 2], 3), (4, DEFAULT, 5)')).toBe(
    "VALUES ((1), f(1, 2), (NULL)), (2, [1, 2], 3), (4, ('x, y'), 5)",
  )
  expect(replaced('DEFAULT VALUES')).toBe("VALUES ((1), ('x, y'), (NULL))")
})

test('text that only looks like DEFAULT is unchanged', () => {
  for (const source of [
    'VALUES (\'DEFAULT\', "default", 1)',
    'VALUES (1, default + 1, 2)',
    'SELECT default FROM t',
    'VALUES (1, (DEFAULT), 2)',
  ]) {
    expect(replaced(source)).toBe(source)
  }
  expect([' Default ', 'default_', 'DEFAULT 1'].map(isDefault)).toEqual([true, false, false])
})
