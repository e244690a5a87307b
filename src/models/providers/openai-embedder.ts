import type OpenAI from 'openai'
import { DIMENSIONS_MAX } from '../../core/domain/model-ref.ts'
import type { Embedder } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { type Endpoint, openaiBaseUrl } from '../endpoint.ts'
import { member } from '../provider-answer.ts'
import { type CallLimits, callProvider } from '../provider-call.ts'

const TEXTS_PER_CALL_MAX = 256
/** A token has at least one byte, so a call stays below the 300,000 tokens that OpenAI accepts. */
const BYTES_PER_CALL_MAX = 262_144
const CALLS_AT_ONCE_MAX = 4

const EMBEDDINGS_PATH = '/embeddings'

export interface EmbedLimits extends CallLimits {
  readonly answerBytesMax: number
}

/** The limits for vectors to be stored, which can wait for a busy server. */
export const EMBED_LIMITS: EmbedLimits = {
  retriesMax: 4,
  delayMs: 500,
  timeoutMs: 60_000,
  totalMs: 180_000,
  waitMsMax: 60_000,
  // 256 vectors of 16,384 numbers as JSON.
  answerBytesMax: 128 * 1024 * 1024,
}

interface OpenaiEmbedderConfig {
  readonly endpoint: Endpoint
  readonly modelName: string
  readonly limits: EmbedLimits
  /** Shared with other embedders; if unset, the embedder has its own. */
  readonly clients?: EmbeddingClients
}

const CLIENTS_MAX = 64

/** Creating a client takes a millisecond. */
export class EmbeddingClients {
  readonly #known = new LruMap<string, EmbeddingApi>({ sizeMax: CLIENTS_MAX })

  async of(endpoint: Endpoint, { answerBytesMax }: EmbedLimits): Promise<EmbeddingApi> {
    const { url, apiKey, query, guard } = endpoint
    const key = JSON.stringify([url, apiKey, query, guard === null, answerBytesMax])
    const known = this.#known.get(key)
    if (known !== undefined) return known
    // Loaded with the first text, because it would delay startup by 100 ms.
    const { openaiClient, openaiFailure } = await import('./openai-client.ts')
    const api = {
      // Attempts end by their own limits, see `callProvider`.
      client: openaiClient(endpoint, { timeoutMs: EMBED_LIMITS.timeoutMs, answerBytesMax }),
      failureOf: (error: unknown) => openaiFailure(error, endpoint, EMBEDDINGS_PATH),
    }
    this.#known.set(key, api)
    return api
  }
}

/** OpenAI's own models, whose limits are known; those of other servers are not. */
const OPENAI_MODEL = /^text-embedding-(?:3-|ada-)/
const OPENAI_REACH = { tokensMax: 8191, frameTokens: 0, tokenizer: 'bytes' } as const

export function openaiEmbedder(config: OpenaiEmbedderConfig): Embedder {
  const { endpoint, limits, clients = new EmbeddingClients() } = config
  return {
    ...(OPENAI_MODEL.test(config.modelName) ? { reach: OPENAI_REACH } : {}),
    async embed(texts, signal, onEmbedded) {
      signal.throwIfAborted()
      const called = await clients.of(endpoint, limits)
      const bounds = { concurrencyMax: CALLS_AT_ONCE_MAX, signal }
      const batches = await mapConcurrent(textBatches(texts), bounds, async (batch, either) => {
        const vectors = await batchVectors(batch, called, config, either)
        onEmbedded?.(batch.length)
        return vectors
      })
      const vectors = batches.flat()
      refuseMixedDimensions(vectors, config)
      return vectors
    },
  }
}

interface EmbeddingApi {
  readonly client: OpenAI
  readonly failureOf: (error: unknown) => AppError
}

