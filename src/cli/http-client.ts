import { AppError } from '../errors.ts'

export interface ClientOptions {
  /** Of the server. */
  readonly url: string
  /** Sent as a bearer token. */
  readonly apiKey?: string | undefined
  /** Log in with these where there is no key. */
  readonly username?: string | undefined
  readonly password?: string | undefined
}

export const CLIENT_HELP = `  EIDER_URL                    Address of the server (http://127.0.0.1:EIDER_PORT)
  EIDER_API_KEY                Key that is sent as a bearer token
  EIDER_USERNAME               Username to log in with, where there is no key
  EIDER_PASSWORD               Password to log in with`

/** An empty variable counts as not set. */
export function clientOptionsOf(
  environment: Readonly<Record<string, string | undefined>>,
  defaultPort: string,
): ClientOptions {
  const url = environment.EIDER_URL || undefined
  if (url !== undefined && !/^https?:/.test(url)) {
    throw new AppError('invalid_request', 'EIDER_URL: expected an http or https address')
  }
  const port = environment.EIDER_PORT || defaultPort
  return {
    url: url ?? `http://127.0.0.1:${port}`,
    apiKey: environment.EIDER_API_KEY || undefined,
    username: environment.EIDER_USERNAME || undefined,
    password: environment.EIDER_PASSWORD || undefined,
  }
}

export interface HttpClient {
  /** The JSON of the answer. @throws AppError with the server's own words, or that it cannot be reached */
  send(method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown>
}

/** A client of a running server, which logs in at its first request. */
export function httpClient(options: ClientOptions): HttpClient {
  const base = options.url.replace(/\/+$/, '')
  const { apiKey, username, password } = options
  let token = apiKey
  const exchange = async (method: string, path: string, body: unknown): Promise<unknown> => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      // A backup takes as long as it takes; Bun would give up after five minutes.
      timeout: false,
    }).catch((error: unknown) => {
      const why = 'start it with "npm start", or set EIDER_URL'
      throw new AppError('provider_failed', `No server answers at ${base}: ${why}`, {
        cause: error,
      })
    })
    return answerOf(response, base)
  }
  return {
    async send(method, path, body) {
      if (token === undefined && username !== undefined && password !== undefined) {
        // The server's own answer, whose form its routes define.
        const answer = (await exchange('POST', '/api/login', { username, password })) as {
          readonly token: string
        }
        token = answer.token
      }
      return exchange(method, path, body)
    },
  }
}

async function answerOf(response: Response, base: string): Promise<unknown> {
  const text = await response.text()
  let parsed: unknown
  try {
    parsed = text === '' ? null : JSON.parse(text)
  } catch {
    throw new AppError('provider_failed', `What answers at ${base} is no Eider: check EIDER_URL`)
  }
  if (response.ok) return parsed
  // Any JSON can be looked at by name; what is not there is undefined.
  const problem = (parsed ?? {}) as { readonly title?: unknown; readonly detail?: unknown }
  const words = problem.detail ?? problem.title ?? `status ${response.status}`
  const hint =
    response.status === 401 ? '. Set EIDER_API_KEY, or EIDER_USERNAME and EIDER_PASSWORD' : ''
  throw new AppError('invalid_request', `${String(words)}${hint}`)
}
