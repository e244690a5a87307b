import type { ModelRef } from '../../core/domain/model-ref.ts'
import { AppError } from '../../core/errors.ts'

export interface RerankOptions {
  /** How a chat model's judgment of one passage becomes a number. */
  readonly method: RerankMethod
  /** Either one call per passage, or calls that order lists of passages. */
  readonly mode: RerankMode
  readonly callsAtOnceMax: number
  readonly retriesMax: number
  readonly retryDelayMs: number
  /** The time limit for one call, without retries. */
  readonly requestTimeoutMs: number
  readonly timeoutMs: number
  readonly topLogprobs: number
  readonly answerTokensMax: number
  /** Whether a `/rerank` server returns raw scores; null to judge by the scores. */
  readonly hasRawScores: boolean | null
}

export type RerankMethod = 'multi-class' | 'binary' | 'no-logprobs'
type RerankMode = 'pointwise' | 'listwise'

const METHODS: readonly RerankMethod[] = ['multi-class', 'binary', 'no-logprobs']
const MODES: readonly RerankMode[] = ['pointwise', 'listwise']

/**
 * Parses the options under the names that existing clients send, with defaults; times are in
 * seconds. `filtering_threshold` and `num_docs_to_keep` are only checked here; the caller applies
 * them.
 * @throws AppError `invalid_knowledge_base` naming the option and its valid values
 */
export function rerankOptionsOf({ options }: ModelRef): RerankOptions {
  numberOption(options, 'filtering_threshold', { min: 0, max: 1, unset: 0 })
  wholeOf(options, 'num_docs_to_keep', { min: 1, max: 10_000, unset: 1 })
  const hasLogprobs = booleanOf(options, 'logprobs', true)
  const method = knownOption(options, 'method', METHODS)
  const seconds = (name: string, range: Range) => 1000 * numberOption(options, name, range)
  return {
    method: hasLogprobs ? method : 'no-logprobs',
    mode: knownOption(options, 'mode', MODES),
    callsAtOnceMax: wholeOf(options, 'max_concurrent_requests', { min: 1, max: 100, unset: 20 }),
    retriesMax: wholeOf(options, 'max_retries', { min: 0, max: 10, unset: 3 }),
    retryDelayMs: seconds('retry_delay', { min: 0, max: 10, unset: 1 }),
    requestTimeoutMs: seconds('request_timeout', { min: 0.01, max: 300, unset: 20 }),
    timeoutMs: seconds('timeout', { min: 0.01, max: 300, unset: 30 }),
    topLogprobs: wholeOf(options, 'top_logprobs', { min: 1, max: 20, unset: 4 }),
    answerTokensMax: wholeOf(options, 'max_tokens', { min: 1, max: 32_768, unset: 100 }),
    hasRawScores:
      (options.raw_scores ?? null) === null ? null : booleanOf(options, 'raw_scores', false),
  }
}

type Options = ModelRef['options']

interface Range {
  readonly min: number
  readonly max: number
  readonly unset: number
}

function numberOption(options: Options, name: string, range: Range): number {
  const value = options[name] ?? range.unset
  if (typeof value === 'number' && value >= range.min && value <= range.max) return value
  throw wrongOption(name, `a number from ${range.min} to ${range.max}`)
}

function wholeOf(options: Options, name: string, range: Range): number {
  const value = options[name] ?? range.unset
  const isWhole = typeof value === 'number' && Number.isInteger(value)
  if (isWhole && value >= range.min && value <= range.max) return value
  throw wrongOption(name, `a whole number from ${range.min} to ${range.max}`)
}

function booleanOf(options: Options, name: string, unset: boolean): boolean {
  const value = options[name] ?? unset
  if (typeof value === 'boolean') return value
  throw wrongOption(name, 'true or false')
}

/** One of the known values; the first is the default. */
function knownOption<T extends string>(options: Options, name: string, known: readonly T[]): T {
  const value = options[name] ?? known[0]
  const found = known.find((name) => name === value)
  if (found !== undefined) return found
  throw wrongOption(name, `one of ${known.join(', ')}`)
}

function wrongOption(name: string, expected: string): AppError {
  return new AppError('invalid_knowledge_base', `reranking_model.${name} must be ${expected}`)
}
