/** Length of the built-in model's vectors. */
export const MINI_LM_DIMENSIONS = 384

/**
 * What the model was made to read, [CLS] and [SEP] included: what comes after these tokens does not
 * count.
 */
export const MINI_LM_TOKENS_MAX = 256

/**
 * Beyond this no text has one of its first 256 tokens, unless its words are hundreds of characters
 * long.
 */
export const MINI_LM_CHARS_MAX = 100_000
