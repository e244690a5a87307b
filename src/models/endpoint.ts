import { type ChatDefaults, compatibleServer, type ModelRef } from '../core/domain/model-ref.ts'
import { AppError } from '../core/errors.ts'
import { definedFields } from '../core/json.ts'
import { checkNamedAddress, type Guard, isTrustedHost } from '../core/runtime/address-policy.ts'
import { uriDecoded } from '../core/short-text.ts'

export interface Endpoint {
  /**
   * Origin and path without a trailing slash, credentials and query, so that messages may show it.
   */
  readonly url: string
  /** The query of the configured address, sent with each request. */
  readonly query: Readonly<Record<string, string>>
  /** Extra headers for each request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly apiKey: string | null
  /** Secrets that must not appear in messages. */
  readonly secrets: readonly string[]
  /** Checks each connection; null if the operator chose the address. */
  readonly guard: Guard | null
}

interface EndpointChoice {
  readonly own: EndpointAddress
  readonly defaults: EndpointAddress
  /** The provider's public address including the API's path prefix; null if none. */
  readonly publicUrl: string | null
  /** If unset, any address is allowed. */
  readonly guard?: Guard | undefined
  readonly code: 'invalid_knowledge_base' | 'invalid_agent'
}

interface EndpointAddress {
  readonly baseUrl?: string | undefined
  readonly apiKey?: string | undefined
}

/** @throws AppError with the given code, like `chosenEndpoint` */
export function modelEndpoint(
  ref: ModelRef,
  given: {
    readonly chat: ChatDefaults
    /** Which addresses a model may use; if unset, any. */
    readonly guard?: Guard | undefined
    readonly code: EndpointChoice['code']
  },
): Endpoint {
  const { chat, guard, code } = given
  const own = { baseUrl: nonBlank(ref.baseUrl), apiKey: ref.apiKey }
  const operators = operatorsAddress(ref.provider, chat)
  /** A service with a public address, which every user may use. */
  const service = (known: EndpointAddress, publicUrl: string | null) => {
    const defaults = withOperators(known, operators)
    return chosenEndpoint({ own, defaults, publicUrl, guard, code })
  }
  if (ref.provider === 'anthropic') {
    const known = { baseUrl: chat.anthropicBaseUrl, apiKey: chat.anthropicApiKey }
    return service(known, ANTHROPIC_PUBLIC_URL)
  }
  const server = compatibleServer(ref.provider)
  if (server === undefined) {
    const known = { baseUrl: chat.openaiBaseUrl, apiKey: chat.openaiApiKey }
    return withAzure(service(known, OPENAI_PUBLIC_URL), ref)
  }
  if ((server.address ?? operators.baseUrl) == null && own.baseUrl === undefined) {
    const what = `"base_url" is required for provider ${ref.provider}`
    throw new AppError(code, `${what}: the address of your resource`)
  }
  if (server.isPublic) {
    const known = { apiKey: chat.serviceKeys?.[keyNameOf(ref.provider)] }
    return withAzure(service(known, server.address), ref)
  }
  // Only the operator's own provider skips the check: any other name may imply an address that
  // the user is not allowed to use.
  const isOperators = chat.operatorProvider === ref.provider
  const baseUrl = operators.baseUrl ?? server.address ?? undefined
  return chosenEndpoint({
    own: { baseUrl: own.baseUrl ?? baseUrl, apiKey: own.apiKey },
    defaults: isOperators ? { ...operators, baseUrl } : {},
    publicUrl: null,
    guard: isOperators && own.baseUrl === undefined ? undefined : guard,
    code,
  })
}

/** The operator's address for the provider; empty for other providers. */
function operatorsAddress(provider: string, chat: ChatDefaults): EndpointAddress {
  if (chat.operatorProvider !== provider) return {}
  const [baseUrl, apiKey] = [nonBlank(chat.operatorBaseUrl), nonBlank(chat.operatorApiKey)]
  return definedFields({ baseUrl, apiKey })
}

