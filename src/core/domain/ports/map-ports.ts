/** Maps of knowledge bases: their chunks as points in two dimensions, those beside each other whose vectors are near. */
import type { KnowledgeBase } from '../knowledge-base.ts'

/** Coordinates go from 0 to this, the same distance for both. */
export const MAP_SIDE = 65_535

export interface NamedRegion {
  /** 0: for a view from far away; each further level has smaller ones. */
  readonly level: number
  /** Index of the region that it is a part of; null at level 0. */
  readonly parent: number | null
  readonly x: number
  readonly y: number
  readonly pointCount: number
  /** That tell it from the others, the best first. */
  readonly words: readonly string[]
}

export interface ChunkMap {
  /** Equal where every point is the same. */
  readonly version: string
  /** Of the knowledge base. */
  readonly revision: number
  /** Of all chunks, of which a very large knowledge base shows some. */
  readonly chunkCount: number
  readonly seconds: number
  /** Of the chunks, rising: the points in their order. */
  readonly keys: BigInt64Array
  readonly x: Uint16Array
  readonly y: Uint16Array
  /** Of each point, the index of its region at the last level. */
  readonly regionOf: Uint16Array
  readonly regions: readonly NamedRegion[]
}

export const MAP_STAGES = ['waiting', 'reading', 'neighbours', 'layout', 'labels'] as const

export interface MapProgress {
  readonly stage: (typeof MAP_STAGES)[number]
  /** Of the whole way, 0 to 1. */
  readonly share: number
}

export interface MapState {
  /** null: there is none yet. */
  readonly map: ChunkMap | null
  /** False: documents were stored or deleted since, or another model embedded them. */
  readonly isCurrent: boolean
  /** Of the one that is being computed; null: none is. */
  readonly progress: MapProgress | null
  /** Why the last one could not be computed. */
  readonly failure: string | null
}

export interface MapAsking {
  /** Somebody wants one that failed to begin now: without it, the pause after failures grows. */
  readonly isRetry?: boolean
}

export interface ChunkMaps {
  /** At once. Where there is none of this revision, one begins to be computed. */
  stateOf(kb: KnowledgeBase, asking?: MapAsking): Promise<MapState>
}
