/** The vector index that the knowledge base's owner chose. */
export type VectorIndexType = 'exact' | 'ivf' | 'hnsw'

export interface VectorIndexDefinition {
  readonly type: VectorIndexType
  /** By their names in the statement: `m`, `nlist`, …; a missing option has its default. */
  readonly options: Readonly<Record<string, number>>
}

/** `exact`: no index was requested or would help. `unavailable`: the requested one is not. */
type VectorIndexPhase = 'ready' | 'building' | 'exact' | 'unavailable'

export interface VectorIndexState {
  readonly project: string
  readonly knowledgeBase: string
  /** `auto` means that Eider chooses. */
  readonly type: VectorIndexType | 'auto'
  readonly state: VectorIndexPhase
  /** Vectors in the index; null if unknown. */
  readonly vectorCount: number | null
  /** One clause with a reason, a recall or a size. */
  readonly detail: string
}

export type IndexReport = Pick<VectorIndexState, 'state' | 'vectorCount' | 'detail'>

/** Whether an index type is available on this server. */
export type IndexPossibility =
  | { readonly possible: true }
  | { readonly possible: false; readonly reason: string }

/** With fewer vectors, comparing all of them is as fast as any index. */
export const INDEXED_VECTORS_MIN = 1000

/** The report for a knowledge base with too few vectors for an index. */
export function fewVectors(count: number): IndexReport {
  const detail = `all vectors are compared while there are fewer than ${INDEXED_VECTORS_MIN}`
  return { state: 'exact', vectorCount: count, detail }
}

/** HNSW's published defaults, the same as in the `vss` extension. */
export const HNSW_DEFAULTS = { m: 16, ef_construction: 128, ef_search: 64 } as const