/** If the operator configured another address, the service's own key is not sent there. */
function withOperators(known: EndpointAddress, operators: EndpointAddress): EndpointAddress {
  return operators.baseUrl === undefined ? { ...known, ...operators } : operators
}

/** Different names of the same service share a key. */
function keyNameOf(provider: string): string {
  return provider === 'google' ? 'gemini' : provider
}

/** The classic form of Azure addresses, one per deployment, which requires an API version. */
const AZURE_DEPLOYMENT = /\/openai\/deployments\//
const AZURE_VERSION = '2024-10-21'
const AZURE_HOST = /\.(openai|services\.ai|cognitiveservices)\.azure\.com$/

/** Azure expects the key in `api-key`. A plain resource has OpenAI's API below `/openai/v1`. */
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
 * A model's own address and key take precedence. The key from the settings is sent only to the
 * address from the settings (same origin); otherwise a user could name an address of their own and
 * receive a key they do not know.
 * @throws AppError with the choice's code for a missing address, one that is not HTTP, or the
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
    throw new AppError(choice.code, `An api_key is required for ${url.origin}: add it to the model`)
  }
  const query = Object.fromEntries(url.searchParams)
  const credentials = [url.username, url.password].flatMap((text) => [text, uriDecoded(text)])
  const queryValues = Object.values(query).filter((text) => text.length >= SECRET_CHARS_MIN)
  return {
    url: `${url.origin}${url.pathname.replace(/\/+$/, '')}`,
    query,
    apiKey,
    secrets: [apiKey ?? '', ...credentials, ...queryValues].filter((text) => text !== ''),
    guard: isDefault || isAt(choice.publicUrl) ? null : guardFor(url, choice.guard),
  }
}

/** Returns null if the operator allows all addresses or listed this host. */
function guardFor(url: URL, guard: Guard | undefined): Guard | null {
  return guard === undefined || isTrustedHost(url.hostname, guard.policy) ? null : guard
}

/** @throws AppError `address_refused` */
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

/** A shorter value in the query (`api-version=1`) is not a secret. */
const SECRET_CHARS_MIN = 8

/** Clients send an empty string for "not set". */
function nonBlank(text: string | undefined): string | undefined {
  return text?.trim() === '' ? undefined : text
}

function parseUrl(text: string, choice: EndpointChoice): URL {
  const url = URL.parse(text.trim())
  if (url !== null && /^https?:$/.test(url.protocol)) return url
  throw new AppError(choice.code, 'base_url must be an http or https address')
}

/** The path of OpenAI's API at these services, for users who give only the host. */
const API_PATHS: Readonly<Record<string, string>> = {
  'api.groq.com': '/openai/v1',
  'openrouter.ai': '/api/v1',
  'generativelanguage.googleapis.com': '/v1beta/openai',
}

/** Adds `/v1` or removes the path of a call. Paths such as `/openai/v1`, `/api/paas/v4` stay. */
export function openaiBaseUrl(url: string): string {
  const { origin, pathname, hostname } = new URL(url)
  const path = pathname.replace(/\/(chat\/completions|embeddings)?\/*$/, '').replace(/\/+$/, '')
  const usual = API_PATHS[hostname]
  if (usual?.startsWith(path)) return `${origin}${usual}`
  // Ollama has its own API besides OpenAI's.
  if (/^(\/api(\/(chat|generate|tags))?)?$/.test(path)) return `${origin}/v1`
  return `${origin}${path}`
}

/** An Anthropic address without `/v1`, which the client library adds itself. */
export function anthropicBaseUrl(url: string): string {
  return url.replace(/\/+$/, '').replace(/\/v1(\/messages)?$/, '')
}

export const OPENAI_PUBLIC_URL = 'https://api.openai.com/v1'

export const ANTHROPIC_PUBLIC_URL = 'https://api.anthropic.com'
