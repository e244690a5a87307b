import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../errors.ts'
import { nearestName } from '../short-text.ts'

/** Which model to call and how to reach it. `apiKey` and `baseUrl` override the settings' defaults. */
export interface ModelRef {
  readonly provider: string
  readonly modelName: string
  readonly apiKey?: string
  readonly baseUrl?: string
  /** Everything else the caller sent (`api_version`, `method`, …), kept and returned unchanged. */
  readonly options: Readonly<Record<string, unknown>>
}

/** The private addresses that models may have, and the setting for that. It can be cloned between threads. */
export interface NetworkRules {
  readonly setting: string
  /** Hosts, addresses and CIDR blocks. */
  readonly entries: readonly string[]
  /** All addresses. */
  readonly isOpen: boolean
}

/** The settings for chat models: keys and addresses for models without their own. */
export interface ChatDefaults {
  /** Unset: models may have any address. */
  readonly network?: NetworkRules | undefined
  readonly openaiApiKey?: string | undefined
  readonly openaiBaseUrl?: string | undefined
  readonly anthropicApiKey?: string | undefined
  readonly anthropicBaseUrl?: string | undefined
  /** Keys of services by short name. Each is sent only to that service's own address. */
  readonly serviceKeys?: Readonly<Record<string, string | undefined>> | undefined
  /** The provider that the operator has chosen: its usual address may be connected to, wherever it is. */
  readonly operatorProvider?: string | undefined
  /** The operator's provider's actual address, with a key sent only there. */
  readonly operatorBaseUrl?: string | undefined
  readonly operatorApiKey?: string | undefined
}

/** Whether both certainly give the same vectors: only their keys may differ. */
export function isSameSource(one: ModelRef, other: ModelRef): boolean {
  const { apiKey: _, ...source } = one
  const { apiKey: __, ...otherSource } = other
  return isDeepStrictEqual(source, otherSource)
}

type ModelApi = 'builtin' | 'openai' | 'anthropic'

/** A server or service with OpenAI's API and a short name. */
interface CompatibleServer {
  /** Its default address; null: there is no usual one. */
  readonly address: string | null
  /** A service that wants a key. Its own address may be connected to by everybody. */
  readonly isPublic: boolean
}

function onThisMachine(port: number): CompatibleServer {
  return { address: `http://127.0.0.1:${port}/v1`, isPublic: false }
}

function service(address: string | null): CompatibleServer {
  return { address, isPublic: true }
}

const GEMINI = service('https://generativelanguage.googleapis.com/v1beta/openai')

/** Short names of the provider `openai` at an address. */
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

/** undefined: not a short name. */
export function compatibleServer(provider: string): CompatibleServer | undefined {
  return Object.hasOwn(COMPATIBLE, provider) ? COMPATIBLE[provider] : undefined
}

/** The API of a provider; undefined: unknown provider. */
export function apiOf(provider: string): ModelApi | undefined {
  if (provider === BUILTIN_PROVIDER || provider === 'openai' || provider === 'anthropic') {
    return provider
  }
  return compatibleServer(provider) === undefined ? undefined : 'openai'
}

/** @param kind the kind of model that was requested */
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
  // Clients match on its beginning.
  const message = `Wrong ${kind} provider: ${provider}. Available providers: ${known.join(', ')}${said || hint}`
  return new AppError('unknown_provider', message)
}

/** The provider that needs no key, download or network. */
export const BUILTIN_PROVIDER = 'builtin'

export const BUILTIN_EMBEDDING_MODEL = 'all-MiniLM-L6-v2'
export const BUILTIN_CHAT_MODEL = 'extractive'

/** One try of an embedding model when a knowledge base is created or altered. */
export const EMBED_PROBE_MS = 3_000

/** The maximum length of a vector. */
export const DIMENSIONS_MAX = 65_536

/**
 * Foreign texts may contain credentials: this decides what may be kept and shown. Every pattern is bounded, because texts
 * are long and hostile.
 */

export const HIDDEN = '******'

/** Each with its replacement. */
const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  // The user and the password of an address.
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
  // Keys as their makers mark them, and JSON web tokens.
  [/\b((?:sk|pk|rk|hf|gsk|gh[a-z]|xox[a-z]|glpat)[-_])[\w-]{8,}/g, `$1${HIDDEN}`],
  [/\b(AIza|AKIA|ASIA)[\w-]{12,}/g, `$1${HIDDEN}`],
  [/\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}/g, HIDDEN],
]

/** The text without marked credentials: in addresses and headers, by their name, or by their maker's prefix. */
export function withoutMarkedCredentials(text: string): string {
  return CREDENTIALS.reduce((shown, [pattern, kept]) => shown.replace(pattern, kept), text)
}

/** The options of a model besides its name, key and address, by its use. */

/** Options passed on unchanged in a chat request. */
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

/** `rerankOptionsOf` says what each may be. */
export const RERANKING_OPTIONS = [
  'candidates',
  'filtering_threshold',
  'num_docs_to_keep',
  'method',
  'mode',
  'max_concurrent_requests',
  'max_retries',
  'retry_delay',
  'request_timeout',
  'timeout',
  'logprobs',
  'top_logprobs',
  'max_tokens',
  'raw_scores',
  'api_version',
] as const

/** The options of an agent's model. */
export function agentModelOptionsOf(provider: string): readonly string[] {
  const options = chatOptionsOf(provider)
  return options.length === 0 ? [] : [...options, 'context_tokens']
}

/** The built-in model has none: it only quotes. */
export function chatOptionsOf(provider: string): readonly string[] {
  if (provider === 'builtin') return []
  if (provider === 'anthropic') return [...ANTHROPIC_SAMPLING, 'max_tokens']
  return [...OPENAI_SAMPLING, 'max_tokens', 'max_completion_tokens', 'api_version']
}

/** What servers of chat models may refuse, and what is then done without. */

const MODEL_FEATURES = [
  'streaming',
  'tools',
  'response_format',
  'system_role',
  'sampling',
  /** `stream_options`, which asks for the counts of tokens. */
  'usage',
  /** Several calls in one message of the conversation. */
  'parallel_calls',
  /** Rejects call ids that are not nine letters and digits. */
  'call_ids',
  /** Rejects messages unless user and assistant alternate. */
  'role_order',
  'max_completion_tokens',
  'max_tokens',
  /** Earlier reasoning, sent back. */
  'reasoning_history',
  'caching',
] as const

export type ModelFeature = (typeof MODEL_FEATURES)[number]

export function isModelFeature(value: unknown): value is ModelFeature {
  return MODEL_FEATURES.some((feature) => feature === value)
}

/** The known features of one model's server. */
export interface FeatureMemory {
  readonly refused: ReadonlySet<ModelFeature>
  add(feature: ModelFeature): void
}

/** The known features of all model servers. */
export interface RefusedFeatures {
  of(ref: ModelRef): FeatureMemory
}

/** For one conversation only. */
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

/** Losses worth reporting to the reader of the answer. */
const LOSSES: Partial<Readonly<Record<ModelFeature, string>>> = {
  streaming: 'streaming: its answers come whole',
  tools: 'tool calls of its own: tools are called through text',
  response_format: 'response_format: only the instruction asks for the form of the answer',
  sampling: 'temperature and the other options of sampling',
}

/** One sentence for each feature that an answer had to do without. */
export function lossWarnings(
  modelName: string,
  features: Iterable<ModelFeature>,
): readonly string[] {
  return [...features].flatMap((feature) => {
    const loss = LOSSES[feature]
    return loss === undefined ? [] : [`The model ${modelName} is used without ${loss}`]
  })
}
