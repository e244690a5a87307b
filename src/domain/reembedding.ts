/** Chunks that have no vector of the next embedding model yet. */
export interface MissingVectors {
  /** In the order of their keys. */
  readonly chunks: readonly { readonly chunkKey: bigint; readonly content: string }[]
  /** Vectors that are there already; some may be of chunks that are gone. */
  readonly doneCount: number
  /** Of all chunks. */
  readonly chunkCount: number
}

export interface NextVector {
  readonly chunkKey: bigint
  readonly vector: Float32Array
}

export type SwitchOutcome =
  | { readonly kind: 'switched' }
  /** Chunks came meanwhile: nothing has changed. */
  | { readonly kind: 'missing'; readonly count: number }
  /** There is no next model any more. */
  | { readonly kind: 'settled' }

/** How far a change of the embedding model has come. */
export interface ReembeddingProgress {
  readonly doneCount: number
  /** null: not counted yet. */
  readonly chunkCount: number | null
  /** Of the last attempt, where it failed; the next one follows. */
  readonly error: string | null
}
