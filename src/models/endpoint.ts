import { type ChatDefaults, compatibleServer, type ModelRef } from '../core/domain/model-ref.ts'
import { AppError } from '../core/errors.ts'
import { definedFields } from '../core/json.ts'
import { checkNamedAddress, type Guard, isTrustedHost } from '../core/runtime/address-policy.ts'

/** A model's address and key. */
export interface Endpoint {
  /** Origin and path without a slash at the end, credentials and query. Fit for messages. */
  readonly url: string
  /** The query of the configured address, sent with each request. */
  readonly query: Readonly<Record<string, string>>
  /** Extra headers for each request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly apiKey: string | null
  /** Texts that no message may hold. */
  readonly secrets: readonly string[]
  /** Checks each connection; null: the operator chose the address. */
  readonly guard: Guard | null
}

/** The model's own address and key, and the settings' defaults. */
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
 * The address of a provider with its own protocol, by each of its names.
 * @throws AppError with the given code, as `chosenEndpoint`
 */
export function modelEndpoint(
  ref: ModelRef,
  given: {
    readonly chat: ChatDefaults
    /** Which addresses a model may name; unset: any. */
    readonly guard?: Guard | undefined
    readonly code: EndpointChoice['code']
  },
): Endpoint {
  const { chat, guard, code } = given
  const own = { baseUrl: nonBlank(ref.baseUrl), apiKey: ref.apiKey }
  const operators = operatorsAddress(ref.provider, chat)
  if (ref.provider === 'anthropic') {
    const known = { baseUrl: chat.anthropicBaseUrl, apiKey: chat.anthropicApiKey }
    const defaults = withOperators(known, operators)
    return chosenEndpoint({ own, defaults, publicUrl: ANTHROPIC_PUBLIC_URL, guard, code })
  }
  const server = compatibleServer(ref.provider)
  if (server === undefined) {
    const known = { baseUrl: chat.openaiBaseUrl, apiKey: chat.openaiApiKey }
    const defaults = withOperators(known, operators)
    return withAzure(
      chosenEndpoint({ own, defaults, publicUrl: OPENAI_PUBLIC_URL, guard, code }),
      ref,
    )
  }
  if ((server.address ?? operators.baseUrl) == null && own.baseUrl === undefined) {
    const what = `"base_url" is required for provider ${ref.provider}`
    throw new AppError(code, `${what}: the address of your resource`)
  }
  if (server.isPublic) {
    const known = { apiKey: chat.serviceKeys?.[keyNameOf(ref.provider)] }
    const defaults = withOperators(known, operators)
    return withAzure(chosenEndpoint({ own, defaults, publicUrl: server.address, guard, code }), ref)
  }
  // A name implies an address that its user might not be allowed to name.
  const isOperators = own.baseUrl === undefined && chat.operatorProvider === ref.provider
  const usual = operators.baseUrl ?? server.address ?? undefined
  const address = {
    baseUrl: own.baseUrl ?? usual,
    apiKey: own.apiKey,
  }
  const allowed = isOperators ? undefined : guard
  const isOperatorsProvider = chat.operatorProvider === ref.provider
  const defaults = isOperatorsProvider ? { ...operators, baseUrl: usual } : {}
  return chosenEndpoint({ own: address, defaults, publicUrl: null, guard: allowed, code })
}

/** The operator's address for the provider; empty for other providers. */
function operatorsAddress(provider: string, chat: ChatDefaults): EndpointAddress {
  if (chat.operatorProvider !== provider) return {}
  const [baseUrl, apiKey] = [nonBlank(chat.operatorBaseUrl), nonBlank(chat.operatorApiKey)]
  return {
    ...definedFields({ baseUrl, apiKey }),
  }
}

/** The key of a service is not sent to the address that the operator has named instead. */
function withOperators(known: EndpointAddress, operators: EndpointAddress): EndpointAddress {
  return operators.baseUrl === undefined ? { ...known, ...operators } : operators
}

/** Names of the same service share a key. */
function keyNameOf(provider: string): string {
  return provider === 'google' ? 'gemini' : provider
}

