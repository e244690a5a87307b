import { didYouMean, nearestName } from './short-text.ts'

interface ErrorKind {
  readonly status: number
  /** The `error_code` of a failed SQL statement: stable, never reused. */
  readonly number: number
  /** The wording that existing clients expect. */
  readonly title: string
  /** After how many seconds the client may retry, if waiting helps. */
  readonly retryAfterSeconds?: number
}

/** The closed list of error codes; every expected failure has one of them. */
export const ERRORS = {
  invalid_json: { status: 400, number: 1001, title: 'Bad Request' },
  invalid_request: { status: 400, number: 1002, title: 'Wrong arguments' },
  missing_parameter: { status: 400, number: 1003, title: 'Missing parameter' },
  missing_field: { status: 400, number: 1004, title: 'Missing field' },
  unknown_field: { status: 400, number: 1005, title: 'Wrong arguments' },
  invalid_name: { status: 400, number: 1006, title: 'Wrong arguments' },
  unauthorized: { status: 401, number: 1101, title: 'Unauthorized' },
  wrong_credentials: { status: 401, number: 1102, title: 'Forbidden' },
  invalid_credentials: { status: 400, number: 1103, title: 'Error in username or password' },
  forbidden_origin: { status: 403, number: 1104, title: 'Forbidden' },
  too_many_logins: { status: 429, number: 1105, title: 'Too many logins', retryAfterSeconds: 5 },
  forbidden: { status: 403, number: 1106, title: 'Forbidden' },
  rate_limited: { status: 429, number: 1107, title: 'Too many requests', retryAfterSeconds: 1 },
  key_not_found: { status: 404, number: 1301, title: 'Key not found' },
  key_exists: { status: 409, number: 1302, title: 'Key already exists' },
  too_many_keys: { status: 409, number: 1303, title: 'Too many keys' },
  user_not_found: { status: 404, number: 1304, title: 'User not found' },
  user_exists: { status: 409, number: 1305, title: 'User already exists' },
  user_of_settings: { status: 409, number: 1306, title: 'User defined in the settings' },
  login_off: { status: 409, number: 1307, title: 'The login is off' },
  not_found: { status: 404, number: 1201, title: 'Not found' },
  method_not_allowed: { status: 405, number: 1202, title: 'Method Not Allowed' },
  body_too_large: { status: 413, number: 1203, title: 'Content Too Large' },
  range_not_satisfiable: { status: 416, number: 1205, title: 'Range Not Satisfiable' },
  unsupported_media_type: { status: 415, number: 1204, title: 'Unsupported Media Type' },
  project_not_found: { status: 404, number: 2001, title: 'Project not found' },
  project_exists: { status: 409, number: 2002, title: 'Project already exists' },
  project_not_deletable: { status: 400, number: 2003, title: 'Project cannot be deleted' },
  knowledge_base_not_found: { status: 404, number: 2101, title: 'Knowledge Base not found' },
  knowledge_base_exists: { status: 409, number: 2102, title: 'Knowledge Base already exists' },
  storage_in_use: { status: 409, number: 2103, title: 'Storage already in use' },
  index_not_found: { status: 404, number: 2104, title: 'Index not found' },
  map_not_ready: { status: 409, number: 2105, title: 'Map not ready', retryAfterSeconds: 1 },
  agent_not_found: { status: 404, number: 2201, title: 'Agent not found' },
  model_not_found: { status: 404, number: 1321, title: 'Model not found' },
  agent_exists: { status: 409, number: 2202, title: 'Agent already exists' },
  answer_malformed: { status: 502, number: 2207, title: 'Malformed answer' },
  agent_creation_not_allowed: { status: 400, number: 2203, title: 'Creation is not allowed' },
  agent_changed: { status: 412, number: 2206, title: 'Agent was changed meanwhile' },
  too_many_questions: { status: 429, number: 2204, title: 'Too many questions' },
  run_not_found: { status: 404, number: 2205, title: 'Run not found' },
  conversation_not_found: { status: 404, number: 2211, title: 'Conversation not found' },
  conversation_busy: {
    status: 409,
    number: 2212,
    title: 'Conversation busy',
    retryAfterSeconds: 1,
  },
  conversation_full: { status: 409, number: 2213, title: 'Conversation full' },
  file_not_found: { status: 404, number: 2301, title: 'File not found' },
  file_exists: { status: 400, number: 2302, title: 'File already exists' },
  file_unreadable: { status: 400, number: 2303, title: 'File could not be read' },
  file_ambiguous: { status: 409, number: 2304, title: 'Several files have that name' },
  file_changed: { status: 409, number: 2305, title: 'File was changed meanwhile' },
  ocr_unconfirmed: { status: 409, number: 2306, title: 'Cost not confirmed' },
  view_not_found: { status: 404, number: 2401, title: 'View not found' },
  table_not_found: { status: 404, number: 2402, title: 'Table not found' },
  relation_exists: { status: 409, number: 2403, title: 'Name already exists' },
  backup_running: { status: 409, number: 2501, title: 'Backup already running' },
  backup_failed: { status: 500, number: 2502, title: 'Backup failed' },
  data_damaged: { status: 500, number: 2503, title: 'Data damaged' },
  trace_not_found: { status: 404, number: 2511, title: 'Trace not found' },
  database_not_found: { status: 404, number: 2601, title: 'Database not found' },
  database_exists: { status: 409, number: 2602, title: 'Name conflict' },
  database_in_use: { status: 409, number: 2603, title: 'Database is in use' },
  invalid_database: { status: 400, number: 2605, title: 'Wrong argument' },
  unknown_engine: { status: 400, number: 2606, title: 'Wrong argument' },
  source_failed: { status: 502, number: 2610, title: 'Connection error' },
  job_not_found: { status: 404, number: 2701, title: 'Job not found' },
  job_state: { status: 409, number: 2702, title: 'Not possible in this state of the job' },
  job_items_missing: { status: 500, number: 2703, title: 'Rows of the job are missing' },
  document_not_found: { status: 404, number: 2901, title: 'Document not found' },
  import_mismatch: { status: 409, number: 2902, title: 'Embedding models differ' },
  source_not_found: { status: 404, number: 2801, title: 'Source not found' },
  source_exists: { status: 409, number: 2802, title: 'Source already exists' },
  invalid_source: { status: 400, number: 2803, title: 'Wrong arguments' },
  folder_refused: { status: 400, number: 2804, title: 'Folder refused' },
  source_empty: { status: 400, number: 2805, title: 'Source is empty' },
  folder_unreadable: { status: 400, number: 2806, title: 'Folder could not be read' },
  schedule_not_found: { status: 404, number: 2711, title: 'Job not found' },
  schedule_exists: { status: 409, number: 2712, title: 'Job already exists' },
  invalid_schedule: { status: 400, number: 2713, title: 'Wrong arguments' },
  too_many_schedules: { status: 409, number: 2714, title: 'Too many jobs' },
  invalid_knowledge_base: {
    status: 400,
    number: 3001,
    title: 'Invalid preprocessing configuration',
  },
  invalid_agent: { status: 400, number: 3002, title: 'Wrong arguments' },
  insert_failed: { status: 400, number: 3101, title: 'Preprocessing Error' },
  invalid_select: { status: 400, number: 3102, title: 'Invalid SELECT query' },
  crawl_failed: { status: 502, number: 3103, title: 'Crawling failed' },
  address_refused: { status: 400, number: 3104, title: 'Address refused' },
  unknown_provider: { status: 400, number: 3201, title: 'Unknown provider' },
  provider_refused: { status: 400, number: 3202, title: 'Model refused' },
  provider_failed: { status: 502, number: 3203, title: 'Model provider failed' },
  content_refused: { status: 400, number: 3205, title: 'Content refused' },
  provider_busy: { status: 503, number: 3206, title: 'Model provider busy', retryAfterSeconds: 10 },
  context_exceeded: { status: 400, number: 3207, title: 'Context size exceeded' },
  dimension_mismatch: { status: 400, number: 3204, title: 'Dimension mismatch' },
  sql_syntax: { status: 400, number: 4001, title: 'Syntax error' },
  sql_not_supported: { status: 400, number: 4002, title: 'Statement not supported' },
  sql_unknown_name: { status: 400, number: 4003, title: 'Unknown name' },
  sql_forbidden: { status: 400, number: 4004, title: 'Not allowed in SQL' },
  sql_invalid_search: { status: 400, number: 4005, title: 'Invalid search' },
  sql_missing_parameter: { status: 400, number: 4006, title: 'Parameter is not set' },
  sql_failed: { status: 400, number: 4007, title: 'Query failed' },
  statement_too_large: { status: 413, number: 4008, title: 'Statement too large' },
  sql_constraint: { status: 409, number: 4010, title: 'Constraint not met' },
  sql_too_costly: { status: 400, number: 4009, title: 'Too much for one step' },
  sql_not_a_query: { status: 400, number: 4101, title: 'Not a query' },
  url_key_refused: { status: 403, number: 4102, title: 'Forbidden' },
  request_not_found: { status: 404, number: 4103, title: 'Request not found' },
  timeout: { status: 504, number: 5001, title: 'Timeout' },
  cancelled: { status: 499, number: 5002, title: 'Cancelled' },
  too_busy: { status: 503, number: 5003, title: 'Too busy', retryAfterSeconds: 1 },
  shutting_down: { status: 503, number: 5004, title: 'Shutting down', retryAfterSeconds: 5 },
  out_of_memory: { status: 507, number: 5005, title: 'Out of memory' },
  storage_full: { status: 507, number: 5006, title: 'Storage full' },
  step_limit: { status: 504, number: 5007, title: 'Step limit reached' },
  agent_crashed: { status: 500, number: 5008, title: 'Agent stopped unexpectedly' },
  unhealthy: { status: 503, number: 1401, title: 'Not healthy' },
  internal: { status: 500, number: 5000, title: 'Internal error' },
} as const satisfies Readonly<Record<string, ErrorKind>>

