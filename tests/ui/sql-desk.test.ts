import { expect, test } from 'bun:test'
import { captionOf, chartData, chooseChart } from '../../src/ui/components/chart/chart-data.ts'
import { endsInText, statementsOf } from '../../src/ui/components/editor/sql-code.ts'
import { optionsAt } from '../../src/ui/components/editor/sql-words.ts'
import {
  isReading,
  meantStatement,
  parametersOf,
  placeOfError,
  sortedStatement,
} from '../../src/ui/views/sql/statement.ts'

test('statements end at semicolons that are code', () => {
  const text = 'SELECT \';\' AS a; -- no; end\nSELECT "b;" /* ; */ FROM t;\n'
  expect(statementsOf(text).map(({ from, to }) => text.slice(from, to))).toEqual([
    "SELECT ';' AS a",
    '-- no; end\nSELECT "b;" /* ; */ FROM t',
  ])
})

test('the statement at the cursor runs, or what is selected', () => {
  const text = 'SELECT 1; SELECT 2'
  const meant = (from: number, to = from) => {
    const span = meantStatement(text, { from, to })
    return span && text.slice(span.from, span.to)
  }
  expect([meant(0), meant(12), meant(18), meant(7, 8)]).toEqual([
    'SELECT 1',
    'SELECT 2',
    'SELECT 2',
    '1',
  ])
  expect(meantStatement('  ', { from: 0, to: 0 })).toBeUndefined()
})

test('parameters are names after one colon, outside of texts', () => {
  expect(parametersOf("SELECT :a, x::INT, ':b', :a + :c_1 -- :d")).toEqual(['a', 'c_1'])
})

test('the place of an error is found by line and column, where an emoji is one', () => {
  const marked = (message: string, sql: string) => {
    const { from = 0, to = 0 } = placeOfError(message, sql) ?? {}
    return [from, sql.slice(from, to)]
  }
  expect(marked('line 2, column 3: no', 'SELECT\n  x')).toEqual([9, 'x'])
  expect(
    marked("No\nline 1, column 14:\nSELECT '🙂🙂', wrong\n             ^", "SELECT '🙂🙂', wrong"),
  ).toEqual([15, 'wrong'])
  expect(placeOfError('out of memory', 'SELECT 1')).toBeUndefined()
})

test('the place of an error within a statement in a statement is found by what is shown of it', () => {
  const sql = 'INSERT INTO teas (SELECT wrong)'
  const message = 'Column "wrong" does not exist\nline 1, column 9:\n(SELECT wrong)\n        ^'
  expect(placeOfError(message, sql)).toEqual({ from: 25, to: 30 })
})

test('the place of an error without one is that of the name, or the parameter, that it speaks of', () => {
  const sql = "SELECT 'wrong' AS a, wrong, :size"
  expect(placeOfError('Referenced column "wrong" was not found', sql)?.from).toBe(21)
  expect(placeOfError('Parameter is not set: size', sql)).toEqual({ from: 28, to: 33 })
})

test('statements that change names are distinguished from reads', () => {
  expect(['SELECT 1', '-- a\nWITH x AS (SELECT 1) FROM x', '(SELECT 1)'].map(isReading)).toEqual([
    true,
    true,
    true,
  ])
  expect(['DROP TABLE a', '/* select */ CREATE VIEW a AS (SELECT 1)'].map(isReading)).toEqual([
    false,
    false,
  ])
})

test('rows are sorted by the server, where a statement is a query', () => {
  expect(sortedStatement('SELECT a FROM t -- all', { column: 1, isDescending: true })).toBe(
    'SELECT * FROM (SELECT a FROM t -- all\n) ORDER BY 2 DESC NULLS LAST',
  )
  expect(sortedStatement('SHOW TABLES', { column: 0, isDescending: false })).toBeUndefined()
})

test('completion is silent in texts and comments', () => {
  expect(["SELECT 'te", 'SELECT 1 -- FROM ', "SELECT '--' AS a"].map(endsInText)).toEqual([
    true,
    true,
    false,
  ])
})

