/** The search of `POST …/search` for the planner of every SELECT: the filter is its WHERE, the search is separate. */

import type { Fusion, SearchMode } from '../../core/domain/hybrid-search.ts'
import { type KnowledgeBase, rerankCandidateCount } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { canBeFedBack } from '../../retrieval/fusion.ts'
import type { HybridSearch } from '../../sql/search/ranking.ts'
import { combinedSearch } from '../../sql/search/search-options.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { runSelect, type SelectRequest, type SelectRows } from '../select/run-select.ts'
import { type SearchFilter, searchFilter } from './search-filter.ts'

/** A text that begins with this many spaces counts as empty. */
const BLANK_CHARS_MAX = 200_000

/** A client's search. */
export interface ChunkSearch {
  /** A text or a vector. */
  readonly query: string | readonly number[]
  /** Most results. */
  readonly k: number
  /** Unset: `hybrid` for a text, `vector` for a vector. */
  readonly mode?: SearchMode
  /** The weight of the vectors in a hybrid search, 0 to 1. */
  readonly alpha?: number
  readonly fusion?: Fusion
  /** Whether to move the vector towards the first chunks; unset: the knowledge base's setting. */
  readonly hasFeedback?: boolean
  /** See `searchFilter`. */
  readonly filters?: unknown
  readonly minRelevance?: number
  /** Unset: if the knowledge base has a reranking model. */
  readonly rerank?: boolean
  /** The best chunk of each document, instead of the best chunks. */
  readonly isPerDocument?: boolean
}

/** A search whose fields are consistent with each other and the knowledge base. */
export interface CheckedSearch extends Omit<ChunkSearch, 'filters' | 'rerank'> {
  readonly knowledgeBase: KnowledgeBase
  readonly mode: SearchMode
  readonly filter: SearchFilter
  readonly isReranked: boolean
}

/** @throws AppError `invalid_request` that names the field */
export function checkedSearch(kb: KnowledgeBase, search: ChunkSearch): CheckedSearch {
  const { query, alpha, fusion, hasFeedback, filters = {} } = search
  const isText = typeof query === 'string'
  // Long texts are refused later with the other overlong ones, and are not scanned here.
  const isEmpty = isText ? !/\S/.test(query.slice(0, BLANK_CHARS_MAX)) : query.length === 0
  if (isEmpty) throw wrongSearch('query', 'must not be empty')
  const mode = search.mode ?? (isText ? 'hybrid' : 'vector')
  if (!isText && mode !== 'vector') {
    throw wrongSearch(
      'mode',
      `"${mode}" needs a text to search for; a vector is searched by "vector"`,
    )
  }
  if (mode !== 'hybrid' && (alpha !== undefined || fusion !== undefined)) {
    throw wrongSearch(alpha === undefined ? 'fusion' : 'alpha', 'is for the mode "hybrid"')
  }
  if (mode !== 'hybrid' && hasFeedback !== undefined) {
    throw wrongSearch('feedback', 'is for the mode "hybrid"')
  }
  const filter = searchFilter(kb, filters)
  return { ...search, knowledgeBase: kb, mode, filter, isReranked: isRerankedSearch(kb, search) }
}

function isRerankedSearch(kb: KnowledgeBase, { query, rerank }: ChunkSearch): boolean {
  const isText = typeof query === 'string'
  if (rerank !== true) return rerank !== false && isText && kb.rerankingModel !== null
  if (!isText) throw wrongSearch('rerank', 'needs a text to search for')
  if (kb.rerankingModel !== null) return true
  throw wrongSearch('rerank', `is not possible: ${kb.name} has no reranking model`)
}

function wrongSearch(field: string, what: string): AppError {
  return new AppError('invalid_request', `Field "${field}" ${what}`)
}

export interface FoundChunk {
  readonly id: string
  readonly chunkId: string
  readonly content: string
  /** JSON. */
  readonly metadata: Readonly<Record<string, unknown>>
  readonly relevance: number | null
  /** Cosine distance, 0 to 2. */
  readonly distance: number | null
}

export interface SearchedChunks {
  /** The best first. */
  readonly chunks: readonly FoundChunk[]
  /** How they were found. null: nothing is stored. */
  readonly run: SelectRows | null
}

