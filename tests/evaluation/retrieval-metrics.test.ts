import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { metricsOf, type RetrievalMetrics } from '../../src/query/evaluate/measures.ts'

const NAMES = ['ndcg', 'recall', 'precision', 'reciprocalRank', 'averagePrecision'] as const

/** Returns the metrics of a question that has relevant documents. */
function metrics(
  ranking: readonly string[],
  grades: Readonly<Record<string, number>>,
  k: number,
): RetrievalMetrics {
  const found = metricsOf(ranking, new Map(Object.entries(grades)), k)
  if (found === null) throw new Error('no relevant document')
  return found
}

describe('known values', () => {
  // A worked example from many textbooks: gains 3, 2, 3, 0, 1, 2, and two more judged 3 and 2.
  test('nDCG with graded judgments', () => {
    const grades = { d1: 3, d2: 2, d3: 3, d4: 0, d5: 1, d6: 2, d7: 3, d8: 2 }
    const { ndcg } = metrics(['d1', 'd2', 'd3', 'd4', 'd5', 'd6'], grades, 6)
    expect(ndcg).toBeCloseTo(6.861 / 8.74, 4)
  })

  test('gains are grades, not powers of two', () => {
    const ideal = 3 + 1 / Math.log2(3)
    expect(metrics(['b', 'a'], { a: 3, b: 1 }, 2).ndcg).toBeCloseTo(
      (1 + 3 / Math.log2(3)) / ideal,
      12,
    )
  })

  test('hits at the ranks 2 and 4 of three relevant documents', () => {
    const found = metrics(['x', 'a', 'y', 'b', 'z'], { a: 1, b: 1, c: 1 }, 5)
    expect(found.recall).toBeCloseTo(2 / 3, 12)
    expect(found.precision).toBeCloseTo(2 / 5, 12)
    expect(found.reciprocalRank).toBe(1 / 2)
    expect(found.averagePrecision).toBeCloseTo((1 / 2 + 2 / 4) / 3, 12)
    const dcg = 1 / Math.log2(3) + 1 / Math.log2(5)
    expect(found.ndcg).toBeCloseTo(dcg / (1 + 1 / Math.log2(3) + 1 / 2), 12)
  })

  test('results beyond k are ignored', () => {
    const found = metrics(['x', 'y', 'a'], { a: 1 }, 2)
    expect(NAMES.map((name) => found[name])).toEqual([0, 0, 0, 0, 0])
  })
})

describe('odd input', () => {
  test('without a relevant document there are no metrics', () => {
    expect(metricsOf(['a'], new Map(), 10)).toBeNull()
    expect(metricsOf(['a', 'b'], new Map(Object.entries({ a: 0, b: -1 })), 10)).toBeNull()
  })

  test('an empty ranking finds nothing', () => {
    const found = metrics([], { a: 1 }, 10)
    expect(NAMES.map((name) => found[name])).toEqual([0, 0, 0, 0, 0])
  })

  test('a document that comes again is left out', () => {
    const grades = { a: 1, b: 2 }
    expect(metrics(['a', 'a', 'x', 'a', 'b'], grades, 3)).toEqual(
      metrics(['a', 'x', 'b'], grades, 3),
    )
  })

  test('a negative grade is not a penalty', () => {
    expect(metrics(['bad', 'a'], { a: 1, bad: -7 }, 2)).toEqual(metrics(['bad', 'a'], { a: 1 }, 2))
  })

  test('huge and tiny grades stay numbers', () => {
    const huge = Number.MAX_VALUE
    expect(metrics(['a', 'b', 'c'], { a: huge, b: huge, c: Number.MIN_VALUE }, 3).ndcg).toBe(1)
    expect(metrics(['a'], { a: Number.MIN_VALUE }, 1).ndcg).toBe(1)
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('k = %d is refused', (k) => {
    expect(() => metricsOf([], new Map(), k)).toThrow('k must be a whole number from 1')
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('the grade %d is refused', (grade) => {
    expect(() => metricsOf([], new Map([['d7', grade]]), 1)).toThrow('The grade of d7 must be')
  })
})

describe('for every ranking', () => {
  const id: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
  const ranking = fc.uniqueArray(id)
  const grades = fc.dictionary(id, fc.integer({ min: -1, max: 4 })).filter((all) => {
    return Object.values(all).some((grade) => grade > 0)
  })
  const k = fc.integer({ min: 1, max: 12 })

  test('each metric lies in [0, 1]', () => {
    fc.assert(
      fc.property(fc.array(id), grades, k, (list, judged, at) => {
        const found = metrics(list, judged, at)
        for (const name of NAMES) {
          expect(found[name]).toBeGreaterThanOrEqual(0)
          expect(found[name]).toBeLessThanOrEqual(1)
        }
      }),
    )
  })

  test('the best ranking has nDCG 1, and only rankings with its grades have it', () => {
    fc.assert(
      fc.property(ranking, grades, k, (list, judged, at) => {
        const ideal = Object.keys(judged).toSorted((a, b) => (judged[b] ?? 0) - (judged[a] ?? 0))
        const best = metrics(ideal, judged, at)
        expect(best.ndcg).toBe(1)
        expect(best.reciprocalRank).toBe(1)
        const gains = (ids: readonly string[]) => {
          const padded = Array.from({ length: at }, (_, index) => judged[ids[index] ?? ''] ?? 0)
          return padded.map((grade) => Math.max(0, grade))
        }
        const isIdeal = Bun.deepEquals(gains(list), gains(ideal))
        expect(metrics(list, judged, at).ndcg > 1 - 1e-9).toBe(isIdeal)
      }),
    )
  })

  test('moving a better document up never lowers a metric', () => {
    fc.assert(
      fc.property(ranking, grades, k, (list, judged, at) => {
        const before = metrics(list, judged, at)
        for (let index = 1; index < list.length; index += 1) {
          const [upper = '', lower = ''] = list.slice(index - 1, index + 1)
          if (Math.max(0, judged[lower] ?? 0) <= Math.max(0, judged[upper] ?? 0)) continue
          const swapped = list.with(index - 1, lower).with(index, upper)
          const after = metrics(swapped, judged, at)
          for (const name of NAMES) expect(after[name]).toBeGreaterThanOrEqual(before[name] - 1e-12)
        }
      }),
    )
  })

  test('a larger k never lowers recall, reciprocal rank and average precision', () => {
    fc.assert(
      fc.property(ranking, grades, k, (list, judged, at) => {
        const [near, far] = [metrics(list, judged, at), metrics(list, judged, at + 1)]
        for (const name of ['recall', 'reciprocalRank', 'averagePrecision'] as const) {
          expect(far[name]).toBeGreaterThanOrEqual(near[name])
        }
      }),
    )
  })

  test('the scale of the grades does not matter', () => {
    fc.assert(
      fc.property(ranking, grades, fc.integer({ min: 1, max: 1000 }), (list, judged, factor) => {
        const scaled = Object.entries(judged).map(
          ([name, grade]) => [name, grade * factor] as const,
        )
        const found = metrics(list, Object.fromEntries(scaled), 10)
        for (const name of NAMES)
          expect(found[name]).toBeCloseTo(metrics(list, judged, 10)[name], 9)
      }),
    )
  })
})
