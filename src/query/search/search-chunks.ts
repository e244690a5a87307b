/** `POST …/search`: one SELECT for the planner that every SELECT goes through, and what is told beside its rows. */
import { quote } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { ResultValue, RowStream } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runComposedSelect } from '../select/composed-select.ts'
import { searchFilter } from './search-filter.ts'

export type SearchMode = 'hybrid' | 'vector' | 'keyword'

/** What a client asks for. */
export interface ChunkSearch {
  readonly query: string | readonly number[]
  /** Most results. */
  readonly k: number
  /** Unset: `hybrid` for a text, `vector` for a vector. */
  readonly mode?: SearchMode
  /** The weight of the vectors in a hybrid search, 0 to 1. */
  readonly alpha?: number
  readonly fusion?: 'scaled' | 'rrf'
  /** See `searchFilter`. */
  readonly filters?: unknown
  readonly minRelevance?: number
  /** Unset: where the knowledge base has a reranking model. */
  readonly rerank?: boolean
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

export interface FoundChunks {
  /** The best first. */
  readonly chunks: readonly FoundChunk[]
  readonly warnings: readonly string[]
}

/** A search whose fields fit each other and its knowledge base. */
export interface CheckedSearch {
  readonly knowledgeBase: KnowledgeBase
  readonly mode: SearchMode
  readonly isReranked: boolean
  readonly k: number
  /** Conditions without the options of the search. */
  readonly conditions: readonly string[]
  /** Options of a hybrid search as the client set them. */
  readonly fusion: readonly string[]
  readonly minRelevance: number | null
  readonly params: Readonly<Record<string, unknown>>
}

/** @throws AppError `invalid_request` that names the field */
export function checkedSearch(kb: KnowledgeBase, search: ChunkSearch): CheckedSearch {
  const { query, k, alpha, fusion, filters, minRelevance = null } = search
  const isText = typeof query === 'string'
  if (isText ? query.trim() === '' : query.length === 0) throw wrong('query', 'must not be empty')
  const mode = search.mode ?? (isText ? 'hybrid' : 'vector')
  if (!isText && mode !== 'vector') {
    throw wrong('mode', `"${mode}" needs a text to search for; a vector is searched by "vector"`)
  }
  if (mode !== 'hybrid' && (alpha !== undefined || fusion !== undefined)) {
    throw wrong(alpha === undefined ? 'fusion' : 'alpha', 'is for the mode "hybrid"')
  }
  const filter = filters === undefined ? null : searchFilter(kb, filters)
  const narrowing = filter === null || filter.sql === 'TRUE' ? [] : [filter.sql]
  return {
    knowledgeBase: kb,
    mode,
    isReranked: isRerankedSearch(kb, search),
    k,
    conditions: ['content = :query', ...narrowing],
    fusion: [
      ...(alpha === undefined ? [] : [`hybrid_search_alpha = ${alpha}`]),
      ...(fusion === undefined ? [] : [`hybrid_search_fusion = '${fusion}'`]),
    ],
    minRelevance,
    params: { query, ...filter?.params },
  }
}

function isRerankedSearch(kb: KnowledgeBase, { query, rerank }: ChunkSearch): boolean {
  const isText = typeof query === 'string'
  if (rerank !== true) return rerank !== false && isText && kb.rerankingModel !== null
  if (!isText) throw wrong('rerank', 'needs a text to search for')
  if (kb.rerankingModel !== null) return true
  throw wrong('rerank', `is not possible: ${kb.name} has no reranking model`)
}

function wrong(field: string, what: string): AppError {
  return new AppError('invalid_request', `Field "${field}" ${what}`)
}

/**
 * The chunks that fit best, by one statement. It is the same text for every query, filter value and threshold, so that
 * it is planned once.
 * @throws AppError those of `runSelect`: `dimension_mismatch`, `sql_invalid_search`, `provider_failed`, `timeout`, …
 */
export async function searchChunks(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<FoundChunks> {
  const { knowledgeBase: kb, minRelevance } = search
  // Without a vector there is nothing to find, and no length to compare a query's with.
  if (kb.dimensions === null) return { chunks: [], warnings: [] }
  const params = { ...search.params, ...(minRelevance === null ? {} : { least: minRelevance }) }
  const request = { sql: searchSql(search), database: kb.projectName, params }
  const rows = await runComposedSelect(request, deps, signal)
  return { chunks: await readChunks(rows), warnings: rows.warnings ?? [] }
}

/** The columns that `readChunks` reads. */
export const CHUNK_COLUMNS = 'id, chunk_id, chunk_content, metadata, relevance, distance'

function searchSql(search: CheckedSearch): string {
  const { knowledgeBase: kb, k, conditions, minRelevance } = search
  const all = [
    ...conditions,
    ...modeOptions(search),
    `reranking = ${search.isReranked}`,
    ...(minRelevance === null ? [] : ['relevance >= :least']),
  ]
  return `SELECT ${CHUNK_COLUMNS} FROM ${nameOf(kb)} WHERE ${all.join(' AND ')} LIMIT ${k}`
}

function modeOptions({ mode, fusion, isReranked }: CheckedSearch): readonly string[] {
  if (mode === 'vector') return ['hybrid_search = false']
  if (mode === 'hybrid') return ['hybrid_search = true', ...fusion]
  // What holds none of the words is no hit; a reranker's relevance is about more than words.
  const isHit = isReranked ? [] : ['relevance > 0']
  const options = ['hybrid_search_alpha = 0', "hybrid_search_fusion = 'scaled'"]
  return ['hybrid_search = true', ...options, ...isHit]
}

export function nameOf({ projectName, name }: KnowledgeBase): string {
  return `${quote(projectName)}.${quote(name)}`
}

export async function readChunks({ batches }: RowStream): Promise<readonly FoundChunk[]> {
  const chunks: FoundChunk[] = []
  for await (const batch of batches) chunks.push(...batch.map(chunkOf))
  return chunks
}

function chunkOf(row: readonly ResultValue[]): FoundChunk {
  const [id, chunkId, content, metadata, relevance, distance] = row
  return {
    id: String(id),
    chunkId: String(chunkId),
    content: String(content),
    metadata: objectOf(metadata),
    relevance: typeof relevance === 'number' ? relevance : null,
    distance: typeof distance === 'number' ? distance : null,
  }
}

/** JSON that the database holds as text. */
function objectOf(value: ResultValue | undefined): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(JSON.stringify(value ?? null))
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json)
  // JSON gives an object no other keys than strings.
  return isObject ? (json as Readonly<Record<string, unknown>>) : {}
}
