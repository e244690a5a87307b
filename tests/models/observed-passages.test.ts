import { expect, test } from 'bun:test'
import { parseCsv } from '../../src/core/text/csv.ts'
import { listedNames, passagesIn } from '../../src/models/builtin/chat/observed-passages.ts'
import { cpuMsOf } from '../support/cpu-time.ts'

const NOWHERE = { documentId: '', heading: '', pages: null, place: null }

const HEAD =
  "Output columns: 'chunk_id', 'chunk_content', 'relevance'\n" +
  "Result in CSV format (dialect is 'excel'):\n"

test.each([
  [
    'quotes, commas and line ends',
    'a,"b ""c"", d\r\ne"\r\nf,g\r\n',
    [
      ['a', 'b "c", d\r\ne'],
      ['f', 'g'],
    ],
  ],
  [
    'empty cells',
    ',\r\n"",x,\r\n',
    [
      ['', ''],
      ['', 'x', ''],
    ],
  ],
  ['a quote that is never closed', 'a,"b, c\r\nd', [['a', 'b, c\r\nd']]],
  ['text after a closed quote', '"a"b,c', [['ab', 'c']]],
  ['no end of line', 'a,b', [['a', 'b']]],
  ['a comma at the end', 'a,', [['a', '']]],
  ['nothing', '', []],
])('reads CSV with %s', (_, text, rows) => {
  expect(parseCsv(text)).toEqual(rows)
})

test('reads long hostile CSV in one pass', () => {
  const work = () => {
    parseCsv(`"${'a"b'.repeat(200_000)}`)
    parseCsv('"'.repeat(400_001))
  }
  expect(cpuMsOf(work)).toBeLessThan(1500)
})

test('finds chunks by the names of their columns, in any order', () => {
  const header = 'relevance,chunk_content,chunk_id\r\n'
  const observation = `${HEAD}${header}0.5,"Hi, ""you""\nthere",1:content:1of1:0to9\r\n`
  expect(passagesIn(observation)).toEqual({
    kind: 'passages',
    passages: [
      { ...NOWHERE, chunkId: '1:content:1of1:0to9', text: 'Hi, "you"\nthere', relevance: 0.5 },
    ],
  })
})

test('notes that rows or cells were cut are not text', () => {
  const rows =
    'chunk_id,chunk_content,relevance\r\na,long… (17 more characters),x\r\n(5 more rows were cut)\r\n'
  const observation = `The first 1 rows, cut at 30 rows; there are more.\n${HEAD}${rows}`
  expect(passagesIn(observation)).toEqual({
    kind: 'passages',
    passages: [{ ...NOWHERE, chunkId: 'a', text: 'long', relevance: 0 }],
  })
})

test('no rows give no passages; another text is a failure with its first line', () => {
  expect(passagesIn(`${HEAD}chunk_id,chunk_content\r\n`)).toEqual({
    kind: 'passages',
    passages: [],
  })
  expect(passagesIn('Error executing knowledge base query: gone.\nmore')).toEqual({
    kind: 'failure',
    message: 'Error executing knowledge base query: gone.',
  })
})

test.each([
  ['["mindsdb.docs","p.b"]', ['mindsdb.docs', 'p.b']],
  ['["a.b"]\n(3 more names, cut at 20 bytes)', ['a.b']],
  ['[1, "a.b", null, ""]', ['a.b']],
  ['No knowledge bases found.', []],
  ['[broken', []],
  ['["a"', []],
])('finds the names in %s', (text, names) => {
  expect(listedNames(text)).toEqual([...names])
})
