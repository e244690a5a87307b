/** The server's counters. They are plain numbers, which cost almost nothing until they are read. */

/** Bucket limits in seconds, from answers out of memory to answers that take minutes. */
const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels: Labels
  readonly value: number
  /** Set if it differs from the name of the metric. */
  readonly metricName?: string
}

/** A counter per combination of labels. */
class CountedBy {
  readonly metric: MetricName
  readonly #names: readonly string[]
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>()

  constructor(metric: MetricName, ...names: readonly string[]) {
    this.metric = metric
    this.#names = names
  }

  /** @param values one for each label; never free text from callers */
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

/** Durations in buckets, per combination of labels. */
class DurationsBy {
  readonly metric: MetricName
  readonly #names: readonly string[]
  /** `counts` has one number per bucket; the last bucket holds all longer durations. */
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

/** All counters. Label values come from fixed lists, never from names that users choose. */
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

/** All metrics. Keep the table in docs/operations.md in sync with this list. */
export const METRICS = {
  eider_build_info: gauge('Always 1; the labels show the running version'),
  eider_http_requests_total: counter('Requests by method, route pattern and status class'),
  eider_http_request_duration_seconds: histogram(
    "Time from a request's arrival to the last byte of its response",
  ),
  eider_http_errors_total: counter(
    'Responses of 400 and above by status; 429 is the rate limit of a key, a login or an address',
  ),
  eider_statements_total: counter("Clients' SQL statements by first word and outcome"),
  eider_statement_duration_seconds: histogram(
    'Time from a statement to its first rows, including the wait for a concurrency slot',
  ),
  eider_statement_failures_total: counter('Failed statements by error code'),
  eider_statements_in_progress: gauge(
    'Current SQL statements: running, waiting for a slot, parked for their client, abandoned',
  ),
  eider_statements_stopped_for_memory_total: counter('Statements stopped for lack of memory'),
  eider_searches_total: counter(
    'Searches of knowledge bases, including warm-up, by kind and by how vectors were found',
  ),
  eider_embedding_texts_total: counter('Embedded texts by provider'),
  eider_embedding_batches_total: counter('Calls to embedding models by provider and outcome'),
  eider_embedding_duration_seconds: histogram('Duration of calls to embedding models by provider'),
  eider_agent_questions_in_progress: gauge(
    'Current questions to agents: running, waiting for a slot',
  ),
  eider_agent_questions_total: counter('Questions to agents by provider, purpose and outcome'),
  eider_agent_question_duration_seconds: histogram(
    'Time from a question to the end of its answer, by provider',
  ),
  eider_agent_failures_total: counter('Failed questions by error code'),
  eider_agent_tool_calls_total: counter('Tool calls by agents'),
  eider_agent_tokens_total: counter(
    'Tokens as counted by providers: input, output, and cached input',
  ),
  eider_agent_cost_total: counter(
    "Cost of questions, from EIDER_MODEL_PRICES, in that table's currency",
  ),
  eider_jobs: gauge('Current jobs: queued and running'),
  eider_jobs_finished_total: counter('Finished jobs by kind and outcome'),
  eider_objects: gauge(
    'Number of projects, knowledge bases, agents, files, views and data sources',
  ),
  eider_event_loop_lag_seconds: histogram(
    'Delay of a timer, measured ten times a second since the first scrape',
  ),
  eider_memory_bytes: gauge(
    'Memory by part; reader processes are separate, the other parts are in the process',
  ),
  eider_memory_limit_bytes: gauge('Resident memory at which allocations fail'),
  eider_storage_bytes: gauge(
    'Bytes on disk: database file, write-ahead log, uploaded files, backups',
  ),
  eider_disk_free_bytes: gauge("Free bytes on the data folder's disk"),
  eider_disk_reserve_bytes: gauge('Free bytes below which writes are refused (EIDER_DISK_RESERVE)'),
  eider_storage_full: gauge('1 while writes are refused for lack of disk space'),
  eider_restarts_total: counter('Restarts of this server by the supervisor'),
  process_cpu_seconds_total: counter('Processor time of the process'),
  process_resident_memory_bytes: gauge('Memory of the process as counted by the operating system'),
  process_start_time_seconds: gauge('Start time of the process, in seconds since 1970'),
  process_open_fds: gauge('Open files and connections, on Linux'),
}

export type MetricName = keyof typeof METRICS

function counter(help: string) {
  return { type: 'counter', help }
}

function gauge(help: string) {
  return { type: 'gauge', help }
}

function histogram(help: string) {
  return { type: 'histogram', help }
}
