/**
 * Plans the search of `POST …/search` as a SELECT whose WHERE is the filter. The search itself is
 * passed separately.
 */

import { requireKnowledgeBase } from '../../core/domain/access/catalog-snapshot.ts'
import type { Fusion, SearchMode } from '../../core/domain/hybrid-search.ts'
import { type KnowledgeBase, rerankCandidateCount } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { hasCode, wrongField } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { canBeFedBack } from '../../retrieval/fusion.ts'
import type { HybridSearch } from '../../sql/search/ranking.ts'
import { combinedSearch } from '../../sql/search/search-options.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { runSelect, type SelectRequest, type SelectRows } from '../select/run-select.ts'
import { type SearchFilter, searchFilter } from './search-filter.ts'

/** A text with this many leading blanks counts as empty. */
const BLANK_CHARS_MAX = 200_000

export interface ChunkSearch {
  /** A text or a vector. */
  readonly query: string | readonly number[]
  /** The most results to return. */
  readonly k: number
  /** By default `hybrid` for a text, and `vector` for a vector. */
  readonly mode?: SearchMode
  readonly alpha?: number
  readonly fusion?: Fusion
  /** Moves the query vector towards the first results. Unset: the base's setting. */
  readonly hasFeedback?: boolean
  /** See `searchFilter`. */
  readonly filters?: unknown
  readonly minRelevance?: number
  readonly rerank?: boolean
  /** Whether to return the best chunk of each document instead of the best chunks. */
  readonly isPerDocument?: boolean
  /** Whether nodes of the storage that cannot be reached are left out. */
  readonly allowsPartial?: boolean
}

/** A search whose fields were checked against each other and the knowledge base. */
export interface CheckedSearch extends Omit<ChunkSearch, 'filters' | 'rerank'> {
  readonly knowledgeBase: KnowledgeBase
  readonly mode: SearchMode
  readonly filter: SearchFilter
  readonly isReranked: boolean
}

/** @throws AppError `invalid_request` naming the field */
export function checkedSearch(kb: KnowledgeBase, search: ChunkSearch): CheckedSearch {
  const { query, alpha, fusion, hasFeedback, filters = {} } = search
  const isText = typeof query === 'string'
  // A very long text is refused later, so do not scan all of it here.
  const isEmpty = isText ? !/\S/.test(query.slice(0, BLANK_CHARS_MAX)) : query.length === 0
  if (isEmpty) throw wrongField('query', 'must not be empty')
  const mode = search.mode ?? (isText ? 'hybrid' : 'vector')
  if (!isText && mode !== 'vector') {
    throw wrongField(
      'mode',
      `"${mode}" needs a text to search for; a vector is searched by "vector"`,
    )
  }
  if (mode !== 'hybrid' && (alpha !== undefined || fusion !== undefined)) {
    throw wrongField(alpha === undefined ? 'fusion' : 'alpha', 'is for the mode "hybrid"')
  }
  if (mode !== 'hybrid' && hasFeedback !== undefined) {
    throw wrongField('feedback', 'is for the mode "hybrid"')
  }
  const filter = searchFilter(kb, filters)
  return { ...search, knowledgeBase: kb, mode, filter, isReranked: isRerankedSearch(kb, search) }
}

function isRerankedSearch(kb: KnowledgeBase, { query, rerank }: ChunkSearch): boolean {
  const isText = typeof query === 'string'
  if (rerank !== true) return rerank !== false && isText && kb.rerankingModel !== null
  if (!isText) throw wrongField('rerank', 'needs a text to search for')
  if (kb.rerankingModel !== null) return true
  throw wrongField('rerank', `is not possible: ${kb.name} has no reranking model`)
}

export interface FoundChunk {
  readonly id: string
  readonly chunkId: string
  readonly content: string
  /** A JSON object. */
  readonly metadata: Readonly<Record<string, unknown>>
  readonly relevance: number | null
  /** Cosine distance, from 0 to 2. */
  readonly distance: number | null
}

export interface SearchedChunks {
  /** Best first. */
  readonly chunks: readonly FoundChunk[]
  /** How the chunks were found; null if nothing is stored. */
  readonly run: SelectRows | null
}

