import { expect, test } from 'bun:test'
import { binned, chooseChart } from '../../src/ui/components/chart-choice.ts'
import { sqlCompletion } from '../../src/ui/components/editor/sql-completion.ts'
import {
  isReading,
  meantStatement,
  parametersOf,
  placeOfError,
  statementsOf,
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

test('parameters are names after one colon, outside of texts', () => {
  expect(parametersOf("SELECT :a, x::INT, ':b', :a + :c_1 -- :d")).toEqual(['a', 'c_1'])
})

test('the place of an error is found by line and column', () => {
  expect(placeOfError('line 2, column 3: no', 'SELECT\n  x')).toBe(9)
  expect(placeOfError('out of memory', 'SELECT 1')).toBeUndefined()
})

test('only one statement that reads runs by a link', () => {
  expect(['SELECT 1', '-- a\nWITH x AS (SELECT 1) FROM x', 'SHOW TABLES'].map(isReading)).toEqual([
    true,
    true,
    true,
  ])
  expect(
    ['DROP TABLE a', 'SELECT 1; DROP TABLE a', 'EXPLAIN ANALYZE DELETE FROM a'].map(isReading),
  ).toEqual([false, false, false])
})

const NAMES = {
  functions: ['sum'],
  tables: [
    { schema: 'mindsdb', name: 'teas', columns: [{ name: 'price', type: 'BIGINT' }] },
    { schema: 'files', name: 'my list', columns: [{ name: 'a b', type: 'VARCHAR' }] },
  ],
}

test('completion knows tables after FROM, columns after a name, aliases, and quotes', () => {
  const complete = (text: string) => sqlCompletion(NAMES)(text, text.length)
  const labels = (text: string) => complete(text)?.options.map(({ label }) => label)
  expect(labels('SELECT * FROM te')).toEqual(['teas', 'my list', 'mindsdb', 'files'])
  expect(complete('SELECT * FROM ')?.options[1]?.insert).toBe('"my list"')
  expect(labels('SELECT * FROM files.')).toEqual(['my list'])
  expect(labels('SELECT * FROM teas AS t WHERE t.')).toEqual(['price'])
  expect(labels('SELECT * FROM teas WHERE ')?.slice(0, 2)).toEqual(['price', 'content'])
  expect(labels("SELECT 'te")).toBeUndefined()
})

test('a chart is chosen by what the columns hold', () => {
  const kind = (...rows: (readonly unknown[])[]) => chooseChart(['a', 'b'], rows)?.kind
  expect(kind(['2024-01-01', 1], ['2024-01-02', 2])).toBe('line')
  expect(kind(['x', 1], ['y', 2])).toBe('bar')
  expect(kind([1, 5], [2, 3], [3, 4])).toBe('line')
  expect(kind([3, 5], [1, 3], [2, 4])).toBe('scatter')
  expect(kind([3], [1], [3])).toBe('histogram')
  expect(kind(['x', null])).toBeUndefined()
})

test('bins have round borders and hold every number once', () => {
  const { labels, counts } = binned([0, 1, 2, 99, 100])
  expect(labels[0]).toBe('0')
  expect(counts.reduce((sum, one) => sum + one, 0)).toBe(5)
  expect(binned([7, 7]).counts).toEqual([2])
  expect(binned(['a', 'b', 'a', null])).toEqual({ labels: ['a', 'b', 'null'], counts: [2, 1, 1] })
})
