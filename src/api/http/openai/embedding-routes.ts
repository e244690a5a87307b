/** OpenAI's `/v1/embeddings`. */
import { type Static, t } from 'elysia'
import type { CatalogSnapshot } from '../../../core/domain/access/catalog-snapshot.ts'
import { mayName, type Principal } from '../../../core/domain/access/principal.ts'
import {
  BUILTIN_EMBEDDING_MODEL,
  BUILTIN_PROVIDER,
  type ModelRef,
} from '../../../core/domain/model-ref.ts'
import { nameKey } from '../../../core/domain/names.ts'
import type { EmbedderReach, TokenCounter } from '../../../core/domain/ports/model-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { TimeSlice } from '../../../core/runtime/serial-queue.ts'
import { bodySchema } from '../bodies/body.ts'
import { resource } from '../openapi/operation.ts'
import { maybe, open } from '../request/schema-words.ts'
import { findReadable, idOf } from './named-models.ts'

const TEXTS_MAX = 2048
/** The maximum number of dimensions to request; no model has as many. */
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
    { description: 'A text, a list of texts, or tokens of the encoding cl100k_base' },
  ),
  encoding_format: t.Optional(
    t.Union([t.Literal('float'), t.Literal('base64'), t.Null()], {
      description: '`base64`: little-endian 32-bit floats',
    }),
  ),
  dimensions: maybe(t.Number({ multipleOf: 1, minimum: 1, maximum: DIMENSIONS_MAX }), {
    description: 'Must be the model’s own: vectors are not shortened',
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
      index: t.Integer(),
      embedding: t.Union([t.Array(t.Number()), t.String()]),
    }),
  ),
  usage: t.Object({ prompt_tokens: t.Integer(), total_tokens: t.Integer() }),
})

const ENCODING_SLICE_MS = 5

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
      const answer = { model: model.id, format: sent.encoding_format ?? 'float', vectors, tokens }
      return new Response(await answerText(answer, signal), {
        headers: { 'content-type': 'application/json' },
      })
    },
  })
})

/** @throws AppError `invalid_request` */
async function textsOf(
  input: Static<typeof BODY_SCHEMA>['input'],
  tokenTexts: TokenTexts,
): Promise<readonly string[]> {
  const inputs = typeof input === 'string' ? [input] : asInputs(input)
  if (inputs.length === 0) throw wrongInput('"input" must hold at least one text')
  const texts: string[] = []
  for (const [index, one] of inputs.entries()) {
    const text = typeof one === 'string' ? one : await tokenTexts.textOf(one, `input[${index}]`)
    if (text === '') throw wrongInput(`"input[${index}]" must not be an empty text`)
    texts.push(text)
  }
  return texts
}

type Inputs = Exclude<Static<typeof BODY_SCHEMA>['input'], string>

/** A list of numbers is one text. */
function asInputs(list: Inputs): readonly (string | readonly number[])[] {
  const tokens = list.filter((one) => typeof one === 'number')
  if (tokens.length > 0 && tokens.length === list.length) return [tokens]
  return list.map((one, index) => {
    if (typeof one !== 'number') return one
    throw wrongInput(
      `"input[${index}]" is a number among others that are none; send texts, or tokens`,
    )
  })
}

function refuseDimensions(asked: number | null | undefined, there: number | null): void {
  if (asked === null || asked === undefined || there === null || asked === there) return
  const message = `The model makes vectors of ${there} dimensions, and they are not shortened to ${asked}`
  throw new AppError('invalid_request', message, { param: 'dimensions' })
}

function wrongInput(message: string): AppError {
  return new AppError('invalid_request', message, { param: 'input' })
}

/** Made piece by piece: two thousand vectors would hold up everybody else. */
async function answerText(
  given: {
    readonly model: string
    readonly format: 'float' | 'base64'
    readonly vectors: readonly Float32Array[]
    readonly tokens: number
  },
  signal: AbortSignal,
): Promise<string> {
  const { model, format, vectors, tokens } = given
  const slice = new TimeSlice(ENCODING_SLICE_MS)
  const data: string[] = []
  for (const [index, vector] of vectors.entries()) {
    const embedding = format === 'base64' ? `"${base64Of(vector)}"` : `[${vector.join(',')}]`
    data.push(`{"object":"embedding","index":${index},"embedding":${embedding}}`)
    await slice.yieldIfSpent(signal)
  }
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return `{"object":"list","data":[${data.join(',')}],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`
}

function base64Of({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

export interface EmbeddingModel {
  /** As the answer names it. */
  readonly id: string
  readonly ref: ModelRef
  /** The length of its vectors; null: learned from the first one. */
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

/** For all texts of one request, as in OpenAI's API. */
const TOKENS_MAX = 300_000
/** A text this long always has too many tokens. */
const CHARS_PER_LOOK = 20_000

/**
 * How many tokens the texts have; an estimate if the model counts differently.
 * @throws AppError `context_exceeded` that names the text and the limit
 */
export async function countedTokens(
  texts: readonly string[],
  { counter, reach }: { readonly counter: TokenCounter; readonly reach: EmbedderReach | undefined },
  signal: AbortSignal,
): Promise<number> {
  const slice = new TimeSlice(ENCODING_SLICE_MS)
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

/** Loaded with the first token input: some 100 000 of them, 15 MB. */
export class TokenTexts {
  #vocabulary: Promise<Vocabulary> | null = null

  /** @throws AppError `invalid_request` for a number that is not a token */
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
  const slice = new TimeSlice(ENCODING_SLICE_MS)
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
