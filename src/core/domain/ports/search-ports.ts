import type { KeywordHit, KeywordSearch } from '../hybrid-search.ts'
import type { IndexPossibility, VectorIndexState, VectorIndexType } from '../index-definition.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import type { ResultValue } from '../query-result.ts'
import type { PrefilterSql, RunLimits, SourceSelect } from './engine-ports.ts'

export interface NearestSearch {
  readonly knowledgeBase: KnowledgeBase
  /** Of unit length. */
  readonly queryVector: Float32Array
  readonly count: number
  /** A SELECT of the keys to search among; null: all. */
  readonly prefilter: PrefilterSql | null
  /**
   * The prefilter as a condition of PostgreSQL, where that holds the chunks.
   * @throws AppError `sql_not_supported` for what it would not decide as DuckDB does
   */
  readonly condition?: () => Promise<SourceSelect>
  /** For the prefilter and the keyword SELECTs. */
  readonly limits: RunLimits
  /** Set for a hybrid search. */
  readonly keywordSearch?: KeywordSearch
}

export interface NearestChunk {
  readonly key: bigint
  /** Cosine distance, 0 to 2. */
  readonly distance: number
}

export interface KeywordHits {
  /** Best first: `count` of them or all, plus ties with the last. */
  readonly best: readonly KeywordHit[]
  /** What no score reaches. */
  readonly scoreBound: number
  /** For chunks that pass the conditions; 0 for one not found. */
  scoresOf(keys: readonly bigint[]): readonly number[]
  /**
   * `best` with another count, for the same state; null if they are too many.
   * @throws AppError those of `SqlEngine.run`
   */
  bestOf(count: number, signal: AbortSignal): Promise<readonly KeywordHit[] | null>
  /**
   * Their distances, or those of any other chunks. Deleted ones may be left out.
   * @throws AppError those of `SqlEngine.run`
   */
  distancesOf(keys: readonly bigint[], signal: AbortSignal): Promise<readonly NearestChunk[]>
}

export interface NearestFound {
  /** Nearest first: `count` of them or all, plus ties with the last. */
  readonly neighbours: readonly NearestChunk[]
  /** Set for a hybrid search. */
  readonly keywordHits?: KeywordHits
  /** Set for a hybrid search. */
  readonly feedback?: FeedbackSource
  /** Has the rows of these chunks here while the work runs; unset: all rows are here. */
  withRows?<T>(keys: readonly bigint[], work: () => Promise<T>): Promise<T>
  /** Belongs to one state of the knowledge base: false once a new transaction may see a later one. */
  isCurrent(): boolean
}

