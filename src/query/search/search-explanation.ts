import { PART_CHUNKS } from '../../domain/hybrid-search.ts'
import type { QueryDeps } from '../query-deps.ts'
import { type CheckedSearch, type FoundChunk, searchChunks } from './search-chunks.ts'

/** How one result came to its place. null: it is not among the best of that part, or the part had no say. */
export interface ChunkExplanation {
  /** Of the nearest by their vectors. */
  readonly vector: { readonly rank: number; readonly distance: number } | null
  /** Of those with the best keywords. `score` on the scale from 0 to 1 that fusion uses. */
  readonly keyword: { readonly rank: number; readonly score: number } | null
  /** Both together. */
  readonly fusion: { readonly rank: number; readonly relevance: number } | null
  readonly reranker: { readonly score: number; readonly rankBefore: number | null } | null
}

interface Explained {
  readonly chunks: readonly FoundChunk[]
  /** False where the reranker failed. */
  readonly wasReranked: boolean
}

type Part = ReadonlyMap<string, { readonly rank: number; readonly chunk: FoundChunk }>

/** Explains each of the chunks, in their order, by searching once more for each part alone. */
export async function searchExplanations(
  search: CheckedSearch,
  { chunks, wasReranked }: Explained,
  { deps, signal }: { readonly deps: QueryDeps; readonly signal: AbortSignal },
): Promise<readonly ChunkExplanation[]> {
  const { mode } = search
  const k = Math.max(PART_CHUNKS, search.k)
  const plain = { ...search, isReranked: false, minRelevance: null, k }
  const part = async (own: CheckedSearch): Promise<Part> => {
    const found = await searchChunks(own, deps, signal)
    return new Map(found.chunks.map((chunk, index) => [chunk.chunkId, { rank: index + 1, chunk }]))
  }
  const none: Part = new Map()
  const [vector, keyword, before] = await Promise.all([
    mode === 'keyword' ? none : part({ ...plain, mode: 'vector' }),
    mode === 'vector' ? none : part({ ...plain, mode: 'keyword' }),
    mode === 'hybrid' || wasReranked ? part(plain) : none,
  ])
  return chunks.map((chunk) => {
    const near = vector.get(chunk.chunkId)
    const worded = keyword.get(chunk.chunkId)
    const fused = before.get(chunk.chunkId)
    return {
      vector: near ? { rank: near.rank, distance: near.chunk.distance ?? 0 } : null,
      keyword: worded ? { rank: worded.rank, score: worded.chunk.relevance ?? 0 } : null,
      fusion:
        mode === 'hybrid' && fused
          ? { rank: fused.rank, relevance: fused.chunk.relevance ?? 0 }
          : null,
      reranker: wasReranked
        ? { score: chunk.relevance ?? 0, rankBefore: fused?.rank ?? null }
        : null,
    }
  })
}