function batchVectors(
  texts: readonly string[],
  { client, failureOf }: EmbeddingApi,
  { endpoint, modelName, limits }: OpenaiEmbedderConfig,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const request = { model: modelName, input: texts.map(nonEmpty) }
  // Base64, like the official client: a third of the bytes, and exact.
  const body = { ...request, encoding_format: 'base64' as const }
  const send = async (either: AbortSignal) => {
    const answer: unknown = await client.embeddings.create(body, { signal: either })
    return vectorsFrom(answer, texts.length)
  }
  const url = `${openaiBaseUrl(endpoint.url)}${EMBEDDINGS_PATH}`
  const timeoutError = (ms: number) => {
    return new AppError('provider_failed', `${url} did not answer within ${Math.round(ms)} ms`)
  }
  return callProvider(send, { limits, timeoutError, failureOf }, signal)
}

/** OpenAI refuses the whole call if one text is empty. */
function nonEmpty(text: string): string {
  return text === '' ? ' ' : text
}

function textBatches(texts: readonly string[]): readonly (readonly string[])[] {
  const batches: string[][] = []
  let byteCount = 0
  for (const text of texts) {
    const textBytes = Buffer.byteLength(text)
    const last = batches.at(-1)
    const hasRoom = last !== undefined && last.length < TEXTS_PER_CALL_MAX
    if (hasRoom && byteCount + textBytes <= BYTES_PER_CALL_MAX) {
      last.push(text)
      byteCount += textBytes
    } else {
      batches.push([text])
      byteCount = textBytes
    }
  }
  return batches
}

function refuseMixedDimensions(
  vectors: readonly Float32Array[],
  config: OpenaiEmbedderConfig,
): void {
  const first = vectors[0]?.length
  const other = vectors.find((vector) => vector.length !== first)
  if (other === undefined) return
  const url = `${openaiBaseUrl(config.endpoint.url)}${EMBEDDINGS_PATH}`
  const lengths = `${first} and ${other.length} dimensions`
  throw new AppError('provider_failed', `${url} returned vectors of ${lengths}`)
}

/** Corrects order and numbers instead of base64. @throws Error naming any other mismatch */
function vectorsFrom(answer: unknown, textCount: number): readonly Float32Array[] {
  const items = member(answer, 'data')
  if (!Array.isArray(items)) throw new Error('the answer has no list "data"')
  if (items.length !== textCount) {
    throw new Error(`${items.length} vectors came back for ${textCount} texts`)
  }
  const vectors: (Float32Array | undefined)[] = items.map(() => undefined)
  for (const [position, item] of items.entries()) {
    const index = member(item, 'index') ?? position
    if (typeof index !== 'number' || !(index in vectors) || vectors[index] !== undefined) {
      throw new Error(`the index of vector ${position + 1} is wrong`)
    }
    vectors[index] = checked(vectorFrom(member(item, 'embedding')), position)
  }
  return vectors.filter((vector) => vector !== undefined)
}

function vectorFrom(embedding: unknown): Float32Array | null {
  if (typeof embedding === 'string') return fromBase64(embedding)
  if (!Array.isArray(embedding) || embedding.length > DIMENSIONS_MAX) return null
  const isNumeric = embedding.every((value) => typeof value === 'number')
  return isNumeric ? Float32Array.from(embedding) : null
}

/** Little-endian float32 numbers, as OpenAI sends them. */
function fromBase64(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length % 4 !== 0 || bytes.length > DIMENSIONS_MAX * 4) return null
  const vector = new Float32Array(bytes.length / 4)
  new Uint8Array(vector.buffer).set(bytes)
  // Typed arrays use the machine's byte order.
  if (!IS_LITTLE_ENDIAN) Buffer.from(vector.buffer).swap32()
  return vector
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

function checked(vector: Float32Array | null, position: number): Float32Array {
  const name = `vector ${position + 1}`
  if (vector === null || vector.length === 0) throw new Error(`${name} is not a list of numbers`)
  for (let at = 0; at < vector.length; at += 1) {
    if (!Number.isFinite(vector[at])) throw new Error(`${name} holds a number that is not finite`)
  }
  return vector
}
