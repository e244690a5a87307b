import { expect, test } from 'bun:test'
import { chanceOf, comparedOf } from '../../src/ui/views/search/measure/comparison.ts'
import {
  DEFAULT_SETTING,
  meanOf,
  measuredOf,
} from '../../src/ui/views/search/measure/evaluation.ts'
import {
  measureQuery,
  measureSettingsOf,
} from '../../src/ui/views/search/measure/measure-address.ts'

const measured = (question: string, ranking: readonly string[]) => {
  const found = measuredOf(ranking, new Map([['right', 1]]))
  if (found === null) throw new Error('something is right')
  return { question, ...found }
}

test('a question is measured for each k', () => {
  const grades = new Map([
    ['a', 2],
    ['b', 1],
    ['c', 0],
  ])
  const { ndcg, recall, firstRank } = measuredOf(['c', 'a', 'b'], grades) ?? {}
  const log = Math.log2
  expect(firstRank).toBe(2)
  expect(recall?.slice(0, 3)).toEqual([0, 0.5, 1])
  expect(ndcg?.[0]).toBe(0)
  expect(ndcg?.[2]).toBeCloseTo((2 / log(3) + 1 / log(4)) / (2 + 1 / log(3)), 12)
  expect(measuredOf(['c'], new Map([['c', 0]]))).toBeNull()
  expect(measuredOf(['c'], new Map([['a', 1]]))?.firstRank).toBeNull()
})

test('questions that changed most come first', () => {
  const first = [measured('one', ['right']), measured('two', ['x', 'right']), measured('three', [])]
  const second = [measured('two', ['right']), measured('one', ['right']), measured('four', [])]
  const compared = comparedOf(first, second, 10)
  expect(compared.map(({ question }) => question)).toEqual(['two', 'one'])
  expect(compared.map(({ change }) => change)).toEqual([1 - 1 / Math.log2(3), 0])
  expect(meanOf(first, 'recall')[0]).toBeCloseTo(1 / 3, 12)
})

test('chance makes few differences, and hardly many that agree', () => {
  expect(chanceOf([0, 0])).toBe(1)
  expect(chanceOf([0.4])).toBeCloseTo(1, 2)
  // All five with the same sign: 2 of 32.
  expect(chanceOf([0.1, 0.1, 0.1, 0.1, 0.1])).toBeCloseTo(2 / 32, 1)
  expect(chanceOf(Array.from({ length: 20 }, () => 0.1))).toBeLessThan(0.001)
  const mixed = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? 0.1 : -0.1))
  expect(chanceOf(mixed)).toBe(1)
  expect(chanceOf([0.2, 0.1, -0.3, 0.4])).toBe(chanceOf([0.2, 0.1, -0.3, 0.4]))
})

test('what is measured comes back from the address', () => {
  const queryOf = (address: string) => Object.fromEntries(new URLSearchParams(address))
  const second = { ...DEFAULT_SETTING, knowledgeBase: 'a & b', alpha: 0, fusion: 'rrf' } as const
  const chosen = { settings: [{ ...DEFAULT_SETTING, reranks: true }, second], k: 5 }
  expect(measureSettingsOf(queryOf(measureQuery(chosen)))).toEqual(chosen)
  const plain = { settings: [DEFAULT_SETTING], k: 10 }
  expect(measureQuery(plain)).toBe('?part=measure')
  expect(measureSettingsOf({ a: 'alpha=7&mode=none&fusion=x', k: '4' })).toEqual(plain)
  expect(measureSettingsOf({ b: '' }).settings).toHaveLength(2)
})
