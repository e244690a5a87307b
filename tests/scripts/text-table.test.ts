import { expect, test } from 'bun:test'
import { textTable } from '../../scripts/text-table.ts'

test('columns are aligned, numbers to the right, long cells cut to one line', () => {
  const rows = [
    ['a', 7, 'one\n  two'],
    [null, 12.34567, 'x'.repeat(20)],
  ]
  expect(textTable(['id', 'value', 'text'], rows, 10)).toBe(
    [
      '  id   value  text',
      '  ──  ──────  ──────────',
      '  a        7  one two',
      '  —   12.346  xxxxxxxxx…',
    ].join('\n'),
  )
})
