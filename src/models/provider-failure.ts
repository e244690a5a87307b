import { HIDDEN, withoutMarkedCredentials } from '../core/domain/model-ref.ts'
import { AppError, connectionFailure } from '../core/errors.ts'
import { shortened } from '../core/short-text.ts'
import type { Endpoint } from './endpoint.ts'
import { member } from './provider-answer.ts'

/**
 * `provider_refused` for a definite refusal (bad key, no such model), otherwise `provider_failed`.
 * @param url the URL called, without credentials or query
 * @param status the status of the answer; null if there was none or it was incomplete
 * @param words the message of the server or the network; it may contain secrets and is redacted
 */
export function providerFailure(
  url: string,
  status: number | null,
  words: string,
  endpoint: Endpoint,
): AppError {
  const detail = redacted(words, endpoint.secrets)
  const said = detail === '' ? '' : `: ${detail}`
  // Code that reports why a stream ended reads the status from the cause.
  const cause = Object.assign(new Error(detail), { status })
  if (status === null) return new AppError('provider_failed', `${url} failed${said}`, { cause })
  const isRefusal = status >= 400 && !isTransientStatus(status)
  const hint = isTransientStatus(status) ? '' : hintOf(status, endpoint)
  const message = `${url} answered ${status}${hint}${said}`
  return new AppError(isRefusal ? 'provider_refused' : 'provider_failed', message, { cause })
}

export function statusOf({ cause }: AppError): number | null {
  const status = cause instanceof Error && 'status' in cause ? cause.status : null
  return typeof status === 'number' ? status : null
}

/** The status for each error name that OpenAI, Anthropic and others use within a stream. */
const ERROR_STATUSES: Readonly<Record<string, number>> = {
  overloaded_error: 529,
  rate_limit_error: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  invalid_request_error: 400,
}

/** The status of an error within a stream: `{code: 429}`, `{type: "overloaded_error"}`. */
export function streamedStatus(error: unknown): number | null {
  const code = Number(member(error, 'code'))
  if (Number.isInteger(code) && code >= 400 && code < 600) return code
  const type = member(error, 'type')
  return typeof type === 'string' && Object.hasOwn(ERROR_STATUSES, type)
    ? (ERROR_STATUSES[type] ?? null)
    : null
}

function hintOf(status: number, { apiKey }: Endpoint): string {
  if (status < 400) return ' (redirects are not followed)'
  return apiKey === null ? ' (no api_key was sent)' : ''
}

/** `{error: {message}}`, Ollama's `{error: "…"}`, vLLM's `{message}`; never an unrelated page. */
export function errorText(body: unknown): string {
  const error = member(body, 'error')
  const isMarked = member(body, 'object') === 'error'
  return firstText(error, member(error, 'message'), isMarked ? member(body, 'message') : null)
}

/**
 * The same for a server with `/rerank`: Cohere sends `{message}`, Jina and FastAPI send `{detail}`.
 */
export function rerankErrorText(body: unknown): string {
  return firstText(errorText(body), member(body, 'message'), member(body, 'detail'))
}

function firstText(...values: readonly unknown[]): string {
  const found = values.find((value) => typeof value === 'string' && value !== '')
  return typeof found === 'string' ? found : ''
}

/** Not the message of a parser, which would quote the answer. */
export function plainDetail(error: unknown): string {
  if (error instanceof SyntaxError) return 'the answer is not JSON'
  // Thrown by code that misread the answer, so the message means nothing to users.
  if (error instanceof TypeError && !('code' in error)) return 'the answer has an unknown form'
  if (!(error instanceof Error)) return ''
  const known = connectionFailure(error) ?? connectionFailure(error.cause)
  if (known !== undefined) return known
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  return `${error.message}${cause}`
}

/** A shorter secret looks like an ordinary word and is never replaced. */
const SECRET_CHARS_MIN = 8

/** A part of a secret this short may occur in a word by chance. */
const CHANCE_CHARS_MAX = 3

const DETAIL_CHARS_MAX = 300
const READ_CHARS_MAX = 2_000

/** One line without secrets or credentials. A text with a very short secret is not shown. */
export function redacted(text: string, secrets: readonly string[]): string {
  const line = text
    .slice(0, READ_CHARS_MAX)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  const isShort = (secret: string) => secret.length < SECRET_CHARS_MIN
  if (secrets.some((secret) => isShort(secret) && holdsSecret(line, secret))) {
    return 'its answer is not shown, because it contains the key or a part of the address'
  }
  const known = secrets.filter((secret) => !isShort(secret)).reduce(withoutRuns, line)
  return shortened(withoutCredentials(known), DETAIL_CHARS_MAX)
}

function holdsSecret(text: string, secret: string): boolean {
  const [lowerText, lowerSecret] = [text.toLowerCase(), secret.toLowerCase()]
  if (lowerSecret === '') return false
  if (lowerSecret.length > CHANCE_CHARS_MAX) return lowerText.includes(lowerSecret)
  const isWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}]/u.test(char)
  for (let at = lowerText.indexOf(lowerSecret); at !== -1; ) {
    if (!isWord(lowerText[at - 1]) && !isWord(lowerText[at + lowerSecret.length])) return true
    at = lowerText.indexOf(lowerSecret, at + 1)
  }
  return false
}

function withoutRuns(text: string, secret: string): string {
  const lowerText = text.toLowerCase()
  const lowerSecret = secret.toLowerCase()
  // Some letters change length with case, so positions cannot be compared.
  if (lowerText.length !== text.length) return text.replaceAll(secret, HIDDEN)
  let shown = ''
  for (let index = 0; index < text.length; ) {
    let end = index + SECRET_CHARS_MIN
    if (end > text.length || !lowerSecret.includes(lowerText.slice(index, end))) {
      shown += text[index]
      index += 1
      continue
    }
    while (end < text.length && lowerSecret.includes(lowerText.slice(index, end + 1))) end += 1
    shown += HIDDEN
    index = end
  }
  return shown
}

/** Matches hexadecimal and base64. Parts of UUIDs, model names and paths are shorter. */
const LONG_TOKEN = /[A-Za-z0-9+_]{32,}={0,2}/g
const LONG_BASE64 = /[A-Za-z0-9+/]{40,}={0,2}/g

function withoutCredentials(text: string): string {
  const marked = withoutMarkedCredentials(text)
  const mixed = (token: string) => (/\d/.test(token) && /[a-z]/i.test(token) ? HIDDEN : token)
  const random = (token: string) =>
    [/\d/, /[a-z]/, /[A-Z]/].every((kind) => kind.test(token)) ? HIDDEN : token
  return marked.replace(LONG_TOKEN, mixed).replace(LONG_BASE64, random)
}

const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429])

/** All others from 300 to 499 are final. null means no answer came. */
export function isTransientStatus(status: number | null): boolean {
  return status === null || TRANSIENT_STATUSES.has(status) || status >= 500
}