/** Returns the best matching chunks with one statement. @throws AppError like `runSearchSelect` */
export async function searchChunks(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchedChunks> {
  const run = await runSearchSelect(selectOfSearch(search, search.k), search, deps, signal)
  return { chunks: run === null ? [] : await readChunks(run), run }
}

/** Runs a SELECT from `quotedName(kb)`. @throws AppError like `runSelect`; 404 if it was dropped */
export async function selectChunks(
  kb: KnowledgeBase,
  request: Omit<SelectRequest, 'database'>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SelectRows> {
  try {
    return await runSelect({ ...request, database: kb.projectName }, deps, signal)
  } catch (error) {
    // The caller did not write the statement, so the message must not be about it.
    if (hasCode(error, 'sql_unknown_name'))
      requireKnowledgeBase(deps.catalog.snapshot(), kb.projectName, kb.name)
    throw error
  }
}

/** null if nothing is stored. @throws AppError like `selectChunks` */
async function runSearchSelect(
  sql: string,
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SelectRows | null> {
  const { knowledgeBase: kb, filter, isReranked, query, minRelevance } = search
  const { allowsPartial = false } = search
  // Without vectors there is nothing to find, and no length to check the query's vector against.
  if (kb.dimensions === null) return null
  const request = {
    sql,
    search: { parameter: 'query', hybrid: hybridOf(search), isReranked, allowsPartial },
    params: { ...filter.params, query, least: minRelevance },
    isShown: true,
  }
  return selectChunks(kb, request, deps, signal)
}

/**
 * The text is the same for all queries, filter values and thresholds, so its plan can be cached.
 */
function selectOfSearch(search: CheckedSearch, limit: number): string {
  return `SELECT ${CHUNK_COLUMNS} FROM ${quotedName(search.knowledgeBase)} WHERE ${searchCondition(search)} LIMIT ${limit}`
}

/** Selects the best chunk of each of the best documents. Reads all chunks. */
function rankedBestSelect(search: CheckedSearch): string {
  const { knowledgeBase: kb, k } = search
  const byRelevance = hybridOf(search) === null ? '' : 'relevance DESC, '
  const order = `${byRelevance}distance, chunk_id`
  return `SELECT ${CHUNK_COLUMNS} FROM ${quotedName(kb)} WHERE ${searchCondition(search)}
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY ${order}) = 1 ORDER BY ${order} LIMIT ${k}`
}

function searchCondition({ mode, filter, isReranked, minRelevance }: CheckedSearch): string {
  // In a keyword search, a chunk without any of the words is not a result. A reranker's relevance
  // also covers other things.
  const onlyHits = mode === 'keyword' && !isReranked ? ['relevance > 0'] : []
  const threshold = minRelevance === undefined ? [] : ['relevance >= :least']
  return [filter.sql, ...onlyHits, ...threshold].join(' AND ')
}

export function hybridOf(search: CheckedSearch): HybridSearch | null {
  const { knowledgeBase, mode, alpha, fusion, hasFeedback } = search
  if (mode === 'vector') return null
  if (mode === 'keyword') return { alpha: 0, fusion: fusion ?? 'convex', hasFeedback: false }
  return combinedSearch({ alpha, fusion, hasFeedback }, knowledgeBase.search)
}

/** Whether to move the query vector towards the first chunks that contain one of its words. */
export function isFedBack(search: CheckedSearch): boolean {
  const { query, knowledgeBase } = search
  const text = typeof query === 'string' ? query : null
  return hybridOf(search)?.hasFeedback === true && canBeFedBack(text, knowledgeBase)
}

export const CHUNK_COLUMNS = 'id, chunk_id, chunk_content, metadata, relevance, distance'

export function quotedName({ projectName, name }: KnowledgeBase): string {
  return `${quote(projectName)}.${quote(name)}`
}

export function readChunks(rows: RowStream): Promise<readonly FoundChunk[]> {
  return Array.fromAsync(chunksOf(rows))
}

/** Yields chunks one by one, so that a caller can stop early. */
export async function* chunksOf({ batches }: RowStream): AsyncGenerator<FoundChunk> {
  for await (const batch of batches) for (const row of batch) yield foundChunk(row)
}

function foundChunk(row: readonly ResultValue[]): FoundChunk {
  const [id, chunkId, content, metadata, relevance, distance] = row
  return {
    id: String(id),
    chunkId: String(chunkId),
    content: String(content),
    metadata: foundMetadata(metadata),
    relevance: typeof relevance === 'number' ? relevance : null,
    distance: typeof distance === 'number' ? distance : null,
  }
}

function foundMetadata(value: ResultValue | undefined): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** Each by its best chunk, so that ten results are ten documents. */

/** Read this many chunks per requested document at first. */
const FIRST_CHUNKS = 3
/** How much larger each round is than the last. */
const MORE_CHUNKS = 8
/** After this many rounds, one statement reads all chunks. */
const ROUNDS_MAX = 3

/**
 * Returns the first `k` documents in the ranking of all chunks, each with its best chunk. As in
 * every search, the first chunks are reranked. Documents without a reranked chunk follow in their
 * original order, with at most the relevance of the one before.
 * @throws AppError like `runSelect`
 */
export async function searchDocuments(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchedChunks> {
  if (!search.isReranked) return rankedDocuments(search, deps, signal)
  const reranked = await rerankedDocuments(search, deps, signal)
  if (reranked.run === null || !reranked.run.isReranked) {
    const plain = await rankedDocuments({ ...search, isReranked: false }, deps, signal)
    return { ...plain, run: plain.run && withWarningsOf(reranked.run, plain.run) }
  }
  if (reranked.chunks.length >= search.k || reranked.isAll) return reranked
  const plain = await rankedDocuments({ ...search, isReranked: false }, deps, signal)
  const known = new Set(reranked.chunks.map(({ id }) => id))
  const least = reranked.chunks.at(-1)?.relevance ?? 1
  const others = plain.chunks
    .filter(({ id }) => !known.has(id))
    .map((chunk) => ({ ...chunk, relevance: Math.min(least, chunk.relevance ?? 0) }))
  return { chunks: [...reranked.chunks, ...others].slice(0, search.k), run: reranked.run }
}

function withWarningsOf(failed: SelectRows | null, run: SelectRows): SelectRows {
  return failed?.warnings === undefined ? run : { ...run, warnings: failed.warnings }
}

async function rerankedDocuments(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchedChunks & { readonly isAll: boolean }> {
  const limit = rerankCandidateCount(search.knowledgeBase.rerankingModel)
  const run = await runSearchSelect(selectOfSearch(search, limit), search, deps, signal)
  if (run === null) return { chunks: [], run, isAll: true }
  const { chunks, seenCount } = await bestChunks(run, search.k)
  return { chunks, run, isAll: seenCount < limit || leavesOut(search.knowledgeBase) }
}

/** Whether the reranker can exclude results. */
function leavesOut({ rerankingModel }: KnowledgeBase): boolean {
  const { filtering_threshold: threshold, num_docs_to_keep: most } = rerankingModel?.options ?? {}
  return typeof threshold === 'number' || typeof most === 'number'
}

/** Always from the first one, so that concurrent writes do no harm. */
async function rankedDocuments(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchedChunks> {
  const { k } = search
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const limit = FIRST_CHUNKS * k * MORE_CHUNKS ** round
    const run = await runSearchSelect(selectOfSearch(search, limit), search, deps, signal)
    if (run === null) return { chunks: [], run }
    const { chunks, seenCount } = await bestChunks(run, k)
    if (chunks.length === k || seenCount < limit) return { chunks, run }
  }
  const run = await runSearchSelect(rankedBestSelect(search), search, deps, signal)
  return { chunks: run === null ? [] : (await bestChunks(run, k)).chunks, run }
}

/** Collects the first chunk of each document until there are `k`. */
async function bestChunks(
  run: SelectRows,
  k: number,
): Promise<{ readonly chunks: readonly FoundChunk[]; readonly seenCount: number }> {
  const best = new Map<string, FoundChunk>()
  let seenCount = 0
  for await (const chunk of chunksOf(run)) {
    seenCount += 1
    if (!best.has(chunk.id)) best.set(chunk.id, chunk)
    if (best.size === k) break
  }
  return { chunks: [...best.values()], seenCount }
}
