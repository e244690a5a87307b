import { expect, test } from 'bun:test'
import {
  chanceOf,
  DEFAULT_SETTING,
  measureQuery,
  measureSettingsOf,
  rowsOf,
} from '../../src/ui/views/search/measuring.ts'

test('questions that changed most come first; of one setting the worst', () => {
  const measured = (question: string, ndcg: number) => {
    return { question, ndcg, recall: 1, firstRank: 1 }
  }
  const first = { questions: [measured('one', 1), measured('two', 0.5), measured('three', 0)] }
  const second = { questions: [measured('two', 0.75), measured('one', 1), measured('four', 0)] }
  const rows = rowsOf([first, second])
  expect(rows.map((row) => row.first.question)).toEqual(['two', 'one'])
  expect(rows.map(({ change }) => change)).toEqual([0.25, 0])
  expect(rowsOf([first]).map((row) => row.first.question)).toEqual(['three', 'two', 'one'])
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
