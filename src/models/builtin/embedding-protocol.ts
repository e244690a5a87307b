/** Requests from the main thread to the embedding worker. */
export type EmbeddingRequest =
  /** Sent first: the folder of the model's files. */
  | { readonly kind: 'load'; readonly folder: string }
  | {
      readonly kind: 'embed'
      readonly id: number
      readonly texts: readonly string[]
      /** Part of a larger job split across threads: not small, even with few texts. */
      readonly isPart: boolean
    }
  /** The job's caller is gone. */
  | { readonly kind: 'cancel'; readonly id: number }
  /**
   * The worker ends itself: terminating it from outside during a native call aborts the process
   * (Bun 1.4.4, onnxruntime-node 1.30).
   */
  | { readonly kind: 'stop' }

/** Answers of the worker. */
export type EmbeddingAnswer =
  /** The vectors of all texts, concatenated: `vectors.length === texts × dimensions`. */
  | { readonly kind: 'vectors'; readonly id: number; readonly vectors: Float32Array }
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string }
  /** The model could not be loaded; the worker ends. */
  | { readonly kind: 'unusable'; readonly reason: string }

/** Length of the built-in model's vectors. */
export const MINI_LM_DIMENSIONS = 384

/** The text the model read at once, without the two special tokens around every text. */
export const MINI_LM_TOKENS_AT_ONCE = 254

/**
 * The readable part of a text: eight parts. A thousand characters of any script have no more tokens, except Korean, whose
 * syllables have up to three each. Later tokens are ignored.
 */
export const MINI_LM_TOKENS_MAX = 8 * MINI_LM_TOKENS_AT_ONCE

/** Beyond this no text has one of its tokens that count, unless its words are hundreds of characters long. */
export const MINI_LM_CHARS_MAX = 200_000
