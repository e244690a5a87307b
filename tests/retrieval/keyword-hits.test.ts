import { expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  ascendingKeys,
  commonKeys,
  keywordHits,
} from '../../src/retrieval/keywords/keyword-hits.ts'
import type { Corpus, PostingList } from '../../src/retrieval/keywords/term-scorer.ts'

type Posting = readonly [key: number, frequency: number, termCount: number]

function listOf(postings: readonly Posting[]): PostingList {
  const sorted = postings.toSorted(([one], [other]) => one - other)
  return {
    keys: Uint32Array.from(sorted, ([key]) => key),
    frequencies: Uint16Array.from(sorted, ([, frequency]) => frequency),
    termCounts: Uint16Array.from(sorted, ([, , termCount]) => termCount),
  }
}

/** Computes BM25 as in textbooks. Returns scores by key. */
function plainScores(
  lists: readonly (readonly Posting[])[],
  counts: readonly number[],
  corpus: Corpus,
) {
  const scores = new Map<number, number>()
  for (const [index, postings] of lists.entries()) {
    const rarity = Math.log(
      1 + (corpus.chunkCount - postings.length + 0.5) / (postings.length + 0.5),
    )
    for (const [key, frequency, termCount] of postings) {
      const length = 1 - 0.75 + (0.75 * termCount) / corpus.meanTermCount
      const score = ((counts[index] ?? 0) * rarity * frequency * 2.2) / (frequency + 1.2 * length)
      scores.set(key, (scores.get(key) ?? 0) + score)
    }
  }
  return scores
}

/** Keys that are far apart and close together. */
const key = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 8150, max: 8250 }),
  fc.integer({ min: 0, max: 0xffff_ffff }),
)
const posting = fc.tuple(key, fc.integer({ min: 1, max: 4 }), fc.constantFrom(3, 8, 40))
const postings = fc.uniqueArray(posting, { selector: ([one]) => one, maxLength: 60 })

test('the best keyword hits, with ties, are those of scoring every chunk', () => {
  fc.assert(
    fc.property(
      fc.array(postings, { maxLength: 5 }),
      fc.integer({ min: 1, max: 12 }),
      fc.option(fc.uniqueArray(key, { maxLength: 80 })),
      (lists, count, keys) => {
        const corpus = { chunkCount: 300, meanTermCount: 9 }
        const allowed = keys === null ? null : Uint32Array.from(keys).sort()
        const counts = lists.map((_, index) => 1 + (index % 3))
        const searched = { lists: lists.map(listOf), counts, corpus, phrases: null }
        const found = keywordHits({ ...searched, count, allowed })
        const wanted = [...plainScores(lists, counts, corpus)]
          .filter(([one]) => keys === null || keys.includes(one))
          .map(([one, score]) => [one, Number(score.toFixed(9))] as const)
          .toSorted(([a, one], [b, other]) => other - one || a - b)
        const least = wanted[count - 1]?.[1] ?? 0
        const best = wanted.filter(([, score]) => score >= least - 5e-10)
        expect(found.map((one) => one.key).toSorted()).toEqual(best.map(([one]) => one).toSorted())
        for (const [index, { score }] of found.entries()) {
          expect(score).toBeCloseTo(best[index]?.[1] ?? Number.NaN, 8)
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('chunks with equal scores are all returned, in key order', () => {
  const same = Array.from({ length: 500 }, (_, index): Posting => [index * 7, 1, 5])
  const corpus = { chunkCount: 1000, meanTermCount: 5 }
  const found = keywordHits({
    lists: [listOf(same)],
    counts: [1],
    corpus,
    phrases: null,
    count: 10,
    allowed: null,
  })
  expect(found.map((one) => one.key)).toEqual(same.map(([one]) => one))
  expect(new Set(found.map((one) => one.score)).size).toBe(1)
})

test('if no chunk has any of the words, nothing is found', () => {
  const corpus = { chunkCount: 0, meanTermCount: 0 }
  expect(
    keywordHits({ lists: [], counts: [], corpus, phrases: null, count: 10, allowed: null }),
  ).toEqual([])
  const empty = new Uint32Array(0)
  const lists = [listOf([[1, 1, 1]])]
  expect(
    keywordHits({ lists, counts: [1], corpus, phrases: null, count: 10, allowed: empty }),
  ).toEqual([])
})

test('keys ascend and are common as those of sets', () => {
  const large = fc.bigInt({ min: 0n, max: 2n ** 34n })
  const keys = fc.uniqueArray(fc.oneof(large, fc.bigInt({ min: 0n, max: 30n })))
  fc.assert(
    fc.property(keys, keys, (one, other) => {
      const small = (all: readonly bigint[]) => {
        return all.filter((item) => item < 2n ** 32n).map(Number)
      }
      const ascending = (all: readonly number[]) => all.toSorted((a, b) => a - b)
      const [first, second] = [one, other].map((all) => ascendingKeys(BigInt64Array.from(all)))
      expect([...(first ?? [])]).toEqual(ascending(small(one)))
      const both = small(one).filter((item) => small(other).includes(item))
      const empty = new Uint32Array(0)
      expect([...commonKeys(first ?? empty, second ?? empty)]).toEqual(ascending(both))
    }),
  )
})
