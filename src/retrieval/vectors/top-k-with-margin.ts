import type { NearestChunk } from '../../core/domain/ports/search-ports.ts'
import { VECTOR_LIMITS } from '../kernel/vector-limits.ts'
import type { ExactIndex, VectorSearch } from './exact-index.ts'

/**
 * The nearest `k`, and all that are at most `margin` farther than the k-th: enough to
 * compute their distances again with another rounding, and to take the nearest `k` by these. null: they
 * are more than an index gives.
 * @throws AppError as `ExactIndex.search` does
 */
export async function topKWithMargin(
  index: Pick<ExactIndex, 'search'>,
  search: VectorSearch & { readonly margin: number },
  signal: AbortSignal,
): Promise<readonly NearestChunk[] | null> {
  const { neighboursMax } = VECTOR_LIMITS
  if (search.k > neighboursMax) return null
  // A `k` that is not a count goes on as it is, to be refused.
  let wanted = search.k > 0 ? Math.min(search.k + 8, neighboursMax) : search.k
  for (;;) {
    const found = await index.search({ ...search, k: wanted }, signal)
    const farthest = (found[search.k - 1]?.distance ?? Number.POSITIVE_INFINITY) + search.margin
    const count = found.findIndex(({ distance }) => distance > farthest)
    if (count !== -1) return found.slice(0, count)
    if (found.length < wanted || wanted === 0) return found
    if (wanted === neighboursMax) return null
    // Where so many are so near, most of all may be.
    wanted = Math.min(wanted * 8, neighboursMax)
  }
}

/**
 * How far two distances can change places when inner products of unit vectors are added up in
 * float32 in any order: each is off by no more than n * 2^-24, and a little for 1 - x.
 */
export function float32Margin(dimensions: number): number {
  return 2 * (dimensions + 2) * 2 ** -24
}