/** What a search needs to run again with another vector on the same state. */
export interface FeedbackSource {
  /** Deleted ones may be left out. @throws AppError those of `SqlEngine.run` */
  vectorsOf(
    keys: readonly bigint[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<bigint, Float32Array>>
  /**
   * The nearest to another vector, with the distances to it, and those that the search found by its own vector.
   * @param queryVector of unit length
   * @returns null as `nearest`
   * @throws AppError those of `SqlEngine.run`
   */
  searchBy(
    queryVector: Float32Array,
    signal: AbortSignal,
  ): Promise<(Pick<NearestFound, 'neighbours'> & { readonly keywordHits: KeywordHits }) | null>
}

/** How the next search of a knowledge base is answered. */
export interface VectorAccess {
  readonly kind: 'memory' | 'scan'
  /** What is searched, or why memory is not used: a clause. */
  readonly detail: string
}

/** The nearest chunks by their vectors, found by something faster than measuring each in SQL. */
export interface NearestChunks {
  /**
   * Exactly the chunks that comparing all of them would find.
   * @returns null if nothing faster is available now
   * @throws AppError those of `SqlEngine.run` for the SELECT of the keys; `too_busy`, `dimension_mismatch`
   */
  nearest(search: NearestSearch, signal: AbortSignal): Promise<NearestFound | null>
  /** @param isPrefiltered true for a search among some of the chunks */
  access(knowledgeBase: KnowledgeBase, isPrefiltered?: boolean): VectorAccess
}

/** The row of a chunk, its values as answers show them. */
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

/** The rows of chunks, from memory if possible. */
export interface ChunkRows {
  /**
   * In key order, from the last committed state.
   * @returns null if one is gone, or this way is not possible
   * @throws AppError those of `SqlEngine.run`
   */
  rowsOf(request: ChunkRowsRequest, signal: AbortSignal): Promise<readonly ShownChunk[] | null>
}

export interface DocumentRequest {
  readonly knowledgeBase: KnowledgeBase
  readonly id: string
  readonly limits: RunLimits
}

/** The existing chunks, known without asking the database. From the last committed state. */
export interface KnownChunks {
  /** null: it is not known. */
  chunkCount(knowledgeBase: KnowledgeBase): Promise<number | null>
  /**
   * The keys of a document's chunks, ascending, perhaps with keys of others. null: unknown.
   * @throws the signal's reason
   */
  keysOfDocument(
    document: DocumentRequest,
    signal: AbortSignal,
  ): Promise<{ readonly keys: BigInt64Array; isCurrent(): boolean } | null>
}

/** The known state of vector indexes. */
export interface VectorIndexStates {
  /** One for each knowledge base. */
  states(): readonly VectorIndexState[]
  /** Whether each type is available in this process. */
  possible(): Readonly<Record<VectorIndexType, IndexPossibility>>
}

/** The state of a knowledge base while it lasts. */
export interface WatchedState {
  readonly knowledgeBase: KnowledgeBase
  /** Equal if nothing was committed in between. */
  readonly number: number
  /** False once a later one may be visible to a new transaction. */
  isCurrent(): boolean
}

/** The state that a transaction starting now would see. */
export interface CommittedStates {
  /** Resolves when none of its writes is being committed. @returns null if it is gone */
  watch(kb: Pick<KnowledgeBase, 'id'>): Promise<WatchedState | null>
  /** The last committed state of the knowledge base; undefined if it is gone. */
  current(kb: Pick<KnowledgeBase, 'id'>): KnowledgeBase | undefined
  /** Whether a write to it is being committed. */
  isCommitting(kb: Pick<KnowledgeBase, 'id'>): boolean
}

/** Maps of knowledge bases: chunks as points in two dimensions, near each other if their vectors are. */

/** Coordinates go from 0 to this, the same distance for both. */
export const MAP_SIDE = 65_535

interface NamedRegion {
  /** 0: the view from farthest away; each further level has smaller regions. */
  readonly level: number
  /** Index of the region that contains it; null at level 0. */
  readonly parent: number | null
  readonly x: number
  readonly y: number
  readonly pointCount: number
  /** Words that distinguish it from others, best first. */
  readonly words: readonly string[]
}

export interface ChunkMap {
  /** Equal where every point is the same. */
  readonly version: string
  /** The revision of the knowledge base. */
  readonly revision: number
  /** The number of all chunks; a very large knowledge base shows a sample. */
  readonly chunkCount: number
  readonly seconds: number
  /** The keys of the chunks, ascending, in the order of the points. */
  readonly keys: BigInt64Array
  readonly x: Uint16Array
  readonly y: Uint16Array
  /** The index of each point's region at the last level. */
  readonly regionOf: Uint16Array
  readonly regions: readonly NamedRegion[]
}

export const MAP_STAGES = ['waiting', 'reading', 'neighbours', 'layout', 'labels'] as const

export interface MapProgress {
  readonly stage: (typeof MAP_STAGES)[number]
  /** The share done, 0 to 1. */
  readonly share: number
}

export interface MapState {
  /** null: there is none yet. */
  readonly map: ChunkMap | null
  /** False: documents were stored or deleted since, or another model embedded them. */
  readonly isCurrent: boolean
  /** For the map being computed; null: none. */
  readonly progress: MapProgress | null
  /** Why the last one could not be computed. */
  readonly failure: string | null
}

export interface MapAsking {
  /** Requests one that failed to start now: without this, the pause after failures grows. */
  readonly isRetry?: boolean
}

export interface ChunkMaps {
  /** Returns at once. If no map of this revision exists, starts computing it. */
  stateOf(kb: KnowledgeBase, asking?: MapAsking): Promise<MapState>
}
