/** The search of `POST …/search` for the planner of every SELECT: the filter is its WHERE, the search is separate. */

import type { Fusion, SearchMode } from '../../core/domain/hybrid-search.ts'
import { quote } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
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
export async function runSearchSelect(
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
export function selectOfSearch(search: CheckedSearch, limit: number): string {
  return `SELECT ${CHUNK_COLUMNS} FROM ${quotedName(search.knowledgeBase)} WHERE ${searchCondition(search)} LIMIT ${limit}`
}

/** The best chunk of each of the best documents: it looks at all chunks. */
export function rankedBestSelect(search: CheckedSearch): string {
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
