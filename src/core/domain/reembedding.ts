import { AppError } from '../errors.ts'
import type { KnowledgeBase } from './knowledge-base.ts'

/** Chunks that have no vector of the next embedding model yet. */
export interface MissingVectors {
  /** In the order of their keys, with what is embedded of each. */
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

const EMBEDDING_ATTEMPTS_MAX = 3

/** A write was refused, as another embedding model has taken over since its vectors were made. */
export class SupersededVectors extends AppError {
  /** As it is now. */
  readonly knowledgeBase: KnowledgeBase

  constructor(knowledgeBase: KnowledgeBase) {
    const what = `Another embedding model has taken over ${knowledgeBase.name} meanwhile`
    super('insert_failed', `${what}: nothing was stored, write again`)
    this.knowledgeBase = knowledgeBase
  }
}

/** Embeds and writes; once more with the model that has taken over where one did so in between. */
export async function withModelInForce<T>(
  kb: KnowledgeBase,
  embedAndWrite: (kb: KnowledgeBase) => Promise<T>,
): Promise<T> {
  let inForce = kb
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await embedAndWrite(inForce)
    } catch (error) {
      if (!(error instanceof SupersededVectors) || attempt === EMBEDDING_ATTEMPTS_MAX) throw error
      inForce = error.knowledgeBase
    }
  }
}
