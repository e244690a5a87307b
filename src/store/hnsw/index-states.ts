import type {
  IndexPossibility,
  VectorIndexPhase,
  VectorIndexState,
  VectorIndexType,
} from '../../domain/index-definition.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { NearestChunks, VectorIndexStates } from '../../domain/ports.ts'
import type { CatalogState } from '../catalog/catalog-state.ts'
import type { Extensions } from './extensions.ts'

/** What an index that was asked for is now. */
export interface IndexReport {
  readonly state: VectorIndexPhase
  readonly vectorCount: number | null
  readonly detail: string
}

export interface StoredIndexStatesParts {
  readonly state: CatalogState
  readonly extensions: Extensions
  readonly nearest: Pick<NearestChunks, 'access'>
  /** Of the index of a knowledge base, where there is one beside the copy of its vectors. */
  readonly reportOf?: (kb: KnowledgeBase) => IndexReport | null
}

/** Says of each knowledge base how its vectors are searched, from those who search them. */
export class StoredIndexStates implements VectorIndexStates {
  readonly #parts: StoredIndexStatesParts

  constructor(parts: StoredIndexStatesParts) {
    this.#parts = parts
  }

  possible(): Readonly<Record<VectorIndexType, IndexPossibility>> {
    const hnsw = this.#parts.extensions.possibility()
    return { exact: { possible: true }, ivf: { possible: true }, hnsw }
  }

  states(): readonly VectorIndexState[] {
    const { knowledgeBases } = this.#parts.state.snapshot()
    return knowledgeBases.map((kb) => ({
      project: kb.projectName,
      knowledgeBase: kb.name,
      type: kb.vectorIndex?.type ?? 'auto',
      ...this.#reportOf(kb),
    }))
  }

  #reportOf(kb: KnowledgeBase): IndexReport {
    const { nearest, reportOf } = this.#parts
    const type = kb.vectorIndex?.type
    const possibility = type === undefined ? null : this.possible()[type]
    if (possibility?.possible === false) {
      const detail = `${possibility.reason}; all vectors are compared meanwhile`
      return { state: 'unavailable', vectorCount: null, detail }
    }
    const report = reportOf?.(kb) ?? null
    if (report !== null) return report
    return { state: 'exact', vectorCount: null, detail: nearest.access(kb).detail }
  }
}