export type ErrorCode = keyof typeof ERRORS

/** An expected failure. `message` is written for the caller and contains no secret. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly title: string
  readonly excerpt: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** The invalid field of the request, if any. */
  readonly param: string | undefined

  /**
   * @param options `cause` is for the log only, never for the caller; `title` replaces the code's
   * usual title where clients expect another wording; `excerpt` is the line of the caller's text
   * with a caret under the position, shown below the message if it fits; `retryAfterSeconds`
   * replaces the code's usual time
   */
  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly cause?: unknown
      readonly title?: string
      readonly excerpt?: string | undefined
      readonly retryAfterSeconds?: number
      readonly param?: string
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.title = options.title ?? ERRORS[code].title
    this.excerpt = options.excerpt
    this.param = options.param
    const { retryAfterSeconds }: ErrorKind = ERRORS[code]
    this.retryAfterSeconds = options.retryAfterSeconds ?? retryAfterSeconds
  }
}

const NOUNS = {
  project: 'Project',
  knowledge_base: 'Knowledge Base',
  agent: 'Agent',
  view: 'View',
  table: 'Table',
  file: 'File',
  document: 'Document',
  source: 'Source',
  database: 'Database',
  schedule: 'Job',
} as const

export function shuttingDown(): AppError {
  return new AppError('shutting_down', 'The server is shutting down')
}

