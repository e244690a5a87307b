/** The HTTP client for a running server. */
import { uriDecoded } from '../core/short-text.ts'
import { CommandError, usageError } from './command-error.ts'

interface ClientOptions {
  /** The server's URL without a login. */
  readonly url: string
  readonly apiKey?: string | undefined
  /** Used to log in without an API key. */
  readonly username?: string | undefined
  readonly password?: string | undefined
}

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = '47334'
/** A server that listens on one of these also answers on this machine's own address. */
const EVERY_ADDRESS = new Set(['0.0.0.0', '::', '[::]'])

/** A login in EIDER_URL is moved out of the URL, so that no message shows it. */
export function clientOptionsOf(
  environment: Readonly<Record<string, string | undefined>>,
): ClientOptions {
  const given = environment.EIDER_URL || undefined
  const port = environment.EIDER_PORT || DEFAULT_PORT
  const listening = environment.EIDER_HOST || DEFAULT_HOST
  const host = EVERY_ADDRESS.has(listening) ? DEFAULT_HOST : listening
  const bracketed = /^[^[].*:/.test(host) ? `[${host}]` : host
  const url = checkedAddress(given ?? `http://${bracketed}:${port}`)
  const username = environment.EIDER_USERNAME || uriDecoded(url.username) || undefined
  const password = environment.EIDER_PASSWORD || uriDecoded(url.password) || undefined
  const apiKey = environment.EIDER_API_KEY || undefined
  if (apiKey === undefined && (username === undefined) !== (password === undefined)) {
    const missing = username === undefined ? 'EIDER_USERNAME' : 'EIDER_PASSWORD'
    throw usageError(`${missing} is missing: a login takes EIDER_USERNAME and EIDER_PASSWORD`)
  }
  url.username = ''
  url.password = ''
  return { url: url.href.replace(/[?#].*$/s, '').replace(/\/+$/, ''), apiKey, username, password }
}

function checkedAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '') return url
  throw usageError('EIDER_URL: expected an http or https address, such as http://127.0.0.1:47334')
}

export interface RequestInit {
  readonly json?: unknown
  /** A body sent as it is. */
  readonly body?: ReadableStream<Uint8Array>
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface HttpClient {
  /** The server's address, without a login. */
  readonly address: string
  /** A successful response, body unread. @throws CommandError; the signal's reason */
  open(method: Method, path: string, init?: RequestInit): Promise<Response>
  /** The JSON of the answer, typed by the server's routes. @throws like `open` */
  send<Answer = unknown>(method: Method, path: string, init?: RequestInit): Promise<Answer>
}

/** Creates a client. Unless it has an API key, it logs in with its first request. */
export function httpClient(options: ClientOptions): HttpClient {
  const address = options.url.replace(/\/+$/, '')
  const { apiKey, username, password } = options
  const loggedIn = async (): Promise<string | undefined> => {
    if (apiKey !== undefined || username === undefined || password === undefined) return apiKey
    const sent = { json: { username, password } }
    const answer = await requireSuccess(
      await exchange(address, 'POST', '/api/login', sent),
      address,
    )
    // The server's route defines the form of this answer.
    return ((await jsonOf(answer, address)) as { readonly token: string }).token
  }
  let login: Promise<string | undefined> | undefined
  const sent = async (method: Method, path: string, init: RequestInit): Promise<Response> => {
    login ??= loggedIn()
    const used = login
    const token = await used.catch((error: unknown) => {
      // Forgets the failed login, because the next attempt may reach the server.
      login = undefined
      throw error
    })
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const headers = { ...init.headers, ...authorization }
    const response = await exchange(address, method, path, { ...init, headers })
    // Another request may have logged in again in the meantime.
    if (response.status === 401 && login === used) login = undefined
    return response
  }
  const open: HttpClient['open'] = async (method, path, init = {}) => {
    let response = await sent(method, path, init)
    // Logins expire, so a long-running program logs in again. A stream cannot be sent twice.
    const isLogin = apiKey === undefined && username !== undefined
    if (response.status === 401 && isLogin && init.body === undefined) {
      await response.body?.cancel()
      response = await sent(method, path, init)
    }
    return requireSuccess(response, address)
  }
  return {
    address,
    open,
    send: async <Answer>(method: Method, path: string, init?: RequestInit) => {
      // The server's routes define the form of the answer.
      return (await jsonOf(await open(method, path, init), address)) as Answer
    },
  }
}

async function exchange(
  address: string,
  method: Method,
  path: string,
  { json, body, headers, signal }: RequestInit,
): Promise<Response> {
  const sent = json === undefined ? body : JSON.stringify(json)
  try {
    return await fetch(`${address}${path}`, {
      method,
      headers: {
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
      ...(signal === undefined ? {} : { signal }),
      // The key must not be sent to another address.
      redirect: 'error',
      // A backup may take long; by default, Bun gives up after five minutes.
      timeout: false,
    })
  } catch (error) {
    signal?.throwIfAborted()
    throw unreachable(address, error)
  }
}

function unreachable(address: string, cause: unknown): CommandError {
  // Connection errors of Node and Bun have a code.
  const { code } = cause as { readonly code?: unknown }
  const isRefused = code === 'ConnectionRefused' || code === 'ECONNREFUSED'
  const why = isRefused || typeof code !== 'string' ? '' : ` (${code})`
  const next = 'start it with "eider serve", or set EIDER_URL'
  return new CommandError('no_server', `No server answers at ${address}${why}: ${next}`, { cause })
}

async function requireSuccess(response: Response, address: string): Promise<Response> {
  if (response.ok) return response
  const parsed = await jsonOf(response, address)
  // Any JSON value can be read like this; missing fields are undefined.
  const problem = (parsed ?? {}) as {
    readonly title?: unknown
    readonly detail?: unknown
    readonly code?: unknown
    readonly error?: { readonly message?: unknown } | null
  }
  const { status } = response
  const said = problem.detail ?? problem.title ?? problem.error?.message
  const words = String(said ?? `The server answered ${status}`)
  const code = typeof problem.code === 'string' ? problem.code : 'failed'
  const hint = status === 401 ? '. Set EIDER_API_KEY, or EIDER_USERNAME and EIDER_PASSWORD' : ''
  throw new CommandError(code, `${words}${hint}`, { status })
}

async function jsonOf(response: Response, address: string): Promise<unknown> {
  const text = await answerText(response, address)
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    throw new CommandError('no_server', `The server at ${address} is not Eider: check EIDER_URL`)
  }
}

async function answerText(response: Response, address: string): Promise<string> {
  try {
    return await response.text()
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw connectionLost(address, cause)
  }
}

export function connectionLost(address: string, cause: unknown): CommandError {
  const message = `The connection to ${address} broke off before the answer was complete`
  return new CommandError('connection_lost', `${message}: try again`, { cause })
}

/** @throws CommandError `connection_lost`; the signal's reason */
export async function* streamLines(
  response: Response,
  { address }: Pick<HttpClient, 'address'>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  try {
    for await (const bytes of response.body ?? []) {
      const lines = decoder.decode(bytes, { stream: true }).split('\n')
      const last = lines.pop() ?? ''
      for (const line of lines) {
        parts.push(line)
        yield parts.join('')
        parts = []
      }
      parts.push(last)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw connectionLost(address, error)
  }
  const rest = parts.join('') + decoder.decode()
  if (rest !== '') yield rest
}

export async function* eventsOf(
  response: Response,
  client: Pick<HttpClient, 'address'>,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  let data: string[] = []
  for await (const line of streamLines(response, client, signal)) {
    if (line.startsWith('data:')) data.push(line.slice('data:'.length).trim())
    if (line.trim() !== '' || data.length === 0) continue
    yield JSON.parse(data.join('\n'))
    data = []
  }
  if (data.length > 0) yield JSON.parse(data.join('\n'))
}
