import { AppError } from '../errors.ts'
import type { Endpoint } from './endpoint.ts'
import { member } from './member.ts'
import { redacted } from './redacted.ts'

/** What a provider's client told about a failed call. */
export interface FailureFacts {
  /** The address that was called, without credentials and query. */
  readonly url: string
  /** Of the answer; null: there was none, or it broke off. */
  readonly status: number | null
  /** What the server or the network said. It may echo secrets: it is shown redacted. */
  readonly detail: string
}

/** Statuses that another try may change: everything else from 400 to 499 is a definite refusal. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429])

/** `provider_refused` for a definite refusal (bad key, no such model), else `provider_failed`. */
export function providerFailure(facts: FailureFacts, endpoint: Endpoint): AppError {
  const { status, url } = facts
  const detail = redacted(facts.detail, endpoint.secrets)
  const said = detail === '' ? '' : `: ${detail}`
  // Who tells a client why a stream ended looks for the status there.
  const cause = Object.assign(new Error(detail), { status })
  if (status === null) return new AppError('provider_failed', `${url} failed${said}`, { cause })
  const isRefusal = status >= 400 && status < 500 && !PASSING_STATUSES.has(status)
  const hint = isRefusal && endpoint.apiKey === null ? ' (no api_key was sent)' : ''
  const message = `${url} answered ${status}${hint}${said}`
  return new AppError(isRefusal ? 'provider_refused' : 'provider_failed', message, { cause })
}

/** Levels of an error object that are looked into. */
const SAID_DEPTH_MAX = 3

/**
 * The text of an error as servers shape it: `{error: {message}}`, `{message}`, `{detail}`,
 * `{error}` or plain text.
 */
export function saidBy(body: unknown, depth = 0): string {
  if (typeof body === 'string') return body
  if (typeof body !== 'object' || body === null || depth > SAID_DEPTH_MAX) return ''
  for (const key of ['message', 'detail', 'error']) {
    const said = saidBy(member(body, key), depth + 1)
    if (said !== '') return said
  }
  return ''
}
