/** The model that `/v1/embeddings` names, and what it may be asked. */

import type { CatalogSnapshot } from '../../../core/domain/access/catalog-snapshot.ts'
import { mayName, type Principal } from '../../../core/domain/access/principal.ts'
import { nameKey } from '../../../core/domain/identifier.ts'
import {
  BUILTIN_EMBEDDING_MODEL,
  BUILTIN_PROVIDER,
  type ModelRef,
} from '../../../core/domain/model-ref.ts'
import type { EmbedderReach, TokenCounter } from '../../../core/domain/ports/model-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { TimeSlice } from '../../../core/runtime/serial-queue.ts'
import { findReadable, idOf } from './named-models.ts'

export interface EmbeddingModel {
  /** As the answer names it. */
  readonly id: string
  readonly ref: ModelRef
  /** Of its vectors; null: the first of them says it. */
  readonly dimensions: number | null
}

const BUILTIN_NAMES: ReadonlySet<string> = new Set(
  [
    BUILTIN_EMBEDDING_MODEL,
    BUILTIN_PROVIDER,
    `${BUILTIN_PROVIDER}/${BUILTIN_EMBEDDING_MODEL}`,
    `sentence-transformers/${BUILTIN_EMBEDDING_MODEL}`,
  ].map(nameKey),
)

export const BUILTIN_EMBEDDINGS: EmbeddingModel = {
  id: BUILTIN_EMBEDDING_MODEL,
  ref: { provider: BUILTIN_PROVIDER, modelName: BUILTIN_EMBEDDING_MODEL, options: {} },
  dimensions: null,
}

/** @throws AppError `model_not_found`, the same for a knowledge base that the principal may not name */
export function requireEmbeddingModel(
  snapshot: CatalogSnapshot,
  principal: Principal,
  name: string,
): EmbeddingModel {
  if (BUILTIN_NAMES.has(nameKey(name))) return BUILTIN_EMBEDDINGS
  const kb = findReadable(snapshot, principal, name)
  if (kb !== undefined && mayName(principal, kb.projectName)) {
    return { id: idOf(kb), ref: kb.embeddingModel, dimensions: kb.dimensions }
  }
  const known = `"${BUILTIN_EMBEDDING_MODEL}", or project.knowledge_base for the model of a knowledge base`
  const message = `The embedding model "${name.slice(0, 200)}" does not exist, or you may not use it; there are ${known}`
  throw new AppError('model_not_found', message, { param: 'model' })
}

/** Of all texts of one request, as in OpenAI's API. */
const TOKENS_MAX = 300_000
const SLICE_MS = 5
/** No text of so many characters has so few tokens that it could be let in. */
const CHARS_PER_LOOK = 20_000

/**
 * How many tokens the texts have; of a model that counts otherwise, about so many.
 * @throws AppError `context_exceeded` that names the text and the limit
 */
export async function countedTokens(
  texts: readonly string[],
  { counter, reach }: { readonly counter: TokenCounter; readonly reach: EmbedderReach | undefined },
  signal: AbortSignal,
): Promise<number> {
  const slice = new TimeSlice(SLICE_MS)
  const isKnown = reach?.tokenizer === 'word_piece'
  const most = isKnown ? reach.tokensMax - reach.frameTokens : TOKENS_MAX
  let total = 0
  for (const [index, text] of texts.entries()) {
    let tokens = 0
    for (let start = 0; start < text.length; start += CHARS_PER_LOOK) {
      tokens += counter.count(text.slice(start, start + CHARS_PER_LOOK))
      if (tokens > most) throw tooLong(index, most)
      await slice.yieldIfSpent(signal)
    }
    total += tokens + (reach?.frameTokens ?? 0)
    if (total > TOKENS_MAX) {
      const message = `The texts have more than ${TOKENS_MAX} tokens together; send them in several requests`
      throw new AppError('context_exceeded', message, { param: 'input' })
    }
  }
  return total
}

function tooLong(index: number, most: number): AppError {
  const what = `The text at input[${index}] has more than ${most} tokens, all that the model reads`
  return new AppError('context_exceeded', `${what}; cut it into parts`, { param: 'input' })
}

/** The bytes of each token. */
type Vocabulary = ReadonlyMap<number, Uint8Array>

/** Loaded with the first tokens that come: some 100 000 of them, 15 MB. */
export class TokenTexts {
  #vocabulary: Promise<Vocabulary> | null = null

  /** @throws AppError `invalid_request` for a number that is no token */
  async textOf(tokens: readonly number[], place: string): Promise<string> {
    this.#vocabulary ??= readVocabulary()
    const vocabulary = await this.#vocabulary
    const parts = tokens.map((token) => {
      const bytes = vocabulary.get(token)
      if (bytes !== undefined) return bytes
      const what = `${place} holds ${token}, which is no token of the encoding cl100k_base`
      throw new AppError('invalid_request', `${what}; send texts instead`, { param: 'input' })
    })
    return Buffer.concat(parts).toString('utf8')
  }
}

/** Lines of `! <first token> <bytes as base64> <bytes as base64> …`. */
async function readVocabulary(): Promise<Vocabulary> {
  const { default: encoding } = await import('js-tiktoken/ranks/cl100k_base')
  const slice = new TimeSlice(SLICE_MS)
  const forever = new AbortController().signal
  const vocabulary = new Map<number, Uint8Array>()
  for (const line of encoding.bpe_ranks.split('\n')) {
    const [, first, ...tokens] = line.split(' ')
    for (const [index, bytes] of tokens.entries()) {
      vocabulary.set(Number(first) + index, Buffer.from(bytes, 'base64'))
      if (index % 256 === 0) await slice.yieldIfSpent(forever)
    }
  }
  return vocabulary
}
