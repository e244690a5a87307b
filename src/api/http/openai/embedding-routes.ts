import { type Static, t } from 'elysia'
import type { CatalogSnapshot } from '../../../core/domain/access/catalog-snapshot.ts'
import { mayName, type Principal } from '../../../core/domain/access/principal.ts'
import {
  BUILTIN_EMBEDDING_MODEL,
  BUILTIN_PROVIDER,
  type ModelRef,
} from '../../../core/domain/model-ref.ts'
import { fullName, nameKey } from '../../../core/domain/names.ts'
import type { EmbedderReach, TokenCounter } from '../../../core/domain/ports/model-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { SLICE_MS, TimeSlice } from '../../../core/runtime/serial-queue.ts'
import { base64Of } from '../answers/wire.ts'
import { bodySchema } from '../bodies/body.ts'
import { integer, maybe, open } from '../request/schema-words.ts'
import { resource } from '../routes/operation.ts'
import { findReadable } from './named-models.ts'

const TEXTS_MAX = 2048
const DIMENSIONS_MAX = 1_000_000
const BODY_BYTES_MAX = 32 * 1024 * 1024

const BODY_SCHEMA = open({
  model: t.String({
    description:
      '`all-MiniLM-L6-v2`, or `project.knowledge_base` for the model of a knowledge base',
  }),
  input: t.Union(
    [
      t.String(),
      t.Array(t.Union([t.String(), t.Number(), t.Array(t.Number())]), { maxItems: TEXTS_MAX }),
    ],
    { description: 'A text, a list of texts, or tokens in the encoding cl100k_base' },
  ),
  encoding_format: t.Optional(
    t.Union([t.Literal('float'), t.Literal('base64'), t.Null()], {
      description: '`float`, or `base64` for little-endian 32-bit floats',
    }),
  ),
  dimensions: maybe(integer({ minimum: 1, maximum: DIMENSIONS_MAX }), {
    description: 'Must match the model’s dimensions, because vectors are not shortened',
  }),
  user: maybe(t.String()),
})
const BODY = bodySchema(BODY_SCHEMA, { bytesMax: BODY_BYTES_MAX })

const EMBEDDINGS_ANSWER = t.Object({
  object: t.Literal('list'),
  model: t.String(),
  data: t.Array(
    t.Object({
      object: t.Literal('embedding'),
      index: integer(),
      embedding: t.Union([t.Array(t.Number()), t.String()]),
    }),
  ),
  usage: t.Object({ prompt_tokens: integer(), total_tokens: integer() }),
})

export const embeddingOperations = resource('OpenAI', (api, context) => {
  const { embeddings } = context.deps
  const tokenTexts = new TokenTexts()
  api.post('/v1/embeddings', {
    id: 'createEmbeddings',
    summary: 'Embed texts',
    needs: 'read',
    body: BODY,
    answers: {
      200: ['A vector for each text', EMBEDDINGS_ANSWER],
      400: 'An empty text, or one too long for the model',
      404: 'Unknown model',
    },
    async run({ body: sent, signal, principal }) {
      const model = requireEmbeddingModel(context.snapshot(), principal, sent.model)
      const texts = await textsOf(sent.input, tokenTexts)
      const embedder = embeddings.embedder(model.ref)
      const counting = { counter: embeddings.counter(), reach: embedder.reach }
      const tokens = await countedTokens(texts, counting, signal)
      refuseDimensions(sent.dimensions, model.dimensions)
      const vectors = await embedder.embed(texts, signal)
      refuseDimensions(sent.dimensions, vectors[0]?.length ?? null)
      const isText = sent.encoding_format === 'base64'
      const data = vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: isText ? base64Of(vector) : { toJSON: () => Array.from(vector) },
      }))
      const usage = { prompt_tokens: tokens, total_tokens: tokens }
      return { object: 'list', data, model: model.id, usage }
    },
  })
})

/** @throws AppError `invalid_request` */
async function textsOf(
  input: Static<typeof BODY_SCHEMA>['input'],
  tokenTexts: TokenTexts,
): Promise<readonly string[]> {
  const inputs = typeof input === 'string' ? [input] : asInputs(input)
  if (inputs.length === 0) throw wrongInput('"input" must contain at least one text')
  const texts: string[] = []
  for (const [index, one] of inputs.entries()) {
    const text = typeof one === 'string' ? one : await tokenTexts.textOf(one, `input[${index}]`)
    if (text === '') throw wrongInput(`"input[${index}]" must not be empty`)
    texts.push(text)
  }
  return texts
}

