import type { AppError } from '../core/errors.ts'
import { parsedJson } from '../core/json.ts'
import type { Endpoint } from './endpoint.ts'
import { providerFetch } from './provider-answer.ts'
import { ConnectionFailure, refusalWithin } from './provider-call.ts'
import { errorText, plainDetail, providerFailure } from './provider-failure.ts'

/** An answer with an error status. */
class RefusedAnswer extends Error {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown

  constructor({ status, headers }: Response, body: unknown) {
    super(`answered ${status}`)
    this.status = status
    this.headers = headers
    this.body = body
  }
}

/** Returns the answer's JSON. @throws errors for `postFailure` */
export async function postJson(
  { url, body }: { readonly url: string; readonly body: unknown },
  { endpoint, answerBytesMax }: { readonly endpoint: Endpoint; readonly answerBytesMax: number },
  signal: AbortSignal,
): Promise<unknown> {
  const query = new URLSearchParams(endpoint.query).toString()
  const key = endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }
  const json = { 'content-type': 'application/json', accept: 'application/json' }
  const request = {
    method: 'POST',
    headers: { ...json, ...key, ...endpoint.headers },
    body: JSON.stringify(body),
    signal,
  }
  const send = providerFetch(endpoint.guard, answerBytesMax)
  const response = await send(query === '' ? url : `${url}?${query}`, request).catch((cause) => {
    throw new ConnectionFailure(cause)
  })
  const text = await response.text()
  if (!response.ok) throw new RefusedAnswer(response, parsedJson(text))
  return JSON.parse(text)
}

/** @param url without credentials and query */
export function postFailure(error: unknown, url: string, endpoint: Endpoint): AppError {
  const refusal = refusalWithin(error)
  if (refusal !== null) return refusal
  if (error instanceof RefusedAnswer) {
    return providerFailure(url, error.status, errorText(error.body), endpoint)
  }
  const thrown = error instanceof ConnectionFailure ? error.cause : error
  return providerFailure(url, null, plainDetail(thrown), endpoint)
}
