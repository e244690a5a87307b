import { expect, test } from 'bun:test'
import { chooseChart } from '../../src/ui/components/chart/chart-choice.ts'
import { binned, chartData } from '../../src/ui/components/chart/chart-data.ts'
import { statementsOf } from '../../src/ui/components/editor/sql-code.ts'
import { sqlCompletion } from '../../src/ui/components/editor/sql-completion.ts'
import {
  isReading,
  meantStatement,
  parametersOf,
  placeOfError,
  statementAtHand,
} from '../../src/ui/views/sql/statement-at.ts'

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

test('what ran is at hand until it is changed; then the statement at the cursor is', () => {
  const at = { from: 12, to: 12 }
  expect(statementAtHand('SELECT 1; SELECT 2', 'SELECT 1', at)).toBe('SELECT 1')
  expect(statementAtHand('SELECT 10', 'SELECT 1', at)).toBe('SELECT 10')
  expect(statementAtHand('SELECT 1 WHERE 1 = 2;', 'SELECT 1', at)).toBe('SELECT 1 WHERE 1 = 2')
  expect(statementAtHand('SELECT 1; SELECT 2', 'SELECT 3', at)).toBe('SELECT 2')
  expect(statementAtHand(' ', undefined, at)).toBe('')
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

test('what changes names is told from what reads', () => {
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

const NAMES = {
  functions: [
    { name: 'sum', kind: 'aggregate', signatures: ['sum(arg)'], description: null, example: null },
  ],
  tables: [
    {
      schema: 'mindsdb',
      name: 'teas',
      kind: 'KNOWLEDGE BASE',
      columns: [{ name: 'price', type: 'BIGINT' }],
    },
    { schema: 'mindsdb', name: 'guide', kind: 'AGENT', columns: [{ name: 'answer', type: '' }] },
    {
      schema: 'files',
      name: 'my list',
      kind: 'BASE TABLE',
      columns: [{ name: 'a b', type: 'VARCHAR' }],
    },
  ],
}
const complete = (text: string) => sqlCompletion(NAMES)(text, text.length)
const labels = (text: string) => complete(text)?.options.map(({ label }) => label)

test('completion knows tables after FROM, columns after a name, aliases, and quotes', () => {
  expect(labels('SELECT * FROM te')).toEqual(['teas', 'guide', 'my list', 'mindsdb', 'files'])
  expect(complete('SELECT * FROM ')?.options[2]?.insert).toBe('files."my list"')
  expect(labels('SELECT * FROM files.')).toEqual(['my list'])
  expect(labels('SELECT * FROM teas AS t WHERE t.')?.slice(0, 2)).toEqual(['price', 'content'])
  expect(labels('SELECT * FROM files."my list" AS l WHERE l.')).toEqual(['a b'])
  expect(complete('SELECT p FROM teas WHERE ')?.options[0]).toMatchObject({
    label: 'price',
    detail: 'BIGINT',
  })
  expect(labels('WITH cheap AS (SELECT 1) SELECT * FROM ')).toContain('cheap')
})

test('completion knows columns of what follows the cursor, and of what the statement makes for itself', () => {
  const at = (text: string) => {
    const place = text.indexOf('|')
    const found = sqlCompletion(NAMES)(text.replace('|', ''), place)
    return found?.options.map(({ label }) => label)
  }
  expect(at('SELECT t.| FROM teas t')?.[0]).toBe('price')
  expect(at('SELECT t.| FROM mindsdb.teas AS t, teas u WHERE t.price > 1')?.[0]).toBe('price')
  expect(at('SELECT l.| FROM files."my list" l')).toEqual(['a b'])
  expect(at('WITH q AS (SELECT max(price) AS top, id FROM teas) SELECT q.| FROM q')).toEqual([
    'top',
    'id',
  ])
  expect(at('WITH q AS (SELECT 1 AS one) SELECT z.| FROM q AS z')).toEqual(['one'])
  expect(at('SELECT s.| FROM (SELECT (1 + 2) AS three FROM teas) s')).toEqual(['three'])
})

test('completion is silent in texts and comments, and knows where they end', () => {
  expect(labels("SELECT 'te")).toBeUndefined()
  expect(labels('SELECT 1 -- FROM ')).toBeUndefined()
  expect(labels("SELECT '--' AS a\n FROM ")).toContain('teas')
})

test('completion knows the options of searches, of statements, and functions', () => {
  expect(labels('SELECT * FROM teas WHERE ')).toContain('hybrid_search_fusion')
  expect(labels('SELECT * FROM guide WHERE ')).toContain('question')
  expect(labels('SELECT 1; SELECT ')).not.toContain('hybrid_search')
  expect(labels('SELECT s')).toContain('sum')
  expect(labels('cr')).toContain('CREATE KNOWLEDGE_BASE')
  expect(complete('SELECT 1; show know')).toMatchObject({ from: 10 })
  expect(labels('SELECT 1;\n')).toContain('EVALUATE KNOWLEDGE_BASE')
  expect(labels('CREATE KNOWLEDGE_BASE x USING ')).toContain('content_columns')
  expect(labels("CREATE KNOWLEDGE_BASE x USING id_column = 'a', ")).toContain('content_columns')
  expect(labels('EVALUATE KNOWLEDGE_BASE ')).toEqual(['teas'])
  expect(labels('EVALUATE KNOWLEDGE_BASE teas USING ')?.[0]).toBe('test_table')
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

test('no row of a group is lost: bars add values that share a place, lines draw each', () => {
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
  const added = '2 rows share a place: their values are added up'
  const sums = [
    [3, 8],
    [4, null],
  ]
  expect(drawn('bar', ['tea', 'cup'])).toEqual({ x: [0, 1], y: sums, left: added })
  expect(drawn('line', ['tea', 'cup'])).toEqual({ x: [0, 1], y: sums, left: added })
  expect(drawn('line', ['1970-01-01', '1970-01-02'])).toEqual({
    x: [0, 0, 86_400, 86_400],
    y: [
      [1, 2, 8, null],
      [4, null, null, null],
    ],
    left: '',
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
  expect(choice && chartData(choice, columns, rows).left).toBe('the first 60 of 100 are drawn')
  expect(chooseChart(columns, rows.toReversed())?.kind).toBe('histogram')
})

test('bins have round borders and hold every number once', () => {
  const { labels, counts } = binned([0, 1, 2, 99, 100])
  expect(labels[0]).toBe('0')
  expect(counts.reduce((sum, one) => sum + one, 0)).toBe(5)
  expect(binned([7, 7]).counts).toEqual([2])
  // What is no number is left out, as what is not there.
  expect(binned([7, 'NaN', 7, '-Infinity', null])).toMatchObject({
    counts: [2],
    left: '3 without a value',
  })
  expect(binned(['a', 'b', 'a', null])).toMatchObject({
    labels: ['a', 'b', 'null'],
    counts: [2, 1, 1],
  })
  expect(binned(['2024-01-01', '2024-01-31 10:00:00+02', '0001-01-01'], true).counts).toHaveLength(
    21,
  )
})
