/** Requests from the server to an embedding process. */
export type EmbeddingRequest =
  /** Sent first, with the folder of the model's files. */
  | { readonly kind: 'load'; readonly folder: string }
  | {
      readonly kind: 'embed'
      readonly id: number
      readonly texts: readonly string[]
      /** Whether this is part of a larger job, which never counts as small, even with few texts. */
      readonly isPart: boolean
    }
  /** The caller of the job has gone. */
  | { readonly kind: 'cancel'; readonly id: number }

export type EmbeddingAnswer =
  /** The vectors of all texts, concatenated: `vectors.length === texts × dimensions`. */
  | { readonly kind: 'vectors'; readonly id: number; readonly vectors: Float32Array }
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string }
  /** The model could not be loaded. */
  | { readonly kind: 'unusable'; readonly reason: string }

export const MINI_LM_DIMENSIONS = 384

/** How many tokens the model reads in one piece, without the two special ones around every text. */
export const MINI_LM_TOKENS_AT_ONCE = 254

/** Eight parts hold a thousand characters of any script except Korean. The rest is ignored. */
export const MINI_LM_TOKENS_MAX = 8 * MINI_LM_TOKENS_AT_ONCE

/** Longer text is not even tokenized: the token limit is nearly always reached earlier. */
export const MINI_LM_CHARS_MAX = 200_000
