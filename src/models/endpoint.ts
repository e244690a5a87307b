import type { ChatDefaults, ModelRef } from '../domain/model-ref.ts'
import { AppError } from '../errors.ts'
import { isTrustedHost } from '../network/address-policy.ts'
import { checkedAddress, type Guard } from '../network/pinned-fetch.ts'

/** Where a model is reached and with which key. */
export interface Endpoint {
  /** Origin and path without a slash at the end, credentials and query. Fit for messages. */
  readonly url: string
  /** The query of the configured address, sent with each request. */
  readonly query: Readonly<Record<string, string>>
  readonly apiKey: string | null
  /** Texts that no message may hold. */
  readonly secrets: readonly string[]
  /** Checks each connection; null: the address is the operator's word. */
  readonly guard: Guard | null
}

/** What a model names itself, and what the settings offer where it names nothing. */
export interface EndpointChoice {
  readonly own: EndpointAddress
  readonly defaults: EndpointAddress
  /** The provider's public address, with the API's prefix; null: it has none. */
  readonly publicUrl: string | null
  /** Unset: every address may be connected to. */
  readonly guard?: Guard | undefined
  /** The failure's code when these do not do. */
  readonly code: 'invalid_knowledge_base' | 'invalid_agent'
}

interface EndpointAddress {
  readonly baseUrl?: string | undefined
  readonly apiKey?: string | undefined
}

/**
 * A model's own address and key win. The key of the settings goes to the address of the settings
 * only (same origin): whoever may name an address must not receive a key that they do not know.
 * @throws AppError with the choice's code for a missing address, one that is not http, and the
 * public address without a key
 */
export function chosenEndpoint(choice: EndpointChoice): Endpoint {
  const defaultUrl = choice.defaults.baseUrl ?? choice.publicUrl
  const chosenUrl = nonBlank(choice.own.baseUrl) ?? defaultUrl
  if (chosenUrl === null) throw new AppError(choice.code, 'base_url is required')
  const url = parseUrl(chosenUrl, choice)
  const isAt = (other: string | null) =>
    other !== null && url.origin === parseUrl(other, choice).origin
  const isDefault = isAt(defaultUrl)
  const defaultKey = isDefault ? choice.defaults.apiKey : undefined
  const apiKey = nonBlank(choice.own.apiKey) ?? defaultKey ?? null
  if (apiKey === null && isAt(choice.publicUrl)) {
    throw new AppError(choice.code, `An api_key is required for ${url.origin}`)
  }
  const query = Object.fromEntries(url.searchParams)
  const credentials = [url.username, url.password].flatMap((text) => [text, decode(text)])
  const queryValues = Object.values(query).filter((text) => text.length >= SECRET_CHARS_MIN)
  return {
    url: `${url.origin}${url.pathname.replace(/\/+$/, '')}`,
    query,
    apiKey,
    secrets: [apiKey ?? '', ...credentials, ...queryValues].filter((text) => text !== ''),
    guard: isDefault || isAt(choice.publicUrl) ? null : guardFor(url, choice.guard),
  }
}

/** null where the operator has allowed all addresses, or this host by its name. */
function guardFor(url: URL, guard: Guard | undefined): Guard | null {
  return guard === undefined || isTrustedHost(url.hostname, guard.policy) ? null : guard
}

/** A resolver that takes longer says nothing when a model is named; the connection asks again. */
const RESOLVE_MS = 3_000

/**
 * Checks the address that a model names, if it names one, before it is stored.
 * @throws AppError `address_refused`
 */
export async function checkModelAddress(
  { baseUrl, provider }: ModelRef,
  defaults: ChatDefaults,
  guard: Guard,
): Promise<void> {
  const url = URL.parse(nonBlank(baseUrl)?.trim() ?? '')
  const own = provider === 'anthropic' ? defaults.anthropicBaseUrl : defaults.openaiBaseUrl
  if (url === null || url.origin === URL.parse(own ?? '')?.origin) return
  const needed = guardFor(url, guard)
  if (needed === null) return
  try {
    await checkedAddress(url, needed, AbortSignal.timeout(RESOLVE_MS))
  } catch (error) {
    if (error instanceof AppError) throw error
  }
}

/** A shorter value of the query (`api-version=1`) is not a secret. */
const SECRET_CHARS_MIN = 8

/** An empty text is what clients send for "not set". */
function nonBlank(text: string | undefined): string | undefined {
  return text?.trim() === '' ? undefined : text
}

function parseUrl(text: string, choice: EndpointChoice): URL {
  const url = URL.parse(text.trim())
  if (url !== null && /^https?:$/.test(url.protocol)) return url
  throw new AppError(choice.code, 'base_url must be an http or https address')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * A compatible server's address up to and with `/v1`, from what users write: with or without it,
 * with a slash at the end, or with the path of one call. A path of the server's own (`/openai/v1`,
 * `/api/paas/v4`) stays.
 */
export function openaiBaseUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  const path = pathname.replace(/\/(chat\/completions|embeddings)?\/*$/, '').replace(/\/+$/, '')
  return `${origin}${path === '' ? '/v1' : path}`
}

/** An Anthropic address without the `/v1` that the client adds itself. */
export function anthropicBaseUrl(url: string): string {
  return url.replace(/\/+$/, '').replace(/\/v1(\/messages)?$/, '')
}

/** Where the openai provider is reached when no address is configured. */
export const OPENAI_PUBLIC_URL = 'https://api.openai.com/v1'

/** Where the anthropic provider is reached when no address is configured. */
export const ANTHROPIC_PUBLIC_URL = 'https://api.anthropic.com'
