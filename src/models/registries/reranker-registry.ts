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
import { MINUTE_MS } from '../../core/time.ts'
import { chosenEndpoint, modelEndpoint } from '../endpoint.ts'
import { listwiseReranker, PointwiseReranker } from '../rerankers/chat-rerankers.ts'
import { EndpointReranker } from '../rerankers/endpoint-reranker.ts'
import { rerankOptionsOf } from '../rerankers/rerank-options.ts'
import { RERANK_SERVERS, type RerankServer } from '../rerankers/rerank-servers.ts'

interface RerankerRegistryDeps
  extends Pick<ChatDefaults, 'openaiApiKey' | 'openaiBaseUrl' | 'serviceKeys'> {
  readonly guard?: Guard | undefined
  /** Milliseconds from any starting point, for the pause after a failure. */
  readonly nowMs: () => number
}

/** How many rerankers are cached; each remembers what its server supports. */
const RERANKERS_MAX = 64

/** `openai` for any chat model, others for rerank servers. Equal references share a reranker. */
export function rerankerRegistry(deps: RerankerRegistryDeps): RerankerRegistry {
  const kinds = new Map<string, (ref: ModelRef) => Reranker>([
    ...['openai', ...COMPATIBLE_PROVIDERS].map((name) => {
      return [name, (ref: ModelRef) => chatReranker(ref, deps)] as const
    }),
    // Replaces the chat provider `vllm`, because vLLM has a rerank API.
    ...Object.entries(RERANK_SERVERS).map(([provider, server]) => {
      return [provider, (ref: ModelRef) => endpointReranker(ref, server, deps.guard)] as const
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

function chatReranker(ref: ModelRef, deps: RerankerRegistryDeps): Reranker {
  const terms = { chat: deps, guard: deps.guard, code: 'invalid_knowledge_base' as const }
  const endpoint = modelEndpoint(ref, terms)
  const options = rerankOptionsOf(ref)
  const config = { endpoint, modelName: requiredModelName(ref), options }
  return options.mode === 'listwise' ? listwiseReranker(config) : new PointwiseReranker(config)
}

function endpointReranker(ref: ModelRef, server: RerankServer, guard: Guard | undefined): Reranker {
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

/** The pause after the first failure; it doubles with each further one. */
const PAUSE_MS = 5_000
const PAUSE_MS_MAX = MINUTE_MS

interface Pause {
  readonly failure: AppError
  readonly lengthMs: number
  /** In the time of `nowMs`. */
  readonly endMs: number
}

/**
 * A circuit breaker: after a failure, calls fail at once with the same error for a while, so that
 * not every search waits for its deadline. After the pause, one call tries again; others keep
 * failing until it has finished.
 */
export class CircuitBreaker implements Reranker {
  readonly #reranker: Reranker
  readonly #nowMs: () => number
  #pause: Pause | null = null
  #isTrying = false

  /** @param nowMs milliseconds from any starting point */
  constructor(reranker: Reranker, nowMs: () => number) {
    this.#reranker = reranker
    this.#nowMs = nowMs
  }

  async rerank(
    queryText: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const before = this.#pause
    this.#refuseWhilePaused(before)
    this.#isTrying = before !== null
    try {
      const scores = await this.#reranker.rerank(queryText, passages, signal)
      this.#pause = null
      return scores
    } catch (error) {
      // A call that its caller aborted says nothing about the reranker.
      if (!signal.aborted) this.#noteFailure(error, before)
      throw error
    } finally {
      if (before !== null) this.#isTrying = false
    }
  }

  #refuseWhilePaused(pause: Pause | null): void {
    if (pause === null) return
    const restMs = pause.endMs - this.#nowMs()
    if (restMs <= 0 && !this.#isTrying) return
    const { failure } = pause
    const rest = `${Math.max(1, Math.ceil(restMs / 1000))} s`
    const message = `${failure.message} (it was not called: the next attempt is in ${rest})`
    throw new AppError(failure.code, message, { title: failure.title, cause: failure })
  }

  /**
   * @param before the pause before this call, so that an outage that several calls encounter counts
   * once
   */
  #noteFailure(failure: unknown, before: Pause | null): void {
    const isOfReranker =
      failure instanceof AppError &&
      (failure.code === 'provider_failed' || failure.code === 'provider_refused')
    if (!isOfReranker || this.#pause !== before) return
    const lengthMs = before === null ? PAUSE_MS : Math.min(PAUSE_MS_MAX, before.lengthMs * 2)
    this.#pause = { failure, lengthMs, endMs: this.#nowMs() + lengthMs }
  }
}
