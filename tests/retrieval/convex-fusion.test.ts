import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { KeywordHits } from '../../src/core/domain/ports/search-ports.ts'
import { bestConvex } from '../../src/retrieval/fusion.ts'

const { signal } = new AbortController()
const BOUND = 20

interface Chunk {
  readonly distance: number
  /** Returns 0 if it contains no word of the query. */
  readonly score: number
}

/** Few values, so that many are equal, and many values. */
const chunk: fc.Arbitrary<Chunk> = fc.record({
  distance: fc.oneof(
    fc.constantFrom(0.2, 0.3, 0.7, 1.2),
    fc.double({ min: 0, max: 1.5, noNaN: true }),
  ),
  score: fc.oneof(fc.constantFrom(0, 0, 1, 4, 12), fc.double({ min: 0.001, max: 19, noNaN: true })),
})

function orderOf(one: readonly number[], other: readonly number[]): number {
  return one.map((value, index) => value - (other[index] ?? 0)).find((step) => step !== 0) ?? 0
}

/** Returns the first ones and those equal to the last of them. */
function front<T>(all: readonly T[], count: number, valuesOf: (item: T) => readonly number[]) {
  const sorted = all.toSorted((one, other) => orderOf(valuesOf(one), valuesOf(other)))
  const last = sorted[count - 1]
  if (last === undefined) return sorted
  return sorted.filter((one) => orderOf(valuesOf(one), valuesOf(last)) <= 0)
}

test('the best from the front of both orders are the best of all chunks', async () => {
  let looked = 0
  let all = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(chunk, { maxLength: 200 }),
      fc.constantFrom(0, 0.05, 0.5, 0.9),
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 0, max: 20 }),
      async (chunks, alpha, firstCount, more) => {
        const keyed = chunks.map((one, index) => ({ ...one, key: BigInt(index) }))
        const hits = keyed.filter(({ score }) => score > 0)
        const bestOf = (count: number) => front(hits, count, ({ score }) => [-score])
        const hitCount = 1 + more
        const nearestCount = firstCount + more
        const keywordHits: KeywordHits = {
          best: bestOf(hitCount),
          bestOf: async (count) => bestOf(count),
          scoreBound: BOUND,
          scoresOf: (keys) => keys.map((key) => chunks[Number(key)]?.score ?? 0),
          distancesOf: async (keys) => {
            looked += keys.length
            return keys.map((key) => ({ key, distance: chunks[Number(key)]?.distance ?? 0 }))
          },
        }
        all += chunks.length
        const neighbours = front(keyed, nearestCount, ({ distance }) => [distance])
        const search = { alpha, firstCount, nearestCount, hitCount, neighbours }
        const found = await bestConvex({ ...search, hits: keywordHits }, signal)
        const relevant = keyed.map(({ key, distance, score }) => {
          const relevance = alpha * Math.max(0, 1 - distance) + (1 - alpha) * (score / BOUND)
          return { key, distance, relevance: Math.min(1, relevance) }
        })
        const wanted = front(relevant, firstCount, (one) => [-one.relevance, one.distance])
        const byKey = (one: { key: bigint }, other: { key: bigint }) => Number(one.key - other.key)
        expect(found?.toSorted(byKey)).toEqual(wanted.toSorted(byKey))
      },
    ),
    { numRuns: 500 },
  )
  expect(looked).toBeLessThan(all / 2)
})

test('with too many keyword hits, memory gives up', async () => {
  const best = Array.from({ length: 10 }, (_, index) => ({ key: BigInt(index), score: 1 }))
  const hits: KeywordHits = {
    best,
    bestOf: async () => null,
    scoreBound: BOUND,
    scoresOf: (keys) => keys.map(() => 0),
    distancesOf: async (keys) => keys.map((key) => ({ key, distance: 0.5 })),
  }
  const search = { alpha: 0.5, firstCount: 10, nearestCount: 10, hitCount: 10, hits }
  expect(await bestConvex({ ...search, neighbours: [{ key: 99n, distance: 0.4 }] }, signal)).toBe(
    null,
  )
})