export interface Named {
  readonly name: string
}

/** For a name that does not exist or no longer exists. @param known those it may be a typo of */
export function notFound(kind: keyof typeof NOUNS, name: string, known: readonly Named[] = []) {
  const what = kind === 'document' ? `id ${name.slice(0, 200)}` : `name ${name}`
  const names = known.map((one) => one.name)
  const hint = didYouMean(nearestName(name, names))
  return new AppError(`${kind}_not_found`, `${NOUNS[kind]} with ${what} does not exist${hint}`)
}

/** For a field that a client sent. @param field its path, as in `filters.and[0]` */
export function wrongField(field: string, what: string): AppError {
  return new AppError('invalid_request', `Field "${field}" ${what}`)
}

export function hasCode(error: unknown, code: ErrorCode): error is AppError {
  return error instanceof AppError && error.code === code
}

export function dimensionMismatch(sizes: string): AppError {
  return new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
}

/** Other errors become a generic one, so that bugs reveal nothing. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  // From JavaScript, near the memory limit of the process.
  if (error instanceof RangeError && error.message === 'Out of memory') {
    const message = 'There is not enough memory now: try again, or raise EIDER_MEMORY_LIMIT'
    return new AppError('out_of_memory', message, { cause: error })
  }
  return new AppError('internal', 'Internal error', { cause: error })
}

/** Equal for the same failure again, although it may name another number, such as free space. */
export function failureKey(error: unknown): string {
  return `${toAppError(error).code} ${String(error).replaceAll(/\d+/g, '')}`
}

/** Explains to the user why the program cannot start. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StartError'
  }
}

/** The `code` of a failed system call, such as `EACCES` or `ENOSPC`. */
export function systemCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export const CONNECTION_LOST = 'the server closed the connection'
const DAMAGED_RESPONSE = 'the response cannot be decompressed'

/** For a failed connection, by its system code: what happened, and what to do. */
const CONNECTION_FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection is refused; check the port, and that the server is running',
  ENOTFOUND: 'the host is not known; check its name',
  EAI_AGAIN: 'the host is not known at the moment; check its name, or try again',
  EHOSTUNREACH: 'the host cannot be reached; check its address and the network',
  ENETUNREACH: 'the network cannot be reached; check the host and the network',
  ETIMEDOUT: 'the server does not answer; check the host, the port and firewalls',
  ECONNRESET: CONNECTION_LOST,
  EPIPE: CONNECTION_LOST,
  Malformed_HTTP_Response: 'what listens there does not speak HTTP; check the port',
  ResponseHeadersTooLarge: 'the headers of the response are too large',
  ZlibError: DAMAGED_RESPONSE,
  BrotliDecompressionError: DAMAGED_RESPONSE,
  ZstdDecompressionError: DAMAGED_RESPONSE,
}

/** Instead of the runtime's own words, which are for developers. */
export function connectionFailure(error: unknown): string | undefined {
  return CONNECTION_FAILURES[systemCodeOf(error) ?? '']
}
