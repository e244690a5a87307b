/** The server's counters: plain numbers, which cost almost nothing until they are read. */

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

/** All metrics. docs/operations.md has the same table. */
export const METRICS = {
  eider_build_info: gauge('Always 1; the labels say which version runs'),
  eider_http_requests_total: counter(
    'Requests by method, pattern of the route and class of the status',
  ),
  eider_http_request_duration_seconds: histogram(
    'From the arrival of a request to the last byte of its answer',
  ),
  eider_http_errors_total: counter(
    'Answers of 400 and above by their status; 429 is the rate limit of a key, a login or an address',
  ),
  eider_statements_total: counter(
    'SQL statements of clients by their first word and how they ended',
  ),
  eider_statement_duration_seconds: histogram(
    'From a statement to its first rows, the wait for a place included',
  ),
  eider_statement_failures_total: counter('Statements that failed, by error code'),
  eider_statements_in_progress: gauge(
    'SQL statements now: running, waiting for a place, parked for their client, abandoned',
  ),
  eider_statements_stopped_for_memory_total: counter(
    'Statements that ended because memory was short',
  ),
  eider_searches_total: counter(
    'Searches of knowledge bases by kind and by what found the nearest vectors',
  ),
  eider_embedding_texts_total: counter('Texts that were embedded, by provider'),
  eider_embedding_batches_total: counter('Calls of embedding models by provider and outcome'),
  eider_embedding_duration_seconds: histogram(
    'How long a call of an embedding model took, by provider',
  ),
  eider_agent_questions_in_progress: gauge('Questions to agents now: running, waiting for a place'),
  eider_agent_questions_total: counter('Questions to agents by provider, purpose and outcome'),
  eider_agent_question_duration_seconds: histogram(
    'From a question to the end of its answer, by provider',
  ),
  eider_agent_failures_total: counter('Questions that failed, by error code'),
  eider_agent_tool_calls_total: counter('Calls of tools by agents'),
  eider_agent_tokens_total: counter(
    'Tokens as the providers counted them: input, output, and of the input cached',
  ),
  eider_agent_cost_total: counter(
    'What questions cost by EIDER_MODEL_PRICES, in the unit of that table',
  ),
  eider_jobs: gauge('Jobs now: queued and running'),
  eider_jobs_finished_total: counter('Jobs that are over, by kind and how they ended'),
  eider_objects: gauge(
    'How many projects, knowledge bases, agents, files, views and data sources there are',
  ),
  eider_event_loop_lag_seconds: histogram(
    'How late a timer came, ten times a second since the first scrape',
  ),
  eider_memory_bytes: gauge(
    'Memory by part; reader processes are beside the process, the other parts within it',
  ),
  eider_memory_limit_bytes: gauge(
    'Resident memory at which allocations fail: what the process has and may still take',
  ),
  eider_storage_bytes: gauge('What is on disk: database file, its log, uploaded files, backups'),
  eider_disk_free_bytes: gauge('Free on the disk of the data folder'),
  eider_disk_reserve_bytes: gauge('With less free nothing more is stored (EIDER_DISK_RESERVE)'),
  eider_storage_full: gauge('1 while nothing more is stored for lack of room'),
  eider_restarts_total: counter('How often the supervisor has started this server again'),
  process_cpu_seconds_total: counter('Processor time of the process'),
  process_resident_memory_bytes: gauge('Memory of the process as the operating system counts it'),
  process_start_time_seconds: gauge('When the process was started, in seconds since 1970'),
  process_open_fds: gauge('Open files and connections; on Linux'),
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
