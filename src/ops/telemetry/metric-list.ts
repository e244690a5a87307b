/** The metrics there are. docs/operations.md has the same table. */
export const METRICS = {
  eider_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels say which version runs',
  },
  eider_http_requests_total: {
    type: 'counter',
    help: 'Requests by method, pattern of the route and class of the status',
  },
  eider_http_request_duration_seconds: {
    type: 'histogram',
    help: 'From the arrival of a request to the last byte of its answer',
  },
  eider_http_errors_total: {
    type: 'counter',
    help: 'Answers of 400 and above by their status; 429 is the rate limit of a key, a login or an address',
  },
  eider_statements_total: {
    type: 'counter',
    help: 'SQL statements of clients by their first word and how they ended',
  },
  eider_statement_duration_seconds: {
    type: 'histogram',
    help: 'From a statement to its first rows, the wait for a place included',
  },
  eider_statement_failures_total: {
    type: 'counter',
    help: 'Statements that failed, by error code',
  },
  eider_statements_in_progress: {
    type: 'gauge',
    help: 'SQL statements now: running, waiting for a place, parked for their client, abandoned',
  },
  eider_statements_stopped_for_memory_total: {
    type: 'counter',
    help: 'Statements that ended because memory was short',
  },
  eider_searches_total: {
    type: 'counter',
    help: 'Searches of knowledge bases by kind and by what found the nearest vectors',
  },
  eider_embedding_texts_total: {
    type: 'counter',
    help: 'Texts that were embedded, by provider',
  },
  eider_embedding_batches_total: {
    type: 'counter',
    help: 'Calls of embedding models by provider and outcome',
  },
  eider_embedding_duration_seconds: {
    type: 'histogram',
    help: 'How long a call of an embedding model took, by provider',
  },
  eider_agent_questions_in_progress: {
    type: 'gauge',
    help: 'Questions to agents now: running, waiting for a place',
  },
  eider_agent_questions_total: {
    type: 'counter',
    help: 'Questions to agents by provider, purpose and outcome',
  },
  eider_agent_question_duration_seconds: {
    type: 'histogram',
    help: 'From a question to the end of its answer, by provider',
  },
  eider_agent_failures_total: {
    type: 'counter',
    help: 'Questions that failed, by error code',
  },
  eider_agent_tool_calls_total: {
    type: 'counter',
    help: 'Calls of tools by agents',
  },
  eider_agent_tokens_total: {
    type: 'counter',
    help: 'Tokens as the providers counted them: input, output, and of the input cached',
  },
  eider_agent_cost_total: {
    type: 'counter',
    help: 'What questions cost by EIDER_MODEL_PRICES, in the unit of that table',
  },
  eider_jobs: {
    type: 'gauge',
    help: 'Jobs now: queued and running',
  },
  eider_jobs_finished_total: {
    type: 'counter',
    help: 'Jobs that are over, by kind and how they ended',
  },
  eider_objects: {
    type: 'gauge',
    help: 'How many projects, knowledge bases, agents, files, views and data sources there are',
  },
  eider_event_loop_lag_seconds: {
    type: 'histogram',
    help: 'How late a timer came, ten times a second since the first scrape',
  },
  eider_memory_bytes: {
    type: 'gauge',
    help: 'Memory by part; reader processes are beside the process, the other parts within it',
  },
  eider_memory_limit_bytes: {
    type: 'gauge',
    help: 'Resident memory at which allocations fail: what the process has and may still take',
  },
  eider_storage_bytes: {
    type: 'gauge',
    help: 'What is on disk: database file, its log, uploaded files, backups',
  },
  eider_disk_free_bytes: {
    type: 'gauge',
    help: 'Free on the disk of the data folder',
  },
  eider_disk_reserve_bytes: {
    type: 'gauge',
    help: 'With less free nothing more is stored (EIDER_DISK_RESERVE)',
  },
  eider_storage_full: {
    type: 'gauge',
    help: '1 while nothing more is stored for lack of room',
  },
  eider_restarts_total: {
    type: 'counter',
    help: 'How often the supervisor has started this server again',
  },
  process_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time of the process',
  },
  process_resident_memory_bytes: {
    type: 'gauge',
    help: 'Memory of the process as the operating system counts it',
  },
  process_start_time_seconds: {
    type: 'gauge',
    help: 'When the process was started, in seconds since 1970',
  },
  process_open_fds: {
    type: 'gauge',
    help: 'Open files and connections; on Linux',
  },
} as const satisfies Readonly<
  Record<string, { readonly type: 'counter' | 'gauge' | 'histogram'; readonly help: string }>
>

export type MetricName = keyof typeof METRICS
