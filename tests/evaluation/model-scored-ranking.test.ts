import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { modelScoredRanking } from '../../src/query/evaluate/measures.ts'

describe('judged relevance', () => {
  test('of a ranking with the best passage in third place', () => {
    const judged = modelScoredRanking([0.2, 0.4, 0.9, 0.5], 10)
    expect(judged.relevance).toBeCloseTo(0.5, 12)
    expect(judged.firstRelevantPosition).toBe(2)
    expect(judged.reciprocalRank).toBeCloseTo(1 / 3, 12)
    expect(judged.precision).toBeCloseTo(0.2, 12)
    const gain = (scores: readonly number[]) => {
      return scores.reduce((sum, score, index) => sum + score / Math.log2(index + 2), 0)
    }
    const ndcg = gain([0.2, 0.4, 0.9, 0.5]) / gain([0.9, 0.5, 0.4, 0.2])
    expect(judged.ndcg).toBeCloseTo(ndcg, 12)
  })

  test('without any relevance has no entropy and no order', () => {
    const judged = modelScoredRanking([0, 0], 10)
    expect(judged).toMatchObject({ entropy: null, ndcg: null, reciprocalRank: 0, precision: 0 })
    expect(judged.firstRelevantPosition).toBeNull()
  })

  test('has no entropy in one passage, and ln n in n equal ones', () => {
    expect(modelScoredRanking([0, 0.8, 0], 3).entropy).toBeCloseTo(0, 12)
    expect(modelScoredRanking([0.3, 0.3, 0.3, 0.3], 4).entropy).toBeCloseTo(Math.log(4), 12)
  })

  test('keeps its values within their ranges', () => {
    const scores = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 })
    fc.assert(
      fc.property(scores, (list) => {
        const { ndcg, entropy, precision, relevance } = modelScoredRanking(list, 10)
        for (const value of [ndcg ?? 0, precision, relevance]) {
          expect(value).toBeGreaterThanOrEqual(0)
          expect(value).toBeLessThanOrEqual(1 + 1e-9)
        }
        expect(entropy ?? 0).toBeGreaterThanOrEqual(-1e-9)
        expect(entropy ?? 0).toBeLessThanOrEqual(Math.log(Math.max(1, list.length)) + 1e-9)
      }),
    )
  })
})
