import { AppError } from '../errors.ts'
import { nearestName } from '../short-text.ts'

/** Which model to call, and how. `apiKey` and `baseUrl` override the defaults from the settings. */
export interface ModelRef {
  readonly provider: string
  readonly modelName: string
  readonly apiKey?: string
  readonly baseUrl?: string
  /** Everything else the client sent (`api_version`, `method`, …), returned unchanged. */
  readonly options: Readonly<Record<string, unknown>>
}

/** Which private addresses models may use. Can be cloned between threads. */
export interface NetworkRules {
  readonly setting: string
  /** Hosts, addresses and CIDR blocks. */
  readonly entries: readonly string[]
  /** Whether all addresses are allowed. */
  readonly isOpen: boolean
}

/** Settings for chat models: the keys and addresses for models that have none of their own. */
export interface ChatDefaults {
  /** If unset, models may use any address. */
  readonly network?: NetworkRules | undefined
  readonly openaiApiKey?: string | undefined
  readonly openaiBaseUrl?: string | undefined
  readonly anthropicApiKey?: string | undefined
  readonly anthropicBaseUrl?: string | undefined
  /** Keys of services by short name. Each key is sent only to that service's own address. */
  readonly serviceKeys?: Readonly<Record<string, string | undefined>> | undefined
  /** The operator's chosen provider; its default address is always allowed. */
  readonly operatorProvider?: string | undefined
  /** The address that the operator set for the provider. The operator's key is sent only there. */
  readonly operatorBaseUrl?: string | undefined
  readonly operatorApiKey?: string | undefined
}

/** Whether both references certainly give the same vectors: only their keys may differ. */
export function isSameSource(one: ModelRef, other: ModelRef): boolean {
  const { apiKey: _, ...source } = one
  const { apiKey: __, ...otherSource } = other
  return Bun.deepEquals(source, otherSource, true)
}

type ModelApi = 'builtin' | 'openai' | 'anthropic'

/** A server or service that is compatible with OpenAI's API and has a short name. */
interface CompatibleServer {
  /** Its default address; null if it has none. */
  readonly address: string | null
  /** Whether it is a public service with API keys; every user may use its default address. */
  readonly isPublic: boolean
}

function onThisMachine(port: number): CompatibleServer {
  return { address: `http://127.0.0.1:${port}/v1`, isPublic: false }
}

function service(address: string | null): CompatibleServer {
  return { address, isPublic: true }
}

const GEMINI = service('https://generativelanguage.googleapis.com/v1beta/openai')

/** Short names for OpenAI-compatible servers, and their addresses. */
const COMPATIBLE: Readonly<Record<string, CompatibleServer>> = {
  ollama: onThisMachine(11434),
  lmstudio: onThisMachine(1234),
  lm_studio: onThisMachine(1234),
  vllm: onThisMachine(8000),
  llamacpp: onThisMachine(8080),
  'llama.cpp': onThisMachine(8080),
  localai: onThisMachine(8080),
  litellm: onThisMachine(4000),
  gemini: GEMINI,
  google: GEMINI,
  mistral: service('https://api.mistral.ai/v1'),
  groq: service('https://api.groq.com/openai/v1'),
  deepseek: service('https://api.deepseek.com/v1'),
  openrouter: service('https://openrouter.ai/api/v1'),
  together: service('https://api.together.xyz/v1'),
  azure_openai: service(null),
  azure: service(null),
}

export const COMPATIBLE_PROVIDERS: readonly string[] = Object.keys(COMPATIBLE)

/** undefined if it is not a short name. */
export function compatibleServer(provider: string): CompatibleServer | undefined {
  return Object.hasOwn(COMPATIBLE, provider) ? COMPATIBLE[provider] : undefined
}

/** The API that a provider uses; undefined if the provider is unknown. */
export function apiOf(provider: string): ModelApi | undefined {
  if (provider === BUILTIN_PROVIDER || provider === 'openai' || provider === 'anthropic') {
    return provider
  }
  return compatibleServer(provider) === undefined ? undefined : 'openai'
}

/** @param kind the kind of model requested */
export function unknownProvider(
  kind: 'model' | 'embedding' | 'reranking',
  provider: string,
  known: readonly string[],
): AppError {
  const hint = known.includes('openai')
    ? '. A server with OpenAI\'s API under another name is the provider openai with its address as "base_url"'
    : ''
  const meant = nearestName(provider, known)
  const said = meant === undefined ? '' : `. Did you mean ${meant}?`
  // Clients match on the start of this message.
  const message = `Wrong ${kind} provider: ${provider}. Available providers: ${known.join(', ')}${said || hint}`
  return new AppError('unknown_provider', message)
}

/** The built-in provider, which works without a key, a download or a network. */
export const BUILTIN_PROVIDER = 'builtin'
/** Names only: loading a provider's SDK takes the main thread too long. */
export const CHAT_PROVIDERS = [BUILTIN_PROVIDER, 'openai', 'anthropic', ...COMPATIBLE_PROVIDERS]

export const BUILTIN_EMBEDDING_MODEL = 'all-MiniLM-L6-v2'
export const BUILTIN_CHAT_MODEL = 'extractive'

/** The time limit for testing an embedding model when a knowledge base is created or altered. */
export const EMBED_PROBE_MS = 3_000

