/**
 * The convex combination that `sql/subquery/hybrid-rows.ts` computes of every chunk: alpha · max(0, cosine) + (1 - alpha) ·
 * BM25 by its bound, with the same operations on numbers. Each part is scaled by what it can be at all and not by the best
 * hit, so that a relevance means the same for every text and under every filter. The best are found from the front of the
 * two orders and are exact: R. Fagin, A. Lotem, M. Naor, "Optimal aggregation algorithms for middleware", 2001. The scaling
 * is that of S. Bruch, S. Gai, A. Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023, with 0 as the least
 * cosine that means something.
 */
import type { KeywordHits, NearestChunk } from '../core/domain/ports/search-ports.ts'
import { compareFused, type RankedHit } from './fusion.ts'

export interface ConvexSearch {
  /** The weight of the vectors, 0 to 1. */
  readonly alpha: number
  /** So many of the best are wanted. */
  readonly firstCount: number
  /** The nearest that were looked for; with fewer of them there are no others. */
  readonly nearestCount: number
  /** Those nearest, and maybe some more; none where the keyword hits are enough. */
  readonly neighbours: readonly NearestChunk[]
  readonly hits: KeywordHits
  /** So many of the best keyword hits were looked for. */
  readonly hitCount: number
  /** Whether all that are as relevant as the last are wanted, however far they are: unset, those equally near. */
  readonly isOfRelevanceOnly?: boolean
}

/**
 * The most relevant first, of equal ones the nearer, with those that are equal to the last.
 * @returns null where too many keyword hits are in question
 * @throws AppError those of `KeywordHits`
 */
export async function bestConvex(
  search: ConvexSearch,
  signal: AbortSignal,
): Promise<readonly RankedHit[] | null> {
  const { hits, firstCount, neighbours } = search
  const ranked = new RankedHits(search)
  const scores = hits.scoresOf(neighbours.map(({ key }) => key))
  for (const [index, chunk] of neighbours.entries()) ranked.add(chunk, scores[index] ?? 0)
  const { farthest } = ranked
  for (let best = hits.best, count = search.hitCount; ; count *= DEEPER) {
    const least = ranked.least()
    const open = best.filter(({ key, score }) => {
      return !ranked.has(key) && ranked.relevanceOf(farthest, score) >= least
    })
    const scoreOf = new Map(open.map(({ key, score }) => [key, score]))
    const measured = open.length === 0 ? [] : await hits.distancesOf([...scoreOf.keys()], signal)
    for (const chunk of measured) ranked.add(chunk, scoreOf.get(chunk.key) ?? 0)
    const last = best.at(-1)?.score ?? 0
    if (best.length < count || ranked.relevanceOf(farthest, last) < ranked.least()) break
    const deeper = await hits.bestOf(count * DEEPER, signal)
    if (deeper === null) return null
    best = deeper
  }
  return search.isOfRelevanceOnly === true ? ranked.above(ranked.least()) : ranked.first(firstCount)
}

/** How many more keyword hits are looked at where those so far may not be enough. */
const DEEPER = 4

/** The chunks that were measured so far. */
class RankedHits {
  readonly #search: ConvexSearch
  readonly #hits = new Map<bigint, RankedHit>()
  /** No chunk but the neighbours is nearer than this. */
  readonly farthest: number

  constructor(search: ConvexSearch) {
    this.#search = search
    const { neighbours, nearestCount } = search
    const distances = neighbours.map(({ distance }) => distance).sort((one, other) => one - other)
    this.farthest = distances[nearestCount - 1] ?? distances.at(-1) ?? 0
  }

  relevanceOf(distance: number, score: number): number {
    const { alpha, hits } = this.#search
    const part = score === 0 ? 0 : score / hits.scoreBound
    return Math.min(1, alpha * Math.max(0, 1 - distance) + (1 - alpha) * part)
  }

  has(key: bigint): boolean {
    return this.#hits.has(key)
  }

  add({ key, distance }: NearestChunk, score: number): void {
    this.#hits.set(key, { key, distance, relevance: this.relevanceOf(distance, score) })
  }

  /** The relevance that a chunk needs to be among the wanted ones. */
  least(): number {
    const { firstCount } = this.#search
    if (this.#hits.size < firstCount) return 0
    const relevances = Float64Array.from(this.#hits.values(), ({ relevance }) => relevance).sort()
    return relevances[relevances.length - firstCount] ?? 0
  }

  above(least: number): readonly RankedHit[] {
    return [...this.#hits.values()].filter(({ relevance }) => relevance >= least)
  }

  first(count: number): readonly RankedHit[] {
    return firstOf([...this.#hits.values()], count)
  }
}

/** The best first, with those that are equal to the last. */
export function firstOf(hits: readonly RankedHit[], count: number): readonly RankedHit[] {
  const all = hits.toSorted(compareFused)
  const last = all[count - 1]
  return last === undefined ? all : all.filter((one) => compareFused(one, last) <= 0)
}