test('completion knows the options of searches and questions', () => {
  const names = (lead: string, ...kinds: string[]) => {
    return optionsAt(lead, new Set(kinds)).map(({ name }) => name)
  }
  const search = names('SELECT * FROM teas WHERE ', 'KNOWLEDGE BASE')
  expect(search).toContain('hybrid_search_fusion')
  expect(names("SELECT * FROM teas WHERE content = 'x' AND ", 'KNOWLEDGE BASE')).toEqual(search)
  expect(names('SELECT * FROM guide WHERE ', 'AGENT')).toEqual(['question'])
  expect(names('SELECT ', 'KNOWLEDGE BASE')).toEqual([])
  expect(names('SELECT * FROM teas WHERE content = ', 'KNOWLEDGE BASE')).toEqual([])
})

const named = (names: string, type = '') => {
  return names.split(' ').map((name) => ({ name, type }))
}

test('a chart is chosen by what the columns hold', () => {
  const kind = (...rows: (readonly unknown[])[]) => chooseChart(named('a b'), rows)?.kind
  expect(kind(['2024-01-01', 1], ['2024-01-02', 2])).toBe('line')
  expect(kind(['x', 1], ['y', 2])).toBe('bar')
  expect(kind([1, 5], [2, 3], [3, 4])).toBe('line')
  expect(kind([3, 5], [1, 3], [2, 4])).toBe('scatter')
  expect(kind([3], [1], [3])).toBe('histogram')
  expect(kind(['x', null], ['x', null], ['y', null])).toBe('histogram')
  expect(kind(['x', 1])).toBeUndefined()
})

test('a chart measures no ids, counts digits of integers, and splits times by groups', () => {
  const ids = [
    [7, 'x', 3],
    [9, 'y', 4],
  ]
  expect(chooseChart(named('tea_id name price'), ids)).toEqual({ kind: 'bar', x: 1, y: [2] })
  const large = [['9007199254740993'], ['9007199254740995']]
  expect(chooseChart(named('n', 'BIGINT'), large)?.kind).toBe('histogram')
  const rows = [
    ['2024-01-02', 'b', 4],
    ['2024-01-01', 'a', 1],
    ['2024-01-01', 'b', 3],
    ['2024-01-02', 'a', null],
  ]
  const choice = chooseChart(named('day group n'), rows)
  expect(choice).toEqual({ kind: 'line', x: 0, y: [2], by: 1 })
  expect(choice && chartData(choice, named('day group n'), rows)).toMatchObject({
    x: [1704067200, 1704153600],
    isTime: true,
    y: [
      { label: 'b', values: [3, 4] },
      { label: 'a', values: [1, null] },
    ],
  })
})

test('NaN and infinity leave a gap, and a column of numbers one of numbers', () => {
  const columns = [
    { name: 'x', type: 'BIGINT' },
    { name: 'y', type: 'DOUBLE' },
  ]
  const rows = [
    [1, 'NaN'],
    [2, 0.5],
    [3, '-Infinity'],
    [4, 2],
  ]
  const choice = chooseChart(columns, rows)
  expect(choice).toEqual({ kind: 'line', x: 0, y: [1] })
  expect(choice && chartData(choice, columns, rows).y).toMatchObject([
    { label: 'y', values: [null, 0.5, null, 2] },
  ])
})

test('no row of a group is lost: bars and lines add values that share a place, points are drawn each', () => {
  const columns = named('x group n')
  const drawn = (kind: 'bar' | 'line' | 'scatter', [a, b]: readonly [string, string]) => {
    const rows = [
      [a, 'g', 1],
      [a, 'g', 2],
      [a, 'h', 4],
      [b, 'g', 8],
      [b, 'g', null],
    ]
    const { x, y, left } = chartData({ kind, x: 0, y: [2], by: 1 }, columns, rows)
    return { x, y: y.map(({ values }) => values), left }
  }
  const added = '1 rows have the same position; their values are added up.'
  const sums = [
    [3, 8],
    [4, null],
  ]
  expect(drawn('bar', ['tea', 'cup'])).toEqual({ x: [0, 1], y: sums, left: added })
  expect(drawn('line', ['tea', 'cup'])).toEqual({ x: [0, 1], y: sums, left: added })
  expect(drawn('line', ['1970-01-01', '1970-01-02'])).toEqual({
    ...{ x: [0, 86_400], y: sums, left: added },
  })
  expect(drawn('scatter', ['tea', 'cup'])).toEqual({
    x: [0, 1, 2, 3, 4],
    y: [
      [1, 2, null, 8, null],
      [null, null, 4, null, null],
    ],
    left: '',
  })
})

