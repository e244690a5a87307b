import type { Reranker } from '../../core/domain/ports/model-ports.ts'
import { parsedJson } from '../../core/json.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { providerFetch } from '../provider-answer.ts'
import {
  type FailedTry,
  type RetryPolicy,
  refusalWithin,
  retry,
  retryAfterMs,
  type TryResult,
} from '../provider-call.ts'
import {
  isTransientStatus,
  plainDetail,
  providerFailure,
  rerankErrorText,
} from '../provider-failure.ts'
import type { JudgeConfig } from './judge.ts'
import type { RerankOptions } from './rerank-options.ts'
import { RERANK_LIMITS, type ShownTexts, shownTexts, withRerankDeadline } from './rerank-prompts.ts'
import {
  isInUnitRange,
  type RerankServer,
  rerankUrl,
  scoresFrom,
  sigmoid,
} from './rerank-servers.ts'

interface EndpointRerankerConfig extends JudgeConfig {
  readonly server: RerankServer
}

/** Scores outside [0, 1], or with `raw_scores`, are mapped by the logistic function. */
export class EndpointReranker implements Reranker {
  readonly #config: EndpointRerankerConfig
  readonly #url: string
  readonly #fetch: typeof fetch

  constructor(config: EndpointRerankerConfig) {
    this.#config = config
    this.#fetch = providerFetch(config.endpoint.guard, RERANK_LIMITS.answerBytesMax)
    this.#url = rerankUrl(config.endpoint.url, config.server)
  }

  async rerank(
    queryText: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const { server, options } = this.#config
    const calls = callsOf(shownTexts(queryText, passages), server.passagesPerCallMax)
    const deadline = { url: this.#url, timeoutMs: options.timeoutMs, signal }
    const policy = retryPolicy(options)
    const scores = await withRerankDeadline(deadline, (both) => {
      const bounds = { concurrencyMax: options.callsAtOnceMax, signal: both }
      return mapConcurrent(calls, bounds, (texts, laneSignal) => {
        return retry(() => this.#attempt(texts, laneSignal), policy, laneSignal)
      })
    })
    const all = scores.flat()
    return (options.hasRawScores ?? !isInUnitRange(all)) ? all.map(sigmoid) : all
  }

  async #attempt(texts: ShownTexts, signal: AbortSignal): Promise<TryResult<readonly number[]>> {
    const late = AbortSignal.timeout(this.#config.options.requestTimeoutMs)
    const isOver = () => late.aborted || signal.aborted
    try {
      const response = await this.#send(texts, AbortSignal.any([signal, late]))
      // The status is enough to report a failure, even without a body.
      if (!response.ok) return this.#refused(response, await response.text().catch(() => ''))
      return this.#read(await response.text(), texts.passages.length)
    } catch (error) {
      const refusal = refusalWithin(error)
      if (refusal !== null) return { ...NO_FURTHER_TRY, error: refusal }
      const detail = late.aborted ? 'no answer in time' : plainDetail(error)
      return this.#failed(null, detail, !isOver())
    }
  }

  #send(texts: ShownTexts, signal: AbortSignal): Promise<Response> {
    const { server, endpoint, modelName } = this.#config
    const query = new URLSearchParams(endpoint.query).toString()
    const key = endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }
    return this.#fetch(query === '' ? this.#url : `${this.#url}?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...key },
      body: JSON.stringify(server.body(texts, modelName)),
      signal,
    })
  }

  #refused(response: Response, text: string): FailedTry {
    const { status, headers } = response
    const failed = this.#failed(
      status,
      rerankErrorText(parsedJson(text)),
      isTransientStatus(status),
    )
    return { ...failed, retryAfterMs: retryAfterMs(headers, Date.now()) }
  }

  /** A mismatching answer is not retried, because the next would be the same. */
  #read(text: string, passageCount: number): TryResult<readonly number[]> {
    try {
      const answer = parsedJson(text)
      if (answer === undefined) throw new Error('the answer is not JSON')
      const scores = scoresFrom(answer, passageCount)
      const { server, options } = this.#config
      const isUnit = options.hasRawScores === false || server.givesUnitScores
      if (isUnit && options.hasRawScores !== true && !isInUnitRange(scores)) {
        throw new Error('a score is not from 0 to 1')
      }
      return { kind: 'done', value: scores }
    } catch (error) {
      return this.#failed(null, plainDetail(error), false)
    }
  }

  #failed(status: number | null, detail: string, isTransient: boolean): FailedTry {
    const error = providerFailure(this.#url, status, detail, this.#config.endpoint)
    return { kind: 'failed', error, isTransient, retryAfterMs: null }
  }
}

const NO_FURTHER_TRY = { kind: 'failed', isTransient: false, retryAfterMs: null } as const

function callsOf({ queryText, passages }: ShownTexts, perCallMax: number): readonly ShownTexts[] {
  const count = Math.ceil(passages.length / perCallMax)
  return Array.from({ length: count }, (_, at) => {
    return { queryText, passages: passages.slice(at * perCallMax, (at + 1) * perCallMax) }
  })
}

function retryPolicy(options: RerankOptions): RetryPolicy {
  const { retriesMax, retryDelayMs: delayMs, timeoutMs } = options
  const endMs = performance.now() + timeoutMs
  const waitMsMax = RERANK_LIMITS.retryWaitMsMax
  return { retriesMax, delayMs, waitMsMax, leftMs: () => endMs - performance.now() }
}
