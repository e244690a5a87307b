/** The server's counters: plain numbers, which cost almost nothing until they are read. */
import type { MetricName } from './metric-list.ts'

/** Seconds: from an answer out of memory to one that takes minutes. */
const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]

export type Labels = Readonly<Record<string, string>>

/** One line of a metric. */
export interface Sample {
  readonly labels: Labels
  readonly value: number
  /** If it is not the metric's own. */
  readonly metricName?: string
}

/** A number for each combination of labels that only grows. */
class CountedBy {
  readonly metric: MetricName
  readonly #names: readonly string[]
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>()

  constructor(metric: MetricName, ...names: readonly string[]) {
    this.metric = metric
    this.#names = names
  }

  /** @param values one per label, none chosen by a caller */
  add(amount: number, ...values: readonly string[]): void {
    const key = values.join('\n')
    const known = this.#counts.get(key)
    if (known === undefined) {
      this.#counts.set(key, { labels: labelsOf(this.#names, values), value: amount })
    } else known.value += amount
  }

  samples(): readonly Sample[] {
    return [...this.#counts.values()].map(({ labels, value }) => ({ labels, value }))
  }
}

/** How long something took, in buckets, for each combination of labels. */
class DurationsBy {
  readonly metric: MetricName
  readonly #names: readonly string[]
  /** `counts` of each bucket alone; the last is for longer times. */
  readonly #durations = new Map<
    string,
    { readonly labels: Labels; readonly counts: number[]; sum: number }
  >()

  constructor(metric: MetricName, ...names: readonly string[]) {
    this.metric = metric
    this.#names = names
  }

  add(ms: number, ...values: readonly string[]): void {
    const key = values.join('\n')
    let known = this.#durations.get(key)
    if (known === undefined) {
      const counts = new Array<number>(SECONDS.length + 1).fill(0)
      known = { labels: labelsOf(this.#names, values), counts, sum: 0 }
      this.#durations.set(key, known)
    }
    const seconds = ms / 1000
    let bucket = 0
    while (bucket < SECONDS.length && seconds > (SECONDS[bucket] ?? 0)) bucket += 1
    known.counts[bucket] = (known.counts[bucket] ?? 0) + 1
    known.sum += seconds
  }

  samples(): readonly Sample[] {
    return [...this.#durations.values()].flatMap(({ labels, counts, sum }) => {
      let total = 0
      const buckets = counts.map((count, index) => {
        total += count
        const le = String(SECONDS[index] ?? '+Inf')
        return { metricName: `${this.metric}_bucket`, labels: { le, ...labels }, value: total }
      })
      return [
        ...buckets,
        { metricName: `${this.metric}_sum`, labels, value: sum },
        { metricName: `${this.metric}_count`, labels, value: total },
      ]
    })
  }
}

function labelsOf(names: readonly string[], values: readonly string[]): Labels {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

/** All counters. Labels come from closed lists, never from names chosen by users. */
export class Measurements {
  readonly requests = new CountedBy('eider_http_requests_total', 'method', 'route', 'status')
  readonly requestDurations = new DurationsBy(
    'eider_http_request_duration_seconds',
    'method',
    'route',
  )
  readonly requestErrors = new CountedBy('eider_http_errors_total', 'status')
  readonly statements = new CountedBy('eider_statements_total', 'kind', 'outcome')
  readonly statementDurations = new DurationsBy('eider_statement_duration_seconds', 'kind')
  readonly statementFailures = new CountedBy('eider_statement_failures_total', 'code')
  readonly searches = new CountedBy('eider_searches_total', 'kind', 'access')
  readonly embeddingTexts = new CountedBy('eider_embedding_texts_total', 'provider')
  readonly embeddings = new CountedBy('eider_embedding_batches_total', 'provider', 'outcome')
  readonly embeddingDurations = new DurationsBy('eider_embedding_duration_seconds', 'provider')
  readonly questions = new CountedBy(
    'eider_agent_questions_total',
    'provider',
    'purpose',
    'outcome',
  )
  readonly questionDurations = new DurationsBy('eider_agent_question_duration_seconds', 'provider')
  readonly questionFailures = new CountedBy('eider_agent_failures_total', 'code')
  readonly toolCalls = new CountedBy('eider_agent_tool_calls_total', 'provider')
  readonly tokens = new CountedBy('eider_agent_tokens_total', 'provider', 'direction')
  readonly cost = new CountedBy('eider_agent_cost_total', 'provider')
  readonly jobs = new CountedBy('eider_jobs_finished_total', 'kind', 'state')
  readonly eventLoopLag = new DurationsBy('eider_event_loop_lag_seconds')

  samples(): Partial<Record<MetricName, readonly Sample[]>> {
    const counted: readonly (CountedBy | DurationsBy)[] = Object.values(this)
    return Object.fromEntries(counted.map((one) => [one.metric, one.samples()]))
  }
}
