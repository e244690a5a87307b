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
