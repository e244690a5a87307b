/**
 * Feedback (domain/hybrid-search.ts) as `sql/subquery/hybrid-rows.ts` has the database compute it, with the same operations on
 * numbers in the same order.
 */
import { FEEDBACK } from '../core/domain/hybrid-search.ts'
import type { NearestFound } from '../core/domain/ports/search-ports.ts'
import { bestConvex, type ConvexSearch, firstOf } from './convex-fusion.ts'
import { compareFused, type RankedHit } from './fusion.ts'

export interface FedBackSearch extends ConvexSearch {
  /** Of the text. */
  readonly queryVector: Float32Array
  /** False: it is not moved. */
  readonly isFedBack: boolean
}

/**
 * `bestConvex` by the moved vector. The distances are those to the text.
 * @param search.nearestCount not less than `firstCount` and the chunks of feedback
 * @param feedback unset: nothing to search with
 * @returns null as `bestConvex`
 * @throws AppError those of `feedback` and of the keyword hits
 */
export async function bestFedBack(
  search: FedBackSearch,
  feedback: NearestFound['feedback'],
  signal: AbortSignal,
): Promise<readonly RankedHit[] | null> {
  const { hits: keywordHits, isFedBack, queryVector } = search
  if (!isFedBack || feedback === undefined) return bestConvex(search, signal)
  const first = await bestConvex({ ...search, firstCount: FEEDBACK.firstCount }, signal)
  if (first === null) return null
  const keys = first
    .toSorted((one, other) => compareFused(one, other) || (one.key < other.key ? -1 : 1))
    .slice(0, FEEDBACK.firstCount)
    .map(({ key }) => key)
  const scores = keywordHits.scoresOf(keys)
  const worded = keys.filter((_, index) => scores[index] !== 0)
  if (worded.length === 0) return bestConvex(search, signal)
  const vectors = await feedback.vectorsOf(worded, signal)
  const movedVector = moved(
    queryVector,
    worded.flatMap((key) => vectors.get(key) ?? []),
  )
  const found = await feedback.searchBy(movedVector, signal)
  if (found === null) return null
  const { neighbours, keywordHits: hits } = found
  // Those of equal relevance come by their distances to the text: the nearest to it are among the neighbours as well.
  const ranked = await bestConvex({ ...search, neighbours, hits, isOfRelevanceOnly: true }, signal)
  if (ranked === null) return null
  const relevances = new Map(ranked.map(({ key, relevance }) => [key, relevance]))
  const measured = await keywordHits.distancesOf([...relevances.keys()], signal)
  const all = measured.map((chunk) => ({ ...chunk, relevance: relevances.get(chunk.key) ?? 0 }))
  return firstOf(all, search.firstCount)
}

function moved(vector: Float32Array, towards: readonly Float32Array[]): Float32Array {
  const share = FEEDBACK.weight / FEEDBACK.firstCount
  const totals = Float64Array.from(vector, (part, dimension) => {
    return part + share * towards.reduce((sum, one) => sum + (one[dimension] ?? 0), 0)
  })
  const length = Math.sqrt(totals.reduce((sum, total) => sum + total * total, 0))
  return Float32Array.from(totals, (total) => total / length)
}
