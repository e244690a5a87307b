import type OpenAI from 'openai'
import type { Embedder } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import { type Endpoint, openaiBaseUrl } from '../endpoint.ts'
import { type OpenaiCallLimits, openaiClient, openaiFailure } from './openai-client.ts'
import { vectorsFrom } from './openai-vectors.ts'

const TEXTS_PER_CALL_MAX = 256
/** A token is a byte at least: a call stays below the 300 000 tokens that OpenAI takes at once. */
const BYTES_PER_CALL_MAX = 262_144
const CALLS_AT_ONCE_MAX = 4

const PATH = '/embeddings'

/** For vectors that are to be stored: patient with a busy server. */
export const EMBED_LIMITS: OpenaiCallLimits = {
  retriesMax: 4,
  timeoutMs: 60_000,
  // 256 vectors of 16 384 numbers as JSON.
  answerBytesMax: 128 * 1024 * 1024,
}

export interface OpenaiEmbedderConfig {
  readonly endpoint: Endpoint
  readonly modelName: string
  readonly limits: OpenaiCallLimits
}

/** Embeds through any server with OpenAI's embeddings API. */
export function openaiEmbedder(config: OpenaiEmbedderConfig): Embedder {
  const client = openaiClient(config.endpoint, config.limits)
  return {
    async embed(texts, signal) {
      signal.throwIfAborted()
      const vectors = await allVectors(texts, { client, config, signal })
      refuseMixedDimensions(vectors, config)
      return vectors
    },
  }
}

interface Call {
  readonly client: OpenAI
  readonly config: OpenaiEmbedderConfig
  readonly signal: AbortSignal
}

/** Some calls at a time; the first that fails stops the others. */
async function allVectors(texts: readonly string[], call: Call): Promise<readonly Float32Array[]> {
  const batches = batchesOf(texts)
  const results: (readonly Float32Array[])[] = batches.map(() => [])
  const remaining = batches.entries()
  const stop = new AbortController()
  const signal = AbortSignal.any([call.signal, stop.signal])
  // The lanes share one iterator: each takes the next batch that nobody has taken.
  const lane = async (): Promise<void> => {
    for (const [index, batch] of remaining) {
      signal.throwIfAborted()
      results[index] = await batchVectors(batch, { ...call, signal })
    }
  }
  const lanes = Array.from({ length: Math.min(CALLS_AT_ONCE_MAX, batches.length) }, lane)
  try {
    await Promise.all(lanes)
  } catch (error) {
    stop.abort(error)
    await Promise.allSettled(lanes)
    call.signal.throwIfAborted()
    throw error
  }
  return results.flat()
}

async function batchVectors(
  texts: readonly string[],
  { client, config, signal }: Call,
): Promise<readonly Float32Array[]> {
  try {
    const request = { model: config.modelName, input: texts.map(nonEmpty) }
    // Base64 is what the official client asks for: a third of the bytes, and exact.
    const body = { ...request, encoding_format: 'base64' as const }
    const answer: unknown = await client.embeddings.create(body, { signal })
    return vectorsFrom(answer, texts.length)
  } catch (error) {
    signal.throwIfAborted()
    throw openaiFailure(error, config.endpoint, PATH)
  }
}

/** OpenAI refuses a whole call for one empty text. */
function nonEmpty(text: string): string {
  return text === '' ? ' ' : text
}

function batchesOf(texts: readonly string[]): readonly (readonly string[])[] {
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
  const url = `${openaiBaseUrl(config.endpoint.url)}${PATH}`
  const lengths = `${first} and ${other.length} dimensions`
  throw new AppError('provider_failed', `${url} gave vectors of ${lengths}`)
}
