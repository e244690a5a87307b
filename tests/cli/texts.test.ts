import { expect, test } from 'bun:test'
import { filtersOf } from '../../src/cli/commands/search-command.ts'
import { fitting, ResultTable, type TableStyle } from '../../src/cli/result-table.ts'
import { splitStatements } from '../../src/cli/sql/statement-client.ts'
import {
  FlowingText,
  padded,
  safeLine,
  safeText,
  truncated,
  wrapped,
} from '../../src/cli/terminal-text.ts'

const STYLE: TableStyle = {
  columns: null,
  expanded: 'auto',
  isPlain: true,
  dim: (text) => text,
  bold: (text) => text,
}

function shown(
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
  style: Partial<TableStyle> = {},
): readonly string[] {
  const table = new ResultTable(names, { ...STYLE, ...style })
  return `${table.add(rows)}${table.end()}`.trimEnd().split('\n')
}

test('a table: numbers to the right, NULL shown, wide characters as wide as they are', () => {
  expect(
    shown(
      ['name', 'n'],
      [
        ['茶', 10],
        [null, 2.5],
        ['é', -1],
      ],
    ),
  ).toEqual([
    ' name |   n',
    '------+-----',
    ' 茶   |  10',
    ' NULL | 2.5',
    ' é    |  -1',
    '(3 rows)',
  ])
})

test('what would move the cursor is shown as text', () => {
  expect(shown(['a\x1b[2J'], [['x\ny\u202e\x07']])).toEqual([
    ' a\\x1b[2J',
    '----------------',
    ' x\\ny\\u202e\\x07',
    '(1 row)',
  ])
  expect(safeText('a\r\nb\x1b')).toBe('a\nb\\x1b')
  expect(safeLine('a\tb')).toBe('a\\tb')
})

test('rows are cut to the terminal, the widest columns first', () => {
  const lines = shown(['id', 'text'], [[1, 'x'.repeat(90)]], { columns: 40 })
  expect(lines[2]).toBe(`  1 | ${'x'.repeat(32)}…`)
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40)
  expect(fitting([3, 50, 60], 43)).toEqual([3, 20, 20])
  expect(fitting([50, 50, 50, 50], 20)).toBeNull()
})

test('too many columns become a record', () => {
  const names = Array.from({ length: 20 }, (_, index) => `column_${index}`)
  const lines = shown(names, [names], { columns: 60 })
  expect(lines[0]).toStartWith('-[ 1 ]-')
  expect(lines[2]).toBe('column_1  | column_1')
})

test('many rows come as they are read', () => {
  const table = new ResultTable(['i'], STYLE)
  const rows = (from: number) => Array.from({ length: 600 }, (_, index) => [from + index])
  expect(table.add(rows(0))).toBe('')
  expect(table.add(rows(600))).toContain('1199')
  expect(table.add([[1200]])).toBe(' 1200\n')
  expect(table.end()).toBe('(1201 rows)\n')
})

test('lines are cut between words, and within one that is too long', () => {
  expect(wrapped('one two three', 8)).toEqual(['one two', 'three'])
  expect(wrapped('日本語日本語', 5)).toEqual(['日本', '語日', '本語'])
  expect(truncated('日本語', 5)).toBe('日本…')
  expect(truncated('abc', 3)).toBe('abc')
  expect(padded('日', 4)).toBe('日  ')
})

test('statements end at semicolons outside of strings, names and comments', () => {
  expect(splitStatements('a \';\' ; b -- ; c\n; "d;" /* ; */; -- end\n')).toEqual({
    statements: ["a ';'", 'b -- ; c', '"d;" /* ; */'],
    rest: '',
  })
  expect(splitStatements("select 'it''s;'; select $x$ ; $x$")).toEqual({
    statements: ["select 'it''s;'"],
    rest: ' select $x$ ; $x$',
  })
  expect(splitStatements("select '\\'; x")).toEqual({ statements: ["select '\\'"], rest: ' x' })
  expect(splitStatements("select 'open; ")).toEqual({ statements: [], rest: "select 'open; " })
  expect(splitStatements(' ;; ').statements).toEqual([])
})

test('conditions of a search', () => {
  expect(filtersOf([])).toBeUndefined()
  expect(filtersOf(['price<8'])).toEqual({ price: { '<': 8 } })
  expect(filtersOf(['price >= 2', 'colour!=red', 'title ~ %tea%'])).toEqual({
    and: [{ price: { '>=': 2 } }, { colour: { not: 'red' } }, { title: { like: '%tea%' } }],
  })
  expect(filtersOf(['{"or": [{"a": 1}, {"b": 2}]}'])).toEqual({ or: [{ a: 1 }, { b: 2 }] })
  expect(filtersOf(['id="007"', 'x=007'])).toEqual({
    and: [{ id: { '=': '007' } }, { x: { '=': '007' } }],
  })
  expect(() => filtersOf(['price'])).toThrow('is not a condition')
  expect(() => filtersOf(['{bad'])).toThrow('this is not JSON')
})

test('text that comes in pieces is broken between words', () => {
  const lines = new FlowingText(10)
  const pieces = ['one tw', 'o three', ' four\n\nfi', 've  sixsixsix ', 'abcdefghijklm n']
  const shown = pieces.map((piece) => lines.add(piece)).join('') + lines.end()
  expect(shown).toBe('one two\nthree four\n\nfive\nsixsixsix\nabcdefghijklm n')
  const plain = new FlowingText(null)
  expect(plain.add('a very long line') + plain.end()).toBe('a very long line')
})
