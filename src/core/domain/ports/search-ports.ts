import type { KeywordHit, KeywordSearch } from '../hybrid-search.ts'
import type { IndexPossibility, VectorIndexState, VectorIndexType } from '../index-definition.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import type { ResultValue } from '../query-result.ts'
import type { PrefilterSql, RunLimits, SourceSelect } from './engine-ports.ts'

export interface NearestSearch {
  readonly knowledgeBase: KnowledgeBase
  /** With length 1. */
  readonly queryVector: Float32Array
  readonly count: number
  /** A SELECT of the keys to search among; null means all. */
  readonly prefilter: PrefilterSql | null
  /**
   * The prefilter as a PostgreSQL condition, if PostgreSQL stores the chunks.
   * @param isSpread whether the chunks are spread over several nodes
   * @throws AppError `sql_not_supported` if PostgreSQL would decide differently from DuckDB
   */
  readonly condition?: (isSpread: boolean) => Promise<SourceSelect>
  /** Limits for the prefilter and the keyword SELECTs. */
  readonly limits: RunLimits
  /** Set in a hybrid search. */
  readonly keywordSearch?: KeywordSearch
  /** Whether nodes of the storage that cannot be reached are left out. */
  readonly allowsPartial?: boolean
}

export interface NearestChunk {
  readonly key: bigint
  /** Cosine distance, from 0 to 2. */
  readonly distance: number
}

/** A relevance in the convex combination of this search's vector with its scores. */
export interface LeastRelevance {
  /** The weight of the vectors, from 0 to 1. */
  readonly alpha: number
  readonly least: number
}

export interface KeywordHits {
  /** Best first: `count` hits or all. A fusion of ranks also needs the ties with the last. */
  readonly best: readonly KeywordHit[]
  /** Higher than any possible score. */
  readonly scoreBound: number
  /** Scores of chunks that meet the conditions; 0 for a chunk without a hit. */
  scoresOf(keys: readonly bigint[]): readonly number[]
  /**
   * `best` with another count, on the same state; null if that is too many.
   * @param relevance Hits that cannot reach it may be left out.
   * @throws AppError like `SqlEngine.run`
   */
  bestOf(
    count: number,
    signal: AbortSignal,
    relevance: LeastRelevance,
  ): Promise<readonly KeywordHit[] | null>
  /**
   * The distances of these chunks, which need not be hits. Deleted chunks may be left out.
   * @throws AppError like `SqlEngine.run`
   */
  distancesOf(keys: readonly bigint[], signal: AbortSignal): Promise<readonly NearestChunk[]>
}

export interface NearestFound {
  /** Nearest first: `count` chunks or all, plus ties with the last. */
  readonly neighbours: readonly NearestChunk[]
  /** Set in a hybrid search. */
  readonly keywordHits?: KeywordHits
  /** Set in a hybrid search. */
  readonly feedback?: FeedbackSource
  /** The rows of found chunks as of the search; null if some are unknown. Unset: use `ChunkRows`. */
  shown?(keys: readonly bigint[], columns: readonly string[]): readonly ShownChunk[] | null
  /** Runs the work while these chunks' rows are kept locally; unset if all rows are local. */
  withRows?<T>(keys: readonly bigint[], work: () => Promise<T>): Promise<T>
  /** What was left out; unset if nothing was. */
  readonly warnings?: readonly string[]
  /** Returns false once a new transaction may see a later state than these results. */
  isCurrent(): boolean
}

