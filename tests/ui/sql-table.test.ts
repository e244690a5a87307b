import { expect, test } from 'bun:test'
import { FIRST_CELL, pressedIn, rectangleOf } from '../../src/ui/components/table/cell-selection.ts'
import { cellText, tsvOf } from '../../src/ui/components/table/cell-text.ts'
import { sorting } from '../../src/ui/components/table/row-order.ts'
import {
  edgesOf,
  ROW_PX,
  rowLayout,
  scrollTopFor,
  seenColumns,
  slotsOf,
} from '../../src/ui/components/table/table-layout.ts'
import { linked, linkOf } from '../../src/ui/views/sql/link.ts'
import { parameterValue } from '../../src/ui/views/sql/parameters.ts'

const VIEW_PX = 600

test('each of three million rows is reached, also the last', () => {
  const count = 3_000_000
  const { bodyPx } = rowLayout(count, 0, VIEW_PX)
  expect(bodyPx).toBeLessThan(count * ROW_PX)
  const bottom = bodyPx - VIEW_PX
  const last = rowLayout(count, bottom, VIEW_PX)
  expect(last.end).toBe(count)
  // It ends where what is seen ends.
  expect(last.y + (last.end - last.first) * ROW_PX).toBeCloseTo(bodyPx, 0)
  const middle = scrollTopFor(1_500_000, count, { scrollTop: 0, viewPx: VIEW_PX })
  const seen = rowLayout(count, middle, VIEW_PX)
  expect(seen.first).toBeLessThan(1_500_000)
  expect(seen.end).toBeGreaterThan(1_500_000)
})

test('of many columns those that are seen are drawn', () => {
  const edges = edgesOf(Array<number>(500).fill(100))
  expect(seenColumns(edges, 0, 1000)).toEqual({ first: 0, end: 14 })
  const { first, end } = seenColumns(edges, 49_000, 1000)
  expect([first > 480, end]).toEqual([true, 500])
})

