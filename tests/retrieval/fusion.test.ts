import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Fusion } from '../../src/core/domain/hybrid-search.ts'
import { exactFusion, fusedHits } from '../../src/retrieval/fusion.ts'
import { keywordPartsSql, vectorPartsSql } from '../../src/sql/subquery/hybrid-rows.ts'
import type { Store } from '../../src/store/store.ts'
import { openMemoryStore, rowsOf } from '../support/store-fixture.ts'

let store: Store

beforeAll(async () => {
  store = await openMemoryStore()
})

afterAll(() => store.close())

interface Found {
  /** Relevance by key. */
  readonly distances: readonly number[]
  readonly scores: readonly number[]
  readonly alpha: number
  readonly fusion: Fusion
}

/** Returns the relevance of each key that has one, as the scanning statement computes it. */
async function scannedRelevances({ distances, scores, alpha, fusion }: Found) {
  const rows = await rowsOf(
    store,
    `WITH distances AS (SELECT unnest($distances::DOUBLE[])::DOUBLE AS distance,
        unnest(range(len($distances::DOUBLE[]))) AS chunk_key),
      scores AS (SELECT unnest($scores::DOUBLE[])::DOUBLE AS score,
        60 + unnest(range(len($scores::DOUBLE[]))) AS chunk_key),
      near AS (${vectorPartsSql('distances', fusion)}), keywordHits AS (${keywordPartsSql('scores', fusion)})
    SELECT coalesce(n.chunk_key, w.chunk_key) AS key, least(1, ${alpha}::DOUBLE * coalesce(n.part, 0)
      + (1 - ${alpha}::DOUBLE) * coalesce(w.part, 0))::DOUBLE AS relevance
    FROM near AS n FULL JOIN keywordHits AS w ON w.chunk_key = n.chunk_key`,
    { distances, scores },
  )
  return new Map(rows.map(([key, relevance]) => [Number(key), Number(relevance)]))
}

/** Few values, so that many are equal. Both kinds share some keys. */
const few: fc.Arbitrary<number[]> = fc.array(fc.constantFrom<number>(0.1, 0.25, 0.3, 0.7, 1.9), {
  maxLength: 130,
})
const many = fc.array(fc.double({ min: 0.001, max: 2, noNaN: true }), { maxLength: 150 })

test('relevances equal those of the scanning statement to the last bit', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        distances: fc.oneof(few, many),
        scores: fc.oneof(few, many),
        alpha: fc.constantFrom(0, 0.3, 0.5, 1),
        fusion: fc.constantFrom<Fusion>('scaled', 'rrf'),
      }),
      async (found) => {
        const wanted = await scannedRelevances(found)
        const neighbours = found.distances
          .map((distance, index) => ({ key: BigInt(index), distance }))
          .toSorted((one, other) => one.distance - other.distance)
        const scored = found.scores
          .map((score, index) => ({ key: BigInt(60 + index), score }))
          .toSorted((one, other) => other.score - one.score)
        const least = scored[99]?.score ?? 0
        const keywordHits = scored.filter(({ score }) => score >= least)
        const fused = fusedHits({ neighbours, keywordHits }, found)
        const relevances = fused.filter(({ key }) => wanted.has(Number(key)))
        expect(new Map(relevances.map((one) => [Number(one.key), one.relevance]))).toEqual(wanted)
        const others = fused.filter(({ key }) => !wanted.has(Number(key)))
        expect(others.every(({ relevance }) => relevance === 0)).toBe(true)
        const order = fused.map(({ relevance }) => relevance)
        expect(order).toEqual(order.toSorted((one, other) => other - one))
      },
    ),
    { numRuns: 60 },
  )
})

test('of equally relevant chunks the nearer ones are first; only those in question are measured', async () => {
  const fused = [
    { key: 1n, relevance: 0.9, distance: 0.5 },
    { key: 2n, relevance: 0.5, distance: null },
    { key: 3n, relevance: 0.5, distance: 0.2 },
    { key: 4n, relevance: 0.5, distance: null },
    { key: 5n, relevance: 0.5, distance: 0.3 },
    { key: 6n, relevance: 0.1, distance: null },
  ]
  const asked: bigint[][] = []
  const measured = async (keys: readonly bigint[]) => {
    asked.push([...keys])
    return keys.map((key) => ({ key, distance: key === 2n ? 0.3 : 0.1 }))
  }
  const first = await exactFusion(fused, { firstCount: 4, distancesOf: measured })
  expect(first.map(({ key }) => key)).toEqual([1n, 4n, 3n, 2n, 5n])
  expect(asked).toEqual([[2n, 4n]])
  const all = await exactFusion(fused, { firstCount: null, distancesOf: measured })
  expect(all.map(({ key }) => key)).toEqual([1n, 4n, 3n, 2n, 5n, 6n])
  expect(await exactFusion([], { firstCount: 3, distancesOf: measured })).toEqual([])
})
