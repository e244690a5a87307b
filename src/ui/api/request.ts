/**
 * Requests to the server this page came from. A request that needs a login waits for it and continues; one that reaches no
 * server reports it, and the shell polls until the server is back.
 */
import type { PROBLEM } from '../../api/http/request/error-response.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { isAway, noteLost, noteReached } from './connection.ts'
import { loggedInAgain, loginCount } from './session.ts'

type Problem = Wire<typeof PROBLEM>

/** A failure in words for people. `code` is listed at /docs/errors, or is `unreachable` if no server answered. */
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
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged: a form with files, or a file. */
  readonly body?: FormData | Blob
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** False: if the login has expired, the user sees a message, and is not asked to log in again. */
  readonly waitsForLogin?: boolean
  /** How much of a large body has been sent. */
  readonly onSent?: (sentBytes: number, totalBytes: number) => void
}

/** Marks requests of the page in the log, as opposed to a program's. */
const OF_THE_PAGE = { 'x-eider-page': '1' }

/**
 * The body of a 2xx answer; empty without a body.
 * @throws ApiError; the abort reason of `signal`
 */
export async function request<T>(path: string, init: ApiRequest = {}): Promise<T> {
  const response = await requestStream(path, init)
  if (response.status === 204) return undefined as T
  // The server's schema of the route guarantees it; its tests check every answer against that.
  return (await bodyOf(response, () => response.json())) as T
}

/**
 * A 2xx answer with an unread body.
 * @throws ApiError; the abort reason of `signal`
 */
export async function requestStream(path: string, init: ApiRequest = {}): Promise<Response> {
  // Avoids sending a large body in vain: the server may end the connection in the middle of it.
  if (init.onSent !== undefined) await requestStream('/api/config', { signal: init.signal })
  for (;;) {
    const loginsBefore = loginCount.value
    const response = await sent(path, init)
    if (response.ok) return response
    const problem = await problemOf(response)
    if (problem.code !== 'unauthorized' || init.waitsForLogin === false) throw problem
    // The user has typed something: the request waits for the new login, and then continues. Another request may have waited
    // for the same one, and be ahead.
    if (loginCount.value === loginsBefore) await loggedInAgain(init.signal)
  }
}

async function sent(path: string, init: ApiRequest): Promise<Response> {
  const { signal, onSent } = init
  const headers = { ...OF_THE_PAGE, ...init.headers }
  try {
    const response = await (onSent === undefined
      ? fetched(path, { ...init, headers })
      : sentWithProgress(path, { ...init, headers, onSent }))
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

/** Reads a body. A connection cut halfway counts as one never made. */
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
  // As above.
  const { code, status, title, detail } = (await bodyOf(response, () => response.json())) as Problem
  if (code === 'shutting_down') noteLost()
  if (code === 'forbidden') return new ApiError({ code, status, ...forbiddenWords(detail) })
  return new ApiError({ code, status, title, message: detail })
}

/** The server's message names scopes, which keys have: a person has a role. */
function forbiddenWords(detail: string): Pick<ApiError, 'title' | 'message'> {
  const scope = /lacks the scope "(\w+)"/.exec(detail)?.[1] ?? ''
  const role = ROLES[scope]
  const title = 'Your account may not do this'
  if (role === undefined) return { title, message: detail }
  return {
    title,
    message: `Only ${role} can. Ask the server's administrator for access`,
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
  const message =
    'The server did not answer. Nothing that you typed is lost: try again once it is back'
  const error = new ApiError({ code: 'unreachable', status: 0, title: 'No answer', message })
  error.cause = cause
  return error
}

/** `/api/projects/a%20b/agents/c`: each value is one escaped part of the path. */
export function path(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent))
}

/** Turns anything thrown into an error that can be shown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Uploads that show progress: `fetch` does not report how much it has sent. */
interface SentBody {
  readonly method?: string
  readonly body?: FormData | Blob
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly onSent: (sentBytes: number, totalBytes: number) => void
}

/** Like `fetch`. @throws TypeError if no answer came */
function sentWithProgress(path: string, init: SentBody): Promise<Response> {
  const { method = 'POST', body, headers = {}, signal, onSent } = init
  return new Promise((resolve, reject) => {
    const exchange = new XMLHttpRequest()
    exchange.open(method, path)
    exchange.responseType = 'blob'
    for (const [name, value] of Object.entries(headers)) exchange.setRequestHeader(name, value)
    exchange.upload.addEventListener('progress', ({ loaded, total }) => onSent(loaded, total))
    exchange.addEventListener('load', () => resolve(answerOf(exchange)))
    exchange.addEventListener('error', () => reject(new TypeError('No answer came')))
    exchange.addEventListener('abort', () => reject(new TypeError('It was given up')))
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