/** Each with its number, so that what is equal can be told apart. */
function inOrder(cells: readonly unknown[], type: string, isDescending = false) {
  const rows = cells.map((cell, index) => [cell, index])
  const steps = sorting(rows, { column: 0, isDescending }, type)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

test('rows are in order by the type of a column, nothing last', () => {
  const sorted = (cells: readonly unknown[], type: string, isDescending = false) => {
    return inOrder(cells, type, isDescending).map(([cell]) => cell)
  }
  const kinds: readonly (readonly [type: string, rising: readonly unknown[]])[] = [
    ['HUGEINT', ['-9007199254740993', -5, 9, 10, '9007199254740992', '9007199254740993']],
    ['DECIMAL(38,3)', ['-0.6', '-0.5', 1, '9007199254740993.1', '9007199254740993.25']],
    ['DOUBLE', ['-Infinity', -2, 10, 'Infinity', 'NaN']],
    ['VARCHAR', ['', '10', '9', 'apple', 'apples', 'Banana', 'été', 'Zoo']],
    ['DATE', ['-infinity', '0044-03-15 (BC)', '0044-03-16 (BC)', '0043-01-01 (BC)', '2020-02-29']],
    ['DATE', ['9999-12-31', '12024-01-01', 'infinity']],
    ['TIMESTAMP', ['-000043-03-15 10:00:00.000000', '2020-01-01 00:00:00.000001']],
    [
      'TIMESTAMP',
      ['2020-01-01 00:00:00.000001', '2020-01-01 00:00:00.000002', '2020-01-01 10:00:00'],
    ],
    ['TIME WITH TIME ZONE', ['12:00:00+02', '11:00:00+00', '10:00:00-02:30']],
    [
      'INTERVAL',
      ['-1 year 3 days -04:05:06.7', '-00:00:01', '00:00:00', '29 days', '1 month 01:00:00'],
    ],
    ['BOOLEAN', [false, true]],
    ["ENUM('low', 'it''s high')", ['low', "it's high"]],
    ['BLOB', [btoa('\x01'), btoa('a'), btoa('b'), btoa('\xff')]],
    ['BIGINT[]', [[], [1], [1, 2], [2], ['9007199254740992'], ['9007199254740993'], [null]]],
    ['BIGINT[]', [['-9007199254740993'], ['-9007199254740992'], [-1], [0], ['9007199254740992']]],
    ['DOUBLE[]', [[], ['-Infinity'], [-1], [0.5], ['Infinity'], ['NaN']]],
    ['VARCHAR[]', [['9'], ['a'], ['b', 'a'], ['B']]],
    [
      'STRUCT(a INTEGER, b VARCHAR)',
      [
        { a: 1, b: 'x' },
        { a: 1, b: 'y' },
        { a: 10, b: 'a' },
      ],
    ],
    ['JSON', [2, 10, true, 'a', [1], [2]]],
  ]
  for (const [type, rising] of kinds) {
    const shuffled = rising.map((_, index) => rising[(index * 7 + 3) % rising.length])
    const cells = new Set(shuffled).size === rising.length ? shuffled : rising.toReversed()
    expect(sorted([null, ...cells, null], type)).toEqual([...rising, null, null])
    expect(sorted([null, ...cells], type, true)).toEqual([...rising.toReversed(), null])
  }
})

test('rows that are equal stay as they came, also of many and downwards', () => {
  const cells = Array.from({ length: 3000 }, (_, index) => (index * 7919) % 13)
  for (const isDescending of [false, true]) {
    const sorted = inOrder(cells, 'INTEGER', isDescending)
    expect(sorted).toHaveLength(cells.length)
    for (const [at, [cell, index]] of sorted.entries()) {
      const [next, nextIndex] = sorted[at + 1] ?? []
      if (next === cell) expect(Number(nextIndex)).toBeGreaterThan(Number(index))
      else if (next !== undefined) expect(Number(next) > Number(cell)).toBe(!isDescending)
    }
  }
})

test('a row that goes on being seen keeps its place in the page', () => {
  const before = slotsOf(rowLayout(100_000, 3000, VIEW_PX))
  const after = slotsOf(rowLayout(100_000, 3000 + ROW_PX * 2, VIEW_PX))
  expect(after).toHaveLength(before.length)
  expect(before.filter((index, slot) => after[slot] !== index)).toHaveLength(2)
  expect(slotsOf(rowLayout(2, 0, VIEW_PX))).toEqual([0, 1])
  expect(slotsOf(rowLayout(0, 0, VIEW_PX))).toEqual([])
})

test('cells are copied as spreadsheets take them, and shown no further than a line', () => {
  expect(tsvOf([['a\tb', 'say "x"', null, [1, { c: 2 }]]])).toBe(
    '"a\tb"\t"say ""x"""\t\t"[1,{""c"":2}]"',
  )
  expect(cellText(Array(1_000_000).fill(7), 10)).toBe('[7,7,7,7,7…')
  expect(cellText({ a: [null, true, 'x'] })).toBe('{"a":[null,true,"x"]}')
})

test('keys choose cells: with Shift more of them, whole rows and columns', () => {
  const size = { rowCount: 10, columnCount: 4, pageRows: 5 }
  const press = (key: string, hasMod = false, hasShift = false) => {
    const next = pressedIn(FIRST_CELL, { key, hasMod, hasShift }, size)
    return next && rectangleOf(next)
  }
  expect(press('ArrowDown', false, true)).toEqual({ top: 0, bottom: 1, left: 0, right: 0 })
  expect(press('End', true, true)).toEqual({ top: 0, bottom: 9, left: 0, right: 3 })
  expect(press(' ', false, true)).toEqual({ top: 0, bottom: 0, left: 0, right: 3 })
  expect(press(' ', true)).toEqual({ top: 0, bottom: 9, left: 0, right: 0 })
  expect(press('x')).toBeUndefined()
})

test('a link gives back statement, parameters and chart, however long', () => {
  const tab = {
    sql: "SELECT '🙂&#' WHERE a = :a",
    project: 'my shop',
    params: { a: { typed: '007', kind: 'text' } },
    form: 'Chart',
    chart: { kind: 'bar', x: '1' },
  } as const
  const opened = (sql: string) => {
    const address = linkOf({ ...tab, sql }, 'http://here') ?? ''
    return {
      mark: address.charAt('http://here/sql'.length),
      ...linked(new URL(address).search.slice(1) || new URL(address).hash.slice(1)),
    }
  }
  expect(opened(tab.sql)).toEqual({ mark: '?', isRun: true, ...tab })
  const long = `SELECT 1 -- ${'é '.repeat(2000)}`
  expect(opened(long)).toMatchObject({ mark: '#', sql: long })
  expect(linkOf({ ...tab, sql: 'x'.repeat(200_000) }, '')).toBeUndefined()
})

test('a parameter is what its type says; without one, a number only where nothing is lost', () => {
  const value = (typed: string, kind: 'auto' | 'number' | 'JSON' = 'auto') => {
    return parameterValue({ typed, kind })
  }
  expect(
    ['007', '1.5', '-3', '1e3', 'true', 'null', ''].map((typed) => value(typed).value),
  ).toEqual(['007', 1.5, -3, '1e3', true, null, ''])
  expect(value('9007199254740993', 'number').value).toBe('9007199254740993')
  expect(value('x', 'number').problem).toBe('A number is expected')
  expect(value('[1,', 'JSON').problem).toContain('JSON is expected')
})
