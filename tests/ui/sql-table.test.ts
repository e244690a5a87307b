import { expect, test } from 'bun:test'
import { cellText, tsvOf } from '../../src/ui/components/table/cell-text.ts'
import {
  edgesOf,
  FIRST_CELL,
  pressedIn,
  ROW_PX,
  rectangleOf,
  scrollTopFor,
  seenColumns,
  seenRows,
} from '../../src/ui/components/table/table-model.ts'
import { linked, linkOf, parameterValue } from '../../src/ui/views/sql/statement.ts'

const VIEW_PX = 600

test('each of half a million rows is reached, also the last', () => {
  const count = 500_000
  const last = seenRows(count, count * ROW_PX - VIEW_PX, VIEW_PX)
  expect(last.end).toBe(count)
  const middle = scrollTopFor(250_000, 0, VIEW_PX)
  const seen = seenRows(count, middle, VIEW_PX)
  expect([seen.first < 250_000, seen.end > 250_000]).toEqual([true, true])
  expect(scrollTopFor(10, 0, VIEW_PX)).toBe(0)
  expect(seenRows(2, 0, VIEW_PX)).toEqual({ first: 0, end: 2 })
})

test('of many columns those that are seen are drawn', () => {
  const edges = edgesOf(Array<number>(500).fill(100))
  expect(seenColumns(edges, 0, 1000)).toEqual({ first: 0, end: 14 })
  const { first, end } = seenColumns(edges, 49_000, 1000)
  expect([first > 480, end]).toEqual([true, 500])
})

test('cells are copied as spreadsheets take them, and shown no further than a line', () => {
  expect(tsvOf([['a\tb', 'say "x"', null, [1, { c: 2 }]]])).toBe(
    '"a\tb"\t"say ""x"""\t\t"[1,{""c"":2}]"',
  )
  expect(cellText(Array(1_000_000).fill(7), 10)).toBe('[7,7,7,7,7…')
  expect(cellText({ a: [null, true, 'x'] })).toBe('{"a":[null,true,"x"]}')
})

test('keys choose cells: with Shift more of them, with Ctrl all', () => {
  const size = { rowCount: 10, columnCount: 4, pageRows: 5 }
  const press = (key: string, hasMod = false, hasShift = false) => {
    const next = pressedIn(FIRST_CELL, { key, hasMod, hasShift }, size)
    return next && rectangleOf(next)
  }
  expect(press('ArrowDown', false, true)).toEqual({ top: 0, bottom: 1, left: 0, right: 0 })
  expect(press('End', true, true)).toEqual({ top: 0, bottom: 9, left: 0, right: 3 })
  expect(press('x')).toBeUndefined()
})

test('a link gives back statement, parameters and chart, however long', () => {
  const tab = {
    sql: "SELECT '🙂&#' WHERE a = :a",
    project: 'my shop',
    params: { a: '007' },
    hasChart: true,
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

test('a parameter is JSON, or else a text; a number only where nothing is lost', () => {
  const typed = ['007', '1.5', '-3', 'true', 'null', '', '"10"', '[1, "a"]', '[1,']
  const values = ['007', 1.5, -3, true, null, '', '10', [1, 'a'], '[1,']
  expect(typed.map(parameterValue)).toEqual(values)
  expect(['9007199254740993', '1e999'].map(parameterValue)).toEqual(['9007199254740993', '1e999'])
})
