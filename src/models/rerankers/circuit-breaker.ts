import type { Reranker } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { MINUTE_MS } from '../../core/time.ts'

/** After the first failure, then twice as long after each further one. */
const PAUSE_MS = 5_000
const PAUSE_MS_MAX = MINUTE_MS

interface Pause {
  readonly failure: AppError
  readonly lengthMs: number
  /** By the clock of the reranker. */
  readonly endMs: number
}

/**
 * A circuit breaker: after a failure, calls fail at once with the same error for a while, so that not every search waits for
 * its whole deadline. After the pause one call tries again; others keep failing until it has returned.
 */
export class CircuitBreaker implements Reranker {
  readonly #reranker: Reranker
  readonly #nowMs: () => number
  #pause: Pause | null = null
  #isTrying = false

  /** @param nowMs milliseconds, for differences */
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
      // A caller that left says nothing about the reranker.
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
    const message = `${failure.message} (it was not asked: the next try is in ${rest})`
    throw new AppError(failure.code, message, { title: failure.title, cause: failure })
  }

  /** @param before the pause this call came after: an outage met by several calls counts once */
  #noteFailure(failure: unknown, before: Pause | null): void {
    const isOfReranker =
      failure instanceof AppError &&
      (failure.code === 'provider_failed' || failure.code === 'provider_refused')
    if (!isOfReranker || this.#pause !== before) return
    const lengthMs = before === null ? PAUSE_MS : Math.min(PAUSE_MS_MAX, before.lengthMs * 2)
    this.#pause = { failure, lengthMs, endMs: this.#nowMs() + lengthMs }
  }
}