type Inputs = Exclude<Static<typeof BODY_SCHEMA>['input'], string>

/** A list of numbers is one text, as tokens. */
function asInputs(list: Inputs): readonly (string | readonly number[])[] {
  const tokens = list.filter((one) => typeof one === 'number')
  if (tokens.length > 0 && tokens.length === list.length) return [tokens]
  return list.map((one, index) => {
    if (typeof one !== 'number') return one
    throw wrongInput(
      `"input[${index}]" is a number, but others are not; send either texts or tokens`,
    )
  })
}

function refuseDimensions(asked: number | null | undefined, there: number | null): void {
  if (asked === null || asked === undefined || there === null || asked === there) return
  const message = `The model’s vectors have ${there} dimensions and cannot be shortened to ${asked}`
  throw new AppError('invalid_request', message, { param: 'dimensions' })
}

function wrongInput(message: string): AppError {
  return new AppError('invalid_request', message, { param: 'input' })
}

export interface EmbeddingModel {
  readonly id: string
  readonly ref: ModelRef
  /** The number of dimensions; null until the first vector is known. */
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

const BUILTIN_EMBEDDINGS: EmbeddingModel = {
  id: BUILTIN_EMBEDDING_MODEL,
  ref: { provider: BUILTIN_PROVIDER, modelName: BUILTIN_EMBEDDING_MODEL, options: {} },
  dimensions: null,
}

/** @throws AppError `model_not_found`, also for a knowledge base the principal may not use */
function requireEmbeddingModel(
  snapshot: CatalogSnapshot,
  principal: Principal,
  name: string,
): EmbeddingModel {
  if (BUILTIN_NAMES.has(nameKey(name))) return BUILTIN_EMBEDDINGS
  const kb = findReadable(snapshot, principal, name)
  if (kb !== undefined && mayName(principal, kb.projectName)) {
    return { id: fullName(kb), ref: kb.embeddingModel, dimensions: kb.dimensions }
  }
  const known = `"${BUILTIN_EMBEDDING_MODEL}", or project.knowledge_base for the model of a knowledge base`
  const message = `The embedding model "${name.slice(0, 200)}" does not exist, or you may not use it; there are ${known}`
  throw new AppError('model_not_found', message, { param: 'model' })
}

/** The token limit for all texts of one request, as in OpenAI's API. */
const TOKENS_MAX = 300_000
/** A text this long certainly has too many tokens. */
const CHARS_PER_LOOK = 20_000

/** An estimate if the model counts differently. @throws AppError `context_exceeded` */
async function countedTokens(
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
      const message = `The texts have more than ${TOKENS_MAX} tokens in total; send them in several requests`
      throw new AppError('context_exceeded', message, { param: 'input' })
    }
  }
  return total
}

function tooLong(index: number, most: number): AppError {
  const what = `The text at input[${index}] has more than ${most} tokens, the most that the model reads`
  return new AppError('context_exceeded', `${what}; split it into parts`, { param: 'input' })
}

/** Maps each token to its bytes. */
type Vocabulary = ReadonlyMap<number, Uint8Array>

/** The vocabulary (100,000 tokens, 15 MB) is loaded with the first token input. */
class TokenTexts {
  #vocabulary: Promise<Vocabulary> | null = null

  /** @throws AppError `invalid_request` for a number that is not a token */
  async textOf(tokens: readonly number[], place: string): Promise<string> {
    this.#vocabulary ??= readVocabulary()
    const vocabulary = await this.#vocabulary
    const parts = tokens.map((token) => {
      const bytes = vocabulary.get(token)
      if (bytes !== undefined) return bytes
      const what = `${place} holds ${token}, which is not a token of the encoding cl100k_base`
      throw new AppError('invalid_request', `${what}; send texts instead`, { param: 'input' })
    })
    return Buffer.concat(parts).toString('utf8')
  }
}

/** Parses lines of the form `! <first token> <bytes as base64> <bytes as base64> …`. */
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