/**
 * The chunks that fit best, by one statement.
 * @throws AppError as `runSearchSelect` does
 */
export async function searchChunks(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchedChunks> {
  const run = await runSearchSelect(selectOfSearch(search, search.k), search, deps, signal)
  return { chunks: run === null ? [] : await readChunks(run), run }
}

/**
 * Runs the SELECT of a search. null: nothing is stored.
 * @throws AppError those of `runSelect`: `dimension_mismatch`, `sql_invalid_search`, `provider_failed`, `timeout`, …
 */
async function runSearchSelect(
  sql: string,
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SelectRows | null> {
  const { knowledgeBase: kb, filter, isReranked, query, minRelevance } = search
  // Without a vector there is nothing to find, and no length to check a query's against.
  if (kb.dimensions === null) return null
  const request: SelectRequest = {
    sql,
    database: kb.projectName,
    search: { parameter: 'query', hybrid: hybridOf(search), isReranked },
    params: { ...filter.params, query, least: minRelevance },
    isShown: true,
  }
  return runSelect(request, deps, signal)
}

/** The best chunks. The same text for every query, filter value and threshold, so that it is planned once. */
function selectOfSearch(search: CheckedSearch, limit: number): string {
  return `SELECT ${CHUNK_COLUMNS} FROM ${quotedName(search.knowledgeBase)} WHERE ${searchCondition(search)} LIMIT ${limit}`
}

/** The best chunk of each of the best documents: it looks at all chunks. */
function rankedBestSelect(search: CheckedSearch): string {
  const { knowledgeBase: kb, k } = search
  const byRelevance = hybridOf(search) === null ? '' : 'relevance DESC, '
  const order = `${byRelevance}distance, chunk_id`
  return `SELECT ${CHUNK_COLUMNS} FROM ${quotedName(kb)} WHERE ${searchCondition(search)}
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY ${order}) = 1 ORDER BY ${order} LIMIT ${k}`
}

function searchCondition({ mode, filter, isReranked, minRelevance }: CheckedSearch): string {
  // A chunk without any of the words is not a hit; a reranker's relevance is about more than words.
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

/** Whether the query's vector is moved towards the first chunks, if these contain one of its words. */
export function isFedBack(search: CheckedSearch): boolean {
  const { query, knowledgeBase } = search
  const text = typeof query === 'string' ? query : null
  return hybridOf(search)?.hasFeedback === true && canBeFedBack(text, knowledgeBase)
}

/** The columns that `readChunks` reads. */
export const CHUNK_COLUMNS = 'id, chunk_id, chunk_content, metadata, relevance, distance'

export function quotedName({ projectName, name }: KnowledgeBase): string {
  return `${quote(projectName)}.${quote(name)}`
}

export async function readChunks(rows: RowStream): Promise<readonly FoundChunk[]> {
  const chunks: FoundChunk[] = []
  for await (const chunk of chunksOf(rows)) chunks.push(chunk)
  return chunks
}

/** One at a time, so that a reader may stop early. */
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

function foundMetadata(value: ResultValue = null): Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  // Keys of JSON objects are always strings.
  return isObject ? (value as Readonly<Record<string, unknown>>) : {}
}

/** The best documents for a text: each by its best chunk, so that ten results are ten documents. */

/** The number of chunks examined first, per requested document. */
const FIRST_CHUNKS = 3
/** By how much the next round grows. */
const MORE_CHUNKS = 8
/** After that, one statement examines all of them. */
const ROUNDS_MAX = 3

/**
 * Exactly the first `k` documents of the ranking of all chunks, each with its best chunk, or fewer if there are fewer.
 * Chunks are reranked, as in every search; documents without a reranked chunk follow in their original order, with at most
 * the relevance of the last one before.
 * @throws AppError as `runSelect` does
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

/** The documents of the candidates alone. */
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

/** Whether the reranker says which rows stay. */
function leavesOut({ rerankingModel }: KnowledgeBase): boolean {
  const { filtering_threshold: threshold, num_docs_to_keep: most } = rerankingModel?.options ?? {}
  return typeof threshold === 'number' || typeof most === 'number'
}

/** Examines more and more of the best chunks, each time from the first, so that no write falls in between. */
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

/** The first chunk of each document, until there are `k`. */
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
