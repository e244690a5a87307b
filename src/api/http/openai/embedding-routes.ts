/** OpenAI's `/v1/embeddings`. */
import { type Static, t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { TimeSlice } from '../../../core/runtime/scheduling.ts'
import { bodySchema } from '../bodies/body.ts'
import { resource } from '../openapi/operation.ts'
import { maybe, open } from '../request/schema-words.ts'
import { countedTokens, requireEmbeddingModel, TokenTexts } from './embedding-model.ts'

const TEXTS_MAX = 2048
/** Numbers of a vector that was asked for; no model has as many. */
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
    description: 'Those of the model; vectors are not shortened',
  }),
  user: maybe(t.String()),
})
const BODY = bodySchema(BODY_SCHEMA, { bytesMax: BODY_BYTES_MAX })

const ANSWER = t.Object({
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

const SLICE_MS = 5

export const embeddingOperations = resource('OpenAI', (api, context) => {
  const { embeddings } = context.deps
  const tokenTexts = new TokenTexts()
  api.post('/v1/embeddings', {
    id: 'createEmbeddings',
    summary: 'Embed texts',
    needs: 'read',
    body: BODY,
    answers: {
      200: ['A vector for each text', ANSWER],
      400: 'An empty text, or one that the model does not read whole',
      404: 'No such model',
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
  if (inputs.length === 0) throw wrong('"input" must hold at least one text')
  const texts: string[] = []
  for (const [index, one] of inputs.entries()) {
    const text = typeof one === 'string' ? one : await tokenTexts.textOf(one, `input[${index}]`)
    if (text === '') throw wrong(`"input[${index}]" must not be an empty text`)
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
    throw wrong(`"input[${index}]" is a number among others that are none; send texts, or tokens`)
  })
}

function refuseDimensions(asked: number | null | undefined, there: number | null): void {
  if (asked === null || asked === undefined || there === null || asked === there) return
  const message = `The model makes vectors of ${there} dimensions, and they are not shortened to ${asked}`
  throw new AppError('invalid_request', message, { param: 'dimensions' })
}

function wrong(message: string): AppError {
  return new AppError('invalid_request', message, { param: 'input' })
}

/** Made piece by piece: two thousand vectors would hold up everybody else. */
async function answerText(
  {
    model,
    format,
    vectors,
    tokens,
  }: {
    readonly model: string
    readonly format: 'float' | 'base64'
    readonly vectors: readonly Float32Array[]
    readonly tokens: number
  },
  signal: AbortSignal,
): Promise<string> {
  const slice = new TimeSlice(SLICE_MS)
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
