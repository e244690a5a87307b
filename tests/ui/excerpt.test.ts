import { expect, test } from 'bun:test'
import { excerptOf, wholeOf } from '../../src/ui/views/search/search-hit.tsx'

const marked = ({ text, ranges }: ReturnType<typeof excerptOf>) => {
  return ranges.map(([from, to]) => text.slice(from, to))
}

test('a short text is shown whole', () => {
  const excerpt = excerptOf('green tea', [[0, 5]])
  expect(excerpt).toEqual({ text: 'green tea', ranges: [[0, 5]], isCut: false })
})

test('the stretch with the most words is shown, and they stay marked', () => {
  const text = `tea ${'a '.repeat(200)}green tea with milk ${'b '.repeat(200)}`
  const at = text.indexOf('green')
  const ranges = [
    [0, 3],
    [at, at + 5],
    [at + 6, at + 9],
    [at + 15, at + 19],
  ]
  const excerpt = excerptOf(text, ranges, 100)
  expect(marked(excerpt)).toEqual(['green', 'tea', 'milk'])
  expect(excerpt.text).toStartWith('… a ')
  expect(excerpt.text).toEndWith(' …')
  expect(excerpt.text.length).toBeLessThanOrEqual(104)
})

test('without marks it is the beginning; no character is cut in two', () => {
  const text = '🍵'.repeat(200)
  expect(excerptOf(text, [], 99).text).toBe(`${'🍵'.repeat(49)} …`)
  expect(excerptOf(text, [[200, 202]], 99).text).not.toMatch(/^… [\udc00-\udfff]/)
})

test('words at the end bring the text before them', () => {
  const text = `${'w'.repeat(500)} tea`
  expect(excerptOf(text, [[501, 504]], 100).text).toBe(`… ${'w'.repeat(96)} tea`)
})

test('of a huge chunk only the beginning is drawn', () => {
  const { text, ranges, isCut } = wholeOf('tea '.repeat(1_000_000), [
    [0, 3],
    [3_999_996, 3_999_999],
  ])
  expect([text.length, ranges.length, isCut]).toEqual([20_002, 1, true])
})