/** The classic form of Azure's addresses, one deployment each, which wants a version. */
const AZURE_DEPLOYMENT = /\/openai\/deployments\//
const AZURE_VERSION = '2024-10-21'
const AZURE_HOST = /\.(openai|services\.ai|cognitiveservices)\.azure\.com$/

/** Azure wants the key as `api-key`; a resource's address alone has OpenAI's API below `/openai/v1`. */
function withAzure(endpoint: Endpoint, { provider, options }: ModelRef): Endpoint {
  const version = typeof options.api_version === 'string' ? options.api_version : undefined
  const { hostname, pathname } = new URL(endpoint.url)
  const isClassic = AZURE_DEPLOYMENT.test(pathname)
  const isAzure = /^azure/.test(provider) || AZURE_HOST.test(hostname) || isClassic
  const wanted = version ?? (isClassic ? AZURE_VERSION : undefined)
  const query = wanted === undefined ? endpoint.query : { 'api-version': wanted, ...endpoint.query }
  if (!isAzure) return { ...endpoint, query }
  const path = /^\/(openai\/?)?$/.test(pathname) ? '/openai/v1' : pathname
  const headers = endpoint.apiKey === null ? {} : { 'api-key': endpoint.apiKey }
  return { ...endpoint, url: `${new URL(endpoint.url).origin}${path}`, query, headers }
}

/**
 * A model's own address and key win. The settings' key is sent only to the settings' address (same origin): a user who may
 * name an address must not receive a key they do not know.
 * @throws AppError with the choice's code for a missing address, one that is not http, and the public address without a key
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

/** null if the operator allowed all addresses, or this host by name. */
function guardFor(url: URL, guard: Guard | undefined): Guard | null {
  return guard === undefined || isTrustedHost(url.hostname, guard.policy) ? null : guard
}

/**
 * Checks the address that a model names, if any, before it is stored.
 * @throws AppError `address_refused`
 */
export async function checkModelAddress(
  { baseUrl, provider }: ModelRef,
  defaults: ChatDefaults,
  guard: Guard,
): Promise<void> {
  const server = compatibleServer(provider)
  const usual = server?.isPublic === true ? null : server?.address
  const url = URL.parse(nonBlank(baseUrl)?.trim() ?? usual ?? '')
  const own = provider === 'anthropic' ? defaults.anthropicBaseUrl : defaults.openaiBaseUrl
  const operators = operatorsAddress(provider, defaults).baseUrl
  const isOperators = server !== undefined && provider === defaults.operatorProvider
  if (url === null || (nonBlank(baseUrl) === undefined && isOperators)) return
  if ([own, operators].some((one) => url.origin === URL.parse(one ?? '')?.origin)) return
  await checkNamedAddress(url, guard)
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

/** The path of OpenAI's API at these services, for users who give only the host. */
const API_PATHS: Readonly<Record<string, string>> = {
  'api.groq.com': '/openai/v1',
  'openrouter.ai': '/api/v1',
  'generativelanguage.googleapis.com': '/v1beta/openai',
}

/**
 * A compatible server's address up to and with `/v1`, from what users write: with or without it,
 * with a slash at the end, or with the path of one call. A path of the server's own (`/openai/v1`,
 * `/api/paas/v4`) stays.
 */
export function openaiBaseUrl(url: string): string {
  const { origin, pathname, hostname } = new URL(url)
  const path = pathname.replace(/\/(chat\/completions|embeddings)?\/*$/, '').replace(/\/+$/, '')
  const usual = API_PATHS[hostname]
  if (usual?.startsWith(path)) return `${origin}${usual}`
  // Ollama has its own API besides OpenAI's.
  if (/^(\/api(\/(chat|generate|tags))?)?$/.test(path)) return `${origin}/v1`
  return `${origin}${path}`
}

/** An Anthropic address without the `/v1` that the client adds itself. */
export function anthropicBaseUrl(url: string): string {
  return url.replace(/\/+$/, '').replace(/\/v1(\/messages)?$/, '')
}

/** Address of the openai provider if none is configured. */
export const OPENAI_PUBLIC_URL = 'https://api.openai.com/v1'

/** Address of the anthropic provider if none is configured. */
export const ANTHROPIC_PUBLIC_URL = 'https://api.anthropic.com'