/** The maximum number of dimensions. */
export const DIMENSIONS_MAX = 65_536

/** From external texts. Every pattern is bounded: texts may be long and hostile. */

export const HIDDEN = '******'

/** Each pattern with its replacement. */
const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  // User and password in an address.
  [/(:\/\/)[^\s/@"']{1,1000}@/g, `$1${HIDDEN}@`],
  [/([?&](?:key|token|sig|signature|code)=)[^\s&"'#]+/gi, `$1${HIDDEN}`],
  [
    /\b((?:proxy-)?authorization["']?\s{0,20}[:=]\s{0,20}["']?)(?:\w+ {1,20})?[^\s"',;}]+/gi,
    `$1${HIDDEN}`,
  ],
  [
    /((?:api[-_]?key|access[-_]?key|token|secret|password)["']?\s{0,20}[:=]\s{0,20}["']?)[^\s"',;}&]{8,}/gi,
    `$1${HIDDEN}`,
  ],
  [/\b(bearer|basic) {1,20}(?=[\w.~+/=-]*[\d=])[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  // Keys with a provider's prefix, and JSON Web Tokens.
  [/\b((?:sk|pk|rk|hf|gsk|gh[a-z]|xox[a-z]|glpat)[-_])[\w-]{8,}/g, `$1${HIDDEN}`],
  [/\b(AIza|AKIA|ASIA)[\w-]{12,}/g, `$1${HIDDEN}`],
  [/\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}/g, HIDDEN],
]

/** In addresses and headers, after a field name, or with a provider's prefix. */
export function withoutMarkedCredentials(text: string): string {
  return CREDENTIALS.reduce((shown, [pattern, kept]) => shown.replace(pattern, kept), text)
}

/** Which options of a model each use allows, besides its name, key and address. */

export const OPENAI_SAMPLING = [
  'temperature',
  'top_p',
  'seed',
  'stop',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
] as const

export const ANTHROPIC_SAMPLING = [
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'thinking',
] as const

export const EMBEDDING_OPTIONS = ['dimensions', 'api_version'] as const

/** `rerankOptionsOf` checks their values. */
export const RERANKING_OPTIONS: readonly string[] = [
  ...['candidates', 'filtering_threshold', 'num_docs_to_keep', 'method', 'mode'],
  ...['max_concurrent_requests', 'max_retries', 'retry_delay', 'request_timeout', 'timeout'],
  ...['logprobs', 'top_logprobs', 'max_tokens', 'raw_scores', 'api_version'],
]

export function agentModelOptionsOf(provider: string): readonly string[] {
  const options = chatOptionsOf(provider)
  return options.length === 0 ? [] : [...options, 'context_tokens']
}

/** The built-in model has none, because it only quotes. */
export function chatOptionsOf(provider: string): readonly string[] {
  if (provider === 'builtin') return []
  if (provider === 'anthropic') return [...ANTHROPIC_SAMPLING, 'max_tokens']
  return [...OPENAI_SAMPLING, 'max_tokens', 'max_completion_tokens', 'api_version']
}

/** Features that some chat model servers refuse. Requests are then sent without them. */

const MODEL_FEATURES = [
  'streaming',
  'tools',
  'response_format',
  'system_role',
  'sampling',
  /** `stream_options`, which requests token counts. */
  'usage',
  /** Several tool calls in one message. */
  'parallel_calls',
  /** Tool call ids in any format; some servers accept only nine letters and digits. */
  'call_ids',
  /** Any order of roles; some servers require user and assistant to alternate. */
  'role_order',
  'max_completion_tokens',
  'max_tokens',
  /** Sending back earlier reasoning. */
  'reasoning_history',
  'caching',
] as const

export type ModelFeature = (typeof MODEL_FEATURES)[number]

export function isModelFeature(value: unknown): value is ModelFeature {
  return MODEL_FEATURES.some((feature) => feature === value)
}

/** Which features one model's server has refused. */
export interface FeatureMemory {
  readonly refused: ReadonlySet<ModelFeature>
  add(feature: ModelFeature): void
}

/** Which features each model server has refused. */
export interface RefusedFeatures {
  of(ref: ModelRef): FeatureMemory
}

/** Remembers refusals for one conversation only. */
export function newFeatureMemory(
  known: readonly ModelFeature[] = [],
  onAdded: (feature: ModelFeature) => void = () => {},
): FeatureMemory {
  const refused = new Set(known)
  return {
    refused,
    add(feature) {
      if (refused.has(feature)) return
      refused.add(feature)
      onAdded(feature)
    },
  }
}

/** Refused features that affect the answer, with the warning for its reader. */
const LOSSES: Partial<Readonly<Record<ModelFeature, string>>> = {
  streaming: 'streaming: answers arrive all at once',
  tools: 'native tool calls: tools are called through text',
  response_format: 'response_format: only the instruction describes the form of the answer',
  sampling: 'temperature and other sampling options',
}

/** One sentence for each feature the answer had to do without. */
export function lossWarnings(
  modelName: string,
  features: Iterable<ModelFeature>,
): readonly string[] {
  return [...features].flatMap((feature) => {
    const loss = LOSSES[feature]
    return loss === undefined ? [] : [`The model ${modelName} is used without ${loss}`]
  })
}