/** Repeats a search with another vector on the same state. */
export interface FeedbackSource {
  /** Deleted chunks may be left out. @throws AppError like `SqlEngine.run` */
  vectorsOf(
    keys: readonly bigint[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<bigint, Float32Array>>
  /**
   * The nearest chunks to another vector, and the new distances of those that the search found with
   * its own vector.
   * @param queryVector with length 1
   * @returns null in the same cases as `nearest`
   * @throws AppError like `SqlEngine.run`
   */
  searchBy(
    queryVector: Float32Array,
    signal: AbortSignal,
  ): Promise<(Pick<NearestFound, 'neighbours'> & { readonly keywordHits: KeywordHits }) | null>
}

/** How the next vector search of a knowledge base will run. */
export interface VectorAccess {
  readonly kind: 'memory' | 'scan'
  /** One clause: what is searched, or why memory is not used. */
  readonly detail: string
}

export interface NearestChunks {
  /**
   * Finds exactly the chunks that comparing all of them would find.
   * @returns null if nothing faster is available right now
   * @throws AppError like `SqlEngine.run` for the SELECT of the keys; `too_busy`,
   * `dimension_mismatch`
   */
  nearest(search: NearestSearch, signal: AbortSignal): Promise<NearestFound | null>
  /** @param isPrefiltered whether the search is limited to some of the chunks */
  access(knowledgeBase: KnowledgeBase, isPrefiltered?: boolean): VectorAccess
}

/** A chunk's row, with values as shown in answers. */
export interface ShownChunk {
  readonly id: string
  readonly chunkId: string
  readonly content: string
  readonly metadata: ResultValue
  /** The requested metadata columns. */
  readonly columns: readonly ResultValue[]
}

export interface ChunkRowsRequest {
  readonly knowledgeBase: KnowledgeBase
  readonly keys: readonly bigint[]
  /** Metadata columns by their physical names. */
  readonly columns: readonly string[]
  readonly limits: RunLimits
}

export interface ChunkRows {
  /**
   * Rows in key order, from the last committed state.
   * @returns null if a chunk no longer exists, or if memory cannot answer
   * @throws AppError like `SqlEngine.run`
   */
  rowsOf(request: ChunkRowsRequest, signal: AbortSignal): Promise<readonly ShownChunk[] | null>
}

export interface DocumentRequest {
  readonly knowledgeBase: KnowledgeBase
  readonly id: string
  readonly limits: RunLimits
}

/** Which chunks exist as of the last committed state, without asking the database. */
export interface KnownChunks {
  /**
   * The keys of a document's chunks, ascending, possibly with keys of other documents among them;
   * null if unknown.
   * @throws the signal's reason
   */
  keysOfDocument(
    document: DocumentRequest,
    signal: AbortSignal,
  ): Promise<{ readonly keys: BigInt64Array; isCurrent(): boolean } | null>
}

export interface VectorIndexStates {
  states(): readonly VectorIndexState[]
  /** Whether each index type is available in this process. */
  possible(): Readonly<Record<VectorIndexType, IndexPossibility>>
}

/** A knowledge base's state at one moment. */
export interface WatchedState {
  readonly knowledgeBase: KnowledgeBase
  /** Equal for two states if nothing was committed between them. */
  readonly number: number
  /** Returns false once a new transaction may see a later state. */
  isCurrent(): boolean
}

/** Tells which state a transaction starting now would see. */
export interface CommittedStates {
  /**
   * Resolves once no write is being committed. @returns null if the knowledge base no longer exists
   */
  watch(kb: Pick<KnowledgeBase, 'id'>): Promise<WatchedState | null>
  /** The last committed definition; undefined if the knowledge base no longer exists. */
  current(kb: Pick<KnowledgeBase, 'id'>): KnowledgeBase | undefined
  /** Whether a write to the knowledge base is being committed. */
  isCommitting(kb: Pick<KnowledgeBase, 'id'>): boolean
}

/** Maps of knowledge bases: chunks as points, close together if their vectors are. */

/** Coordinates range from 0 to this number, on the same scale for both axes. */
export const MAP_SIDE = 65_535

interface NamedRegion {
  /** 0 is the most distant view; each further level has smaller regions. */
  readonly level: number
  /** The index of the larger region that contains this one; null at level 0. */
  readonly parent: number | null
  readonly x: number
  readonly y: number
  readonly pointCount: number
  /** Words that set the region apart from others, best first. */
  readonly words: readonly string[]
}

export interface ChunkMap {
  /** Equal if all points are the same. */
  readonly version: string
  /** The knowledge base's revision that the map shows. */
  readonly revision: number
  /** The number of all chunks, although the map of a very large knowledge base is a sample. */
  readonly chunkCount: number
  readonly seconds: number
  /** Chunk keys, ascending, in the order of the points. */
  readonly keys: BigInt64Array
  readonly x: Uint16Array
  readonly y: Uint16Array
  /** For each point, the index of its region at the last level. */
  readonly regionOf: Uint16Array
  readonly regions: readonly NamedRegion[]
}

export const MAP_STAGES = ['waiting', 'reading', 'neighbours', 'layout', 'labels'] as const

export interface MapProgress {
  readonly stage: (typeof MAP_STAGES)[number]
  /** The completed share, from 0 to 1. */
  readonly share: number
}

export interface MapState {
  /** null if there is none yet. */
  readonly map: ChunkMap | null
  /** False if documents were stored or deleted since, or if the embedding model changed. */
  readonly isCurrent: boolean
  /** The progress of the map being computed; null if none is. */
  readonly progress: MapProgress | null
  /** Why the last map could not be computed. */
  readonly failure: string | null
}

export interface MapAsking {
  /** Retries a failed map now. Otherwise the pause grows with each failure. */
  readonly isRetry?: boolean
}

export interface ChunkMaps {
  /** Returns immediately, and starts computing the map if there is none for this revision. */
  stateOf(kb: KnowledgeBase, asking?: MapAsking): Promise<MapState>
}
