import { PART_CHUNKS, type SearchMode } from '../../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal } from '../../core/domain/names.ts'
import type { FoundPassage } from '../../core/domain/ports/model-ports.ts'
import type { VectorAccess } from '../../core/domain/ports/search-ports.ts'
import { SLICE_MS, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { matchedWords, type TextRange } from '../../core/text/phrases.ts'
import { AMONG_FILTERED } from '../select/find-candidates.ts'
import { candidateRequests } from '../select/plan-cache.ts'
import { type QueryDeps, StageTimer, type StageTimes } from '../select/query-deps.ts'
import {
  CHUNK_COLUMNS,
  type CheckedSearch,
  type ChunkSearch,
  checkedSearch,
  type FoundChunk,
  hybridOf,
  isFedBack,
  quotedName,
  readChunks,
  type SearchedChunks,
  searchChunks,
  searchDocuments,
  selectChunks,
} from './chunk-search.ts'
import { inlineFilter } from './search-filter.ts'

export interface SearchOrder extends ChunkSearch {
  readonly explain: boolean
  /** The most chunks to return before and after each result. */
  readonly neighbours: number
  readonly isHighlighted?: boolean
  readonly isJudged?: boolean
}

export interface SearchResult extends FoundChunk {
  /** Counted from 1. */
  readonly rank: number
  readonly neighbours: Neighbourhood | null
  readonly explanation: ChunkExplanation | null
  /**
   * Where words of the query occur in the content. Null if not requested, or in a vector search.
   */
  readonly highlights: readonly TextRange[] | null
}

export interface SearchAnswer {
  readonly results: readonly SearchResult[]
  /** How likely the best results answer the query, from 0 to 1. Missing if not requested. */
  readonly answerable?: number
  readonly warnings: readonly string[]
  /** Null if not requested. */
  readonly explanation: SearchExplanation | null
}

export interface SearchExplanation {
  readonly mode: SearchMode
  readonly isReranked: boolean
  /**
   * Whether relevance feedback was to be used, moving the query vector towards the first results.
   */
  readonly isFedBack: boolean
  /** A statement that finds the same chunks; null if one statement is not enough. */
  readonly sql: string | null
  readonly access: VectorAccess
  /** Milliseconds for the search itself, without the explanation. */
  readonly ms: StageTimes & { readonly total: number }
}

/** null for a part that was not used, or if the result is not among its best. */
interface ChunkExplanation {
  /** Its rank among the nearest vectors. */
  readonly vector: { readonly rank: number; readonly distance: number } | null
  /** Its rank among the keyword hits. `score` is on the scale from 0 to 1 that fusion uses. */
  readonly keyword: { readonly rank: number; readonly score: number } | null
  /** The rank after fusion of the two. */
  readonly fusion: { readonly rank: number; readonly relevance: number } | null
  readonly reranker: { readonly score: number; readonly rankBefore: number | null } | null
}

/** @throws AppError `invalid_request` naming the field, and like `searchChunks` */
export async function runSearch(
  kb: KnowledgeBase,
  order: SearchOrder,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const search = checkedSearch(kb, order)
  const startMs = deps.nowMs()
  const found = search.isPerDocument ? searchDocuments : searchChunks
  const searched = await found(search, deps, signal)
  const total = deps.nowMs() - startMs
  const { chunks, run } = searched
  const { neighbours: count } = order
  const neighbourhoods =
    count === 0 ? [] : await searchNeighbours({ kb, chunks, count }, deps, signal)
  const explanations = order.explain ? await explainChunks(search, searched, deps, signal) : []
  const text = typeof order.query === 'string' ? order.query : null
  const highlightsOf = order.isHighlighted && text !== null ? matchedWords(text, kb.language) : null
  const judged =
    order.isJudged && text !== null
      ? await deps.judgeAnswerability(text, chunks.map(foundPassage))
      : null
  const slice = new TimeSlice(SLICE_MS)
  const results: SearchResult[] = []
  for (const [index, chunk] of chunks.entries()) {
    await slice.yieldIfSpent(signal)
    results.push({
      ...chunk,
      rank: index + 1,
      neighbours: neighbourhoods[index] ?? null,
      explanation: explanations[index] ?? null,
      highlights: highlightsOf?.(chunk.content) ?? null,
    })
  }
  return {
    ...(judged === null ? {} : { answerable: judged.score }),
    results,
    warnings: run?.warnings ?? [],
    explanation: order.explain
      ? {
          mode: search.mode,
          isReranked: run?.isReranked ?? false,
          isFedBack: isFedBack(search),
          sql: searchStatement(search, order.filters),
          access: accessOf(kb, searched, deps),
          ms: { ...(run?.times ?? new StageTimer(deps.nowMs).times), total },
        }
      : null,
  }
}

function foundPassage({ id, content, metadata, relevance, distance }: FoundChunk): FoundPassage {
  return {
    documentId: id,
    text: content,
    heading: typeof metadata.heading === 'string' ? metadata.heading : '',
    relevance: relevance ?? 0,
    ...(distance === null ? {} : { cosine: 1 - distance }),
  }
}

function accessOf(kb: KnowledgeBase, { run }: SearchedChunks, deps: QueryDeps): VectorAccess {
  const requests = run === null ? [] : candidateRequests(run.plan)
  const isFiltered = requests.some(({ prefilter }) => prefilter !== null)
  const access = deps.nearest.access(kb, isFiltered)
  if (access.kind === 'scan') return access
  if (!run?.isFromMemory) return { kind: 'scan', detail: 'the database measured every vector' }
  return isFiltered ? { ...access, detail: `${access.detail}${AMONG_FILTERED}` } : access
}

type RankedChunks = ReadonlyMap<string, { readonly rank: number; readonly chunk: FoundChunk }>

/** Explains each result by searching again with each part alone. */
async function explainChunks(
  search: CheckedSearch,
  { chunks, run }: SearchedChunks,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly ChunkExplanation[]> {
  const { mode, minRelevance: _, ...unlimited } = search
  const isReranked = run?.isReranked ?? false
  const plain = { ...unlimited, mode, isReranked: false, k: Math.max(PART_CHUNKS, search.k) }
  const { fusion = search.knowledgeBase.search.fusion } = search
  const ranked = async (part: CheckedSearch): Promise<RankedChunks> => {
    const searched = await searchChunks(part, deps, signal)
    return new Map(
      searched.chunks.map((chunk, index) => [chunk.chunkId, { rank: index + 1, chunk }]),
    )
  }
  const none: RankedChunks = new Map()
  const [byVector, byKeywords, before] = await Promise.all([
    mode === 'keyword' ? none : ranked({ ...plain, mode: 'vector' }),
    mode === 'vector' ? none : ranked({ ...plain, mode: 'keyword', fusion }),
    mode === 'hybrid' || isReranked ? ranked(plain) : none,
  ])
  return chunks.map(({ chunkId, relevance }) => {
    const near = byVector.get(chunkId)
    const hit = byKeywords.get(chunkId)
    const fused = before.get(chunkId)
    return {
      vector: near ? { rank: near.rank, distance: near.chunk.distance ?? 0 } : null,
      keyword: hit ? { rank: hit.rank, score: hit.chunk.relevance ?? 0 } : null,
      fusion:
        mode === 'hybrid' && fused
          ? { rank: fused.rank, relevance: fused.chunk.relevance ?? 0 }
          : null,
      reranker: isReranked ? { score: relevance ?? 0, rankBefore: fused?.rank ?? null } : null,
    }
  })
}

/** To copy; null if it takes several or searches for a vector. @throws AppError */
function searchStatement(search: CheckedSearch, filters: unknown): string | null {
  const { query, k, minRelevance, mode, isReranked, knowledgeBase: kb } = search
  if (typeof query !== 'string' || search.isPerDocument === true) return null
  const conditions = [
    `content = ${literal(query)}`,
    ...optionsOf(search),
    ...(search.filter.sql === 'TRUE' ? [] : [inlineFilter(kb, filters)]),
    ...(mode === 'keyword' && !isReranked ? ['relevance > 0'] : []),
    ...(minRelevance === undefined ? [] : [`relevance >= ${minRelevance}`]),
  ]
  return `SELECT ${CHUNK_COLUMNS}\nFROM ${quotedName(kb)}\nWHERE ${conditions.join('\n  AND ')}\nLIMIT ${k}`
}

function optionsOf(search: CheckedSearch): readonly string[] {
  const { knowledgeBase: kb, isReranked, allowsPartial = false } = search
  const reranking = kb.rerankingModel === null || isReranked ? [] : ['reranking = false']
  const partial = allowsPartial ? ['allow_partial = true'] : []
  const hybrid = hybridOf(search)
  if (hybrid === null) return ['hybrid_search = false', ...reranking, ...partial]
  return [
    hybrid.alpha === null ? 'hybrid_search = true' : `hybrid_search_alpha = ${hybrid.alpha}`,
    `hybrid_search_fusion = ${literal(hybrid.fusion)}`,
    `hybrid_search_feedback = ${hybrid.hasFeedback}`,
    ...reranking,
    ...partial,
  ]
}

/** The chunks before and after one, from the same column of the same document, in text order. */
interface Neighbourhood {
  readonly before: readonly FoundChunk[]
  readonly after: readonly FoundChunk[]
}

interface Place {
  readonly column: string
  /** The position in the column's text, counted from 0. */
  readonly chunkIndex: number
}

/** Of all results with one statement, in order. @param count at most, on each side */
async function searchNeighbours(
  given: {
    readonly kb: KnowledgeBase
    readonly chunks: readonly FoundChunk[]
    readonly count: number
  },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly Neighbourhood[]> {
  const { kb, chunks, count } = given
  const places = new Set(chunks.flatMap((chunk) => keysAround(chunk, count).all))
  if (places.size === 0) return chunks.map(() => ({ before: [], after: [] }))
  const sql = `SELECT ${CHUNK_COLUMNS} FROM ${quotedName(kb)} WHERE id IN :ids
    AND concat(id, ':', metadata->>'content_column', ':', metadata->>'chunk_index') IN :places`
  const ids = [...new Set(chunks.map(({ id }) => id))]
  const request = { sql, params: { ids, places: [...places] } }
  const nearby = await readChunks(await selectChunks(kb, request, deps, signal))
  const byPlace = new Map(nearby.map((chunk) => [placeKey(chunk.id, foundPlace(chunk)), chunk]))
  const present = (keys: readonly string[]) => keys.flatMap((key) => byPlace.get(key) ?? [])
  return chunks.map((chunk) => {
    const { before, after } = keysAround(chunk, count)
    return { before: present(before), after: present(after) }
  })
}

function keysAround(chunk: FoundChunk, count: number) {
  const { column, chunkIndex } = foundPlace(chunk)
  const at = (index: number) => placeKey(chunk.id, { column, chunkIndex: index })
  const first = Math.max(0, chunkIndex - count)
  const before = Array.from({ length: chunkIndex - first }, (_, offset) => at(first + offset))
  const after = Array.from({ length: count }, (_, offset) => at(chunkIndex + 1 + offset))
  return { before, after, all: [...before, ...after] }
}

function placeKey(id: string, { column, chunkIndex }: Place): string {
  return `${id}:${column}:${chunkIndex}`
}

function foundPlace({
  metadata: { content_column: column, chunk_index: index },
}: FoundChunk): Place {
  return { column: String(column), chunkIndex: Number(index) }
}
