import {
  type ChatDefaults,
  COMPATIBLE_PROVIDERS,
  type ModelRef,
  unknownProvider,
} from '../../core/domain/model-ref.ts'
import type { Reranker, RerankerRegistry } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { chosenEndpoint, modelEndpoint } from '../endpoint.ts'
import { listwiseReranker, PointwiseReranker } from '../rerankers/chat-rerankers.ts'
import { CircuitBreaker } from '../rerankers/circuit-breaker.ts'
import { EndpointReranker } from '../rerankers/endpoint-reranker.ts'
import { rerankOptionsOf } from '../rerankers/rerank-options.ts'
import { RERANK_SERVERS, type RerankProvider } from '../rerankers/rerank-servers.ts'

export interface RerankerRegistryDeps {
  readonly openaiApiKey?: string | undefined
  readonly openaiBaseUrl?: string | undefined
  readonly serviceKeys?: ChatDefaults['serviceKeys']
  /** Which addresses a model may name; unset: any. */
  readonly guard?: Guard | undefined
  /** Milliseconds, for differences: what failed is left alone for a while. */
  readonly nowMs: () => number
}

/** Rerankers kept for what they learned about their servers. */
const RERANKERS_MAX = 64

/**
 * The rerankers by provider name: `openai` for any chat model with OpenAI's API, the others for rerank servers. The same
 * reference gives the same reranker, which remembers its server's features, and whether it failed.
 */
export function rerankerRegistry(deps: RerankerRegistryDeps): RerankerRegistry {
  const kinds = new Map<string, (ref: ModelRef) => Reranker>([
    ...['openai', ...COMPATIBLE_PROVIDERS].map((name) => {
      return [name, (ref: ModelRef) => chatReranker(ref, deps)] as const
    }),
    // `vllm` has an API that reranks.
    ...serverProviders().map((provider) => {
      return [provider, (ref: ModelRef) => endpointReranker(ref, provider, deps.guard)] as const
    }),
  ])
  const rerankers = new LruMap<string, Reranker>({ sizeMax: RERANKERS_MAX })
  const newReranker = (ref: ModelRef): Reranker => {
    const kind = kinds.get(ref.provider)
    if (kind !== undefined) return kind(ref)
    throw unknownProvider('reranking', ref.provider, [...kinds.keys()])
  }
  return {
    providers: [...kinds.keys()],
    reranker(ref) {
      const key = JSON.stringify(ref)
      const reranker = rerankers.get(key) ?? new CircuitBreaker(newReranker(ref), deps.nowMs)
      rerankers.set(key, reranker)
      return reranker
    },
  }
}

function serverProviders(): readonly RerankProvider[] {
  // The table's keys are its type's.
  return Object.keys(RERANK_SERVERS) as RerankProvider[]
}

function chatReranker(ref: ModelRef, deps: RerankerRegistryDeps): Reranker {
  const terms = { chat: deps, guard: deps.guard, code: 'invalid_knowledge_base' as const }
  const endpoint = modelEndpoint(ref, terms)
  const options = rerankOptionsOf(ref)
  const config = { endpoint, modelName: requiredModelName(ref), options }
  return options.mode === 'listwise' ? listwiseReranker(config) : new PointwiseReranker(config)
}

function endpointReranker(
  ref: ModelRef,
  provider: RerankProvider,
  guard: Guard | undefined,
): Reranker {
  const server = RERANK_SERVERS[provider]
  const endpoint = chosenEndpoint({
    own: { baseUrl: ref.baseUrl, apiKey: ref.apiKey },
    defaults: {},
    publicUrl: server.publicUrl,
    guard,
    code: 'invalid_knowledge_base',
  })
  const modelName = server.needsModelName ? requiredModelName(ref) : ref.modelName
  return new EndpointReranker({ server, endpoint, modelName, options: rerankOptionsOf(ref) })
}

function requiredModelName(ref: ModelRef): string {
  if (ref.modelName !== '') return ref.modelName
  const what = `a reranking model of the provider ${ref.provider}`
  throw new AppError('invalid_knowledge_base', `"model_name" is required for ${what}`)
}
