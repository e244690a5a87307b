import { expect, test } from 'bun:test'
import { pairedComparison, wilsonInterval } from '../../src/query/evaluate/retrieval-metrics.ts'

test("Wilson's interval holds at the ends and in the middle", () => {
  // These are values of R's binom.wilson.
  const rounded = (successes: number, total: number) => {
    const { low, high } = wilsonInterval(successes, total) ?? { low: -1, high: -1 }
    return [Number(low.toFixed(4)), Number(high.toFixed(4))]
  }
  expect(rounded(0, 10)).toEqual([0, 0.2775])
  expect(rounded(10, 10)).toEqual([0.7225, 1])
  expect(rounded(81, 263)).toEqual([0.2553, 0.3662])
  expect(wilsonInterval(0, 0)).toBeNull()
})

test("McNemar's exact test counts what only one of both gets right", () => {
  const pairs = (wins: number, losses: number, ties: number) => [
    ...Array.from({ length: wins }, () => [false, true] as const),
    ...Array.from({ length: losses }, () => [true, false] as const),
    ...Array.from({ length: ties }, () => [true, true] as const),
  ]
  expect(pairedComparison(pairs(2, 0, 1))).toEqual({ wins: 2, losses: 0, ties: 1, pValue: 0.5 })
  expect(pairedComparison([]).pValue).toBe(1)
  expect(pairedComparison(pairs(3, 3, 0)).pValue).toBe(1)
  // binom.test(2, 12)
  expect(pairedComparison(pairs(10, 2, 50)).pValue).toBeCloseTo(0.03857422, 7)
  // A set can have this many questions, and the computation must not underflow.
  expect(pairedComparison(pairs(5100, 4900, 0)).pValue).toBeCloseTo(0.0466, 3)
})
