import {
  BUILTIN_EMBEDDING_MODEL,
  BUILTIN_PROVIDER,
  type ChatDefaults,
  COMPATIBLE_PROVIDERS,
  type ModelRef,
  unknownProvider,
} from '../../core/domain/model-ref.ts'
import type {
  Embedder,
  EmbedderProbe,
  EmbedderRegistry,
} from '../../core/domain/ports/model-ports.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { MINI_LM_DIMENSIONS } from '../builtin/embedding-protocol.ts'
import { type Endpoint, modelEndpoint } from '../endpoint.ts'
import {
  EMBED_LIMITS,
  EmbeddingClients,
  type EmbedLimits,
  openaiEmbedder,
} from '../providers/openai-embedder.ts'

interface EmbedderRegistryDeps
  extends Pick<ChatDefaults, 'openaiApiKey' | 'openaiBaseUrl' | 'serviceKeys'> {
  /** The caller starts and closes it. */
  readonly builtin: Embedder
  readonly guard?: Guard | undefined
}

interface EmbeddingProvider {
  embedder(ref: ModelRef, withinMs?: number): Embedder
  probe(ref: ModelRef, timeoutMs: number): Promise<EmbedderProbe>
}

export function embedderRegistry(deps: EmbedderRegistryDeps): EmbedderRegistry {
  const openai = openaiProvider(deps)
  const providers = new Map<string, EmbeddingProvider>([
    [BUILTIN_PROVIDER, builtinProvider(deps.builtin)],
    ...['openai', ...COMPATIBLE_PROVIDERS].map((name) => [name, openai] as const),
  ])
  const providerOf = (ref: ModelRef): EmbeddingProvider => {
    const provider = providers.get(ref.provider)
    if (provider !== undefined) return provider
    throw unknownProvider('embedding', ref.provider, [...providers.keys()])
  }
  return {
    providers: [...providers.keys()],
    embedder: (ref, withinMs) => providerOf(ref).embedder(ref, withinMs),
    probe: async (ref, timeoutMs) => providerOf(ref).probe(ref, timeoutMs),
  }
}

function builtinProvider(builtin: Embedder): EmbeddingProvider {
  const checkModelName = ({ modelName }: ModelRef): void => {
    if (modelName === '' || modelName === BUILTIN_EMBEDDING_MODEL) return
    const known = `the builtin provider only has ${BUILTIN_EMBEDDING_MODEL}`
    throw new AppError('invalid_knowledge_base', `Unknown model ${modelName}: ${known}`)
  }
  return {
    embedder(ref) {
      checkModelName(ref)
      return builtin
    },
    // Its dimensions are known without loading it.
    async probe(ref) {
      checkModelName(ref)
      return { kind: 'ready', dimensions: MINI_LM_DIMENSIONS }
    },
  }
}

function openaiProvider(deps: EmbedderRegistryDeps): EmbeddingProvider {
  const clients = new EmbeddingClients()
  const endpointOf = (ref: ModelRef): Endpoint => {
    return modelEndpoint(ref, { chat: deps, guard: deps.guard, code: 'invalid_knowledge_base' })
  }
  const embedder = (ref: ModelRef, limits: EmbedLimits): Embedder => {
    if (ref.modelName === '') {
      throw new AppError('invalid_knowledge_base', 'embedding_model.model_name is required')
    }
    return openaiEmbedder({ endpoint: endpointOf(ref), modelName: ref.modelName, limits, clients })
  }
  return {
    embedder: (ref, withinMs) => embedder(ref, limitsWithin(withinMs)),
    probe: (ref, timeoutMs) => {
      const once = embedder(ref, { ...EMBED_LIMITS, retriesMax: 0, timeoutMs })
      return probeOnce(once, endpointOf(ref).url, timeoutMs)
    },
  }
}

/** Callers with more time retry until it is used up, and wait as long as the server asks. */
function limitsWithin(totalMs: number = EMBED_LIMITS.totalMs): EmbedLimits {
  const timeoutMs = Math.min(EMBED_LIMITS.timeoutMs, totalMs)
  if (totalMs <= EMBED_LIMITS.totalMs) return { ...EMBED_LIMITS, totalMs, timeoutMs }
  return { ...EMBED_LIMITS, totalMs, timeoutMs, retriesMax: PATIENT_RETRIES, waitMsMax: totalMs }
}

/** More than enough: with pauses of at most a minute, the deadline ends the retries. */
const PATIENT_RETRIES = 1000

/** @param url without credentials or query */
async function probeOnce(
  embedder: Embedder,
  url: string,
  timeoutMs: number,
): Promise<EmbedderProbe> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const [vector] = await embedder.embed(['probe'], signal)
    if (vector === undefined) throw new AppError('provider_failed', 'it returned no vector')
    return { kind: 'ready', dimensions: vector.length }
  } catch (error) {
    const late = `${url} did not answer within ${timeoutMs} ms`
    if (signal.aborted) return unreachable(late)
    if (hasCode(error, 'provider_failed')) {
      return unreachable(error.message)
    }
    throw error
  }
}

function unreachable(reason: string): EmbedderProbe {
  return { kind: 'unreachable', warning: `The embedding model could not be tested: ${reason}` }
}
