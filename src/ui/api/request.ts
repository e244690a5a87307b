/**
 * Sends requests to the server that this page came from. A request that needs a login waits until
 * the user has signed in. If the server cannot be reached, the shell polls until it is back.
 */
import type { PROBLEM } from '../../api/http/request/error-response.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { isAway, noteLost, noteReached } from './connection.ts'
import { loggedInAgain, loginCount } from './session.ts'

type Problem = Wire<typeof PROBLEM>

/** `code` is listed at /docs/errors, or `unreachable` if no server answered. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: Problem['code'] | 'unreachable'
  readonly status: number
  readonly title: string

  constructor(problem: Pick<ApiError, 'code' | 'status' | 'title' | 'message'>) {
    super(problem.message)
    this.code = problem.code
    this.status = problem.status
    this.title = problem.title
  }
}

interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The value to send as JSON. */
  readonly json?: unknown
  readonly body?: FormData | Blob
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** If false, an expired session gives an error instead of asking the user to sign in again. */
  readonly waitsForLogin?: boolean
  /** Called with how much of a large body has been sent. */
  readonly onSent?: (sentBytes: number, totalBytes: number) => void
}

/** Marks the page's requests, so that the log can tell them from those of programs. */
const OF_THE_PAGE = { 'x-eider-page': '1' }

/** Undefined if it has none. @throws ApiError; the abort reason of `signal` */
export async function request<T>(path: string, init: ApiRequest = {}): Promise<T> {
  const response = await requestStream(path, init)
  if (response.status === 204) return undefined as T
  // The route's schema on the server guarantees the type; server tests check every answer.
  return (await bodyOf(response, () => response.json())) as T
}

/** The body is not read yet. @throws ApiError; the abort reason of `signal` */
export async function requestStream(path: string, init: ApiRequest = {}): Promise<Response> {
  // Checks the session before sending a large body, because the server may end the connection
  // halfway.
  if (init.onSent !== undefined) await requestStream('/api/config', { signal: init.signal })
  for (;;) {
    const loginsBefore = loginCount.value
    const response = await sent(path, init)
    if (response.ok) return response
    const problem = await problemOf(response)
    if (problem.code !== 'unauthorized' || init.waitsForLogin === false) throw problem
    // The user has typed something, so the request waits for the user to sign in again and is then
    // repeated. If another request has already waited for that, this one is repeated right away.
    if (loginCount.value === loginsBefore) await loggedInAgain(init.signal)
  }
}

async function sent(path: string, init: ApiRequest): Promise<Response> {
  const { signal, onSent } = init
  const headers = { ...OF_THE_PAGE, ...init.headers }
  try {
    const response = await (onSent === undefined
      ? fetched(path, { ...init, headers })
      : sentWithProgress(path, { ...init, headers }))
    if (response.ok) noteReached()
    return response
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    noteLost()
    throw unreachable(error)
  }
}

function fetched(path: string, { method, json, body, headers, signal }: ApiRequest) {
  const content = json === undefined ? body : JSON.stringify(json)
  return fetch(path, {
    method: method ?? 'GET',
    headers: { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(content === undefined ? {} : { body: content }),
    signal: signal ?? null,
  })
}

/** Reads a body. A connection lost while reading counts as no answer. */
export async function bodyOf<T>(response: Response, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ApiError) throw error
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    if (error instanceof SyntaxError) throw notOurs(response)
    noteLost()
    throw unreachable(error)
  }
}

async function problemOf(response: Response): Promise<ApiError> {
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json')
  if (!isProblem) {
    if (isAway(response.status)) noteLost()
    return notOurs(response)
  }
  // The route's schema on the server guarantees this form.
  const { code, status, title, detail } = (await bodyOf(response, () => response.json())) as Problem
  if (code === 'shutting_down') noteLost()
  if (code === 'forbidden') return new ApiError({ code, status, ...forbiddenWords(detail) })
  return new ApiError({ code, status, title, message: detail })
}

/** Rewords the server's message, which names the scopes of keys, for users, who have roles. */
function forbiddenWords(detail: string): Pick<ApiError, 'title' | 'message'> {
  const scope = /lacks the scope "(\w+)"/.exec(detail)?.[1] ?? ''
  const role = ROLES[scope]
  const title = 'Your account cannot do this'
  if (role === undefined) return { title, message: detail }
  return {
    title,
    message: `Only for ${role}. Ask the server's administrator for access`,
  }
}

const ROLES: Readonly<Record<string, string>> = {
  ...{ read: 'those who may read', ask: 'those who may ask agents' },
  ...{ write: 'editors and admins', admin: 'admins' },
}

function notOurs({ status }: Response): ApiError {
  const message = `Something between this page and Eider answered with status ${status}. Check the proxy, then try again`
  return new ApiError({ code: 'unreachable', status, title: 'Not an answer from Eider', message })
}

function unreachable(cause: unknown): ApiError {
  const message = 'The server did not answer. Your input is kept; try again when the server is back'
  const error = new ApiError({ code: 'unreachable', status: 0, title: 'No answer', message })
  error.cause = cause
  return error
}

/** Builds `/api/projects/a%20b/agents/c`; each value becomes one escaped path segment. */
export function path(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent))
}

/** Converts anything thrown to an error that can be shown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Works like `fetch`, which cannot report progress. @throws TypeError if no answer came */
function sentWithProgress(path: string, init: ApiRequest): Promise<Response> {
  const { method = 'POST', body, headers = {}, signal, onSent } = init
  return new Promise((resolve, reject) => {
    const exchange = new XMLHttpRequest()
    exchange.open(method, path)
    exchange.responseType = 'blob'
    for (const [name, value] of Object.entries(headers)) exchange.setRequestHeader(name, value)
    exchange.upload.addEventListener('progress', ({ loaded, total }) => onSent?.(loaded, total))
    exchange.addEventListener('load', () => resolve(answerOf(exchange)))
    exchange.addEventListener('error', () => reject(new TypeError('No answer came')))
    exchange.addEventListener('abort', () => reject(new TypeError('It was cancelled')))
    signal?.addEventListener('abort', () => exchange.abort(), { once: true })
    if (signal?.aborted) reject(signal.reason)
    else exchange.send(body ?? null)
  })
}

function answerOf(exchange: XMLHttpRequest): Response {
  const { status, response } = exchange
  const contentType = exchange.getResponseHeader('content-type') ?? ''
  const headers = { 'content-type': contentType }
  return new Response(status === 204 ? null : response, { status, headers })
}