test('more bars than can be read are drawn where the first ones are the largest', () => {
  const rows = Array.from({ length: 100 }, (_, index) => [`tea ${index}`, 100 - index])
  const columns = named('name n')
  const choice = chooseChart(columns, rows)
  expect(choice?.kind).toBe('bar')
  expect(choice && chartData(choice, columns, rows).left).toBe(
    'Only the first 60 of 100 are shown.',
  )
  expect(chooseChart(columns, rows.toReversed())?.kind).toBe('histogram')
})

test('bins have round borders and hold every number once', () => {
  const bins = (cells: readonly unknown[]) => {
    const columns = named('a')
    const rows = cells.map((cell) => [cell])
    const { words, y, left } = chartData({ kind: 'histogram', x: 0, y: [] }, columns, rows)
    return { words, counts: y[0]?.values ?? [], left }
  }
  const { words, counts } = bins([0, 1, 2, 99, 100])
  expect(words?.[0]).toBe('0')
  expect(counts.reduce<number>((sum, one) => sum + (one ?? 0), 0)).toBe(5)
  expect(bins([7, 7]).counts).toEqual([2])
  expect(bins(['a', 'b', 'a', null])).toMatchObject({
    words: ['a', 'b', 'null'],
    counts: [2, 1, 1],
  })
  expect(bins(['2024-01-01', '2024-01-31 10:00:00+02', '2023-01-01']).words?.[0]).toMatch(
    /^2022-1\d-\d\d$/,
  )
})

test('scales that are more than 20 times apart get two axes, and the caption says so', () => {
  const columns = named('day price amount')
  const rows = [
    ['2024-01-01', 3, 1000],
    ['2024-01-02', 4, 3000],
  ]
  const choice = chooseChart(columns, rows)
  const data = choice && chartData(choice, columns, rows)
  expect(data?.y.map(({ isSecond }) => isSecond)).toEqual([true, false])
  expect(choice && data && captionOf(choice, columns, data)).toBe(
    'price and amount over day: 2 points. price on the right axis.',
  )
})

test('a chart groups only by what repeats, and does not measure the number of a row', () => {
  const kinds = (names: string, rows: readonly (readonly unknown[])[]) =>
    chooseChart(named(names), rows)
  const items = Array.from({ length: 30 }, (_, at) => [
    `2024-01-0${1 + (at % 3)}`,
    `item ${at}`,
    at,
  ])
  // A time that repeats without groups is drawn as points, because a line would jump up and down.
  expect(kinds('day name price', items)).toEqual({ kind: 'scatter', x: 0, y: [2] })
  const orders = [
    [1, '2024-01-01', 5.5],
    [2, '2024-01-02', 4],
    [3, '2024-01-03', 4.5],
  ]
  expect(kinds('order day amount', orders)).toEqual({ kind: 'line', x: 1, y: [2] })
  const shops = orders.map(([order, , amount]) => [order, `shop ${order}`, amount])
  expect(kinds('order shop amount', shops)).toEqual({ kind: 'bar', x: 1, y: [2] })
  const years = orders.map(([order, , amount]) => [2020 + Number(order), amount])
  expect(kinds('year amount', years)).toEqual({ kind: 'line', x: 0, y: [1] })
})

test('a caption groups the digits of large numbers', () => {
  const columns = named('tea amount')
  const rows = [
    ['sencha', 1000],
    ['assam', 250_000],
  ]
  const choice = chooseChart(columns, rows)
  expect(choice && captionOf(choice, columns, chartData(choice, columns, rows))).toBe(
    'amount by tea: 2 bars, from 1,000 to 250,000.',
  )
})
