/** How a knowledge base's vectors are searched, if its owner chose a way. */
export type VectorIndexType = 'exact' | 'ivf' | 'hnsw'

/** What CREATE INDEX asked for. */
export interface VectorIndexDefinition {
  readonly type: VectorIndexType
  /** By their names in the statement: `m`, `nlist`, …; a missing one has its default. */
  readonly options: Readonly<Record<string, number>>
}

/**
 * `ready`: in use. `building`: soon. `exact`: all vectors are compared, because no other index was requested or worthwhile.
 * `unavailable`: the same, because the requested one is not available.
 */
export type VectorIndexPhase = 'ready' | 'building' | 'exact' | 'unavailable'

/** How one knowledge base is searched now. */
export interface VectorIndexState {
  readonly project: string
  readonly knowledgeBase: string
  /** `auto`: Eider chooses. */
  readonly type: VectorIndexType | 'auto'
  readonly state: VectorIndexPhase
  /** Vectors in the index; null: unknown. */
  readonly vectorCount: number | null
  /** A reason, a recall, a size: a clause. */
  readonly detail: string
}

/** The current state of a requested index. */
export type IndexReport = Pick<VectorIndexState, 'state' | 'vectorCount' | 'detail'>

/** Whether a type of index is available here. */
export type IndexPossibility =
  | { readonly possible: true }
  | { readonly possible: false; readonly reason: string }

/** Fewer vectors than these are compared one by one as quickly as any index finds them. */
export const INDEXED_VECTORS_MIN = 1000

/** The report of an index of few vectors, for which none is built. */
export function fewVectors(count: number): IndexReport {
  const detail = `all vectors are compared while there are fewer than ${INDEXED_VECTORS_MIN}`
  return { state: 'exact', vectorCount: count, detail }
}

/** Published defaults of HNSW as the `vss` extension has them. */
export const HNSW_DEFAULTS = { m: 16, ef_construction: 128, ef_search: 64 } as const
