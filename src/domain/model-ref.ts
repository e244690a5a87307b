import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../errors.ts'

/** Which model to call and how to reach it. `apiKey` and `baseUrl` override the settings' defaults. */
export interface ModelRef {
  readonly provider: string
  readonly modelName: string
  readonly apiKey?: string
  readonly baseUrl?: string
  /** Whatever else the caller sent (`api_version`, `method`, …), kept and given back as it was. */
  readonly options: Readonly<Record<string, unknown>>
}

/** Which addresses models may have beside public ones, and the setting that says so. It can be cloned between threads. */
export interface NetworkRules {
  readonly setting: string
  /** Hosts, addresses and CIDR blocks. */
  readonly entries: readonly string[]
  /** All addresses. */
  readonly isOpen: boolean
}

/** What the settings say for chat models: keys and addresses for those that name none of their own. */
export interface ChatDefaults {
  /** Unset: models may have any address. */
  readonly network?: NetworkRules | undefined
  readonly openaiApiKey?: string | undefined
  readonly openaiBaseUrl?: string | undefined
  readonly anthropicApiKey?: string | undefined
  readonly anthropicBaseUrl?: string | undefined
}

/** Whether both give the same vectors, as far as one can tell without asking: only their keys may differ. */
export function isSameSource(one: ModelRef, other: ModelRef): boolean {
  const { apiKey: _, ...source } = one
  const { apiKey: __, ...otherSource } = other
  return isDeepStrictEqual(source, otherSource)
}

/** Servers and services with OpenAI's API, by the names under which others know them, and where they listen. */
const COMPATIBLE: Readonly<Record<string, string>> = {
  ollama: 'http://127.0.0.1:11434/v1',
  lmstudio: 'http://127.0.0.1:1234/v1',
  lm_studio: 'http://127.0.0.1:1234/v1',
  vllm: 'http://127.0.0.1:8000/v1',
  llamacpp: 'http://127.0.0.1:8080/v1',
  localai: 'http://127.0.0.1:8080/v1',
  litellm: 'http://127.0.0.1:4000/v1',
  groq: 'https://api.groq.com/openai/v1',
  mistral: 'https://api.mistral.ai/v1',
  deepseek: 'https://api.deepseek.com/v1',
  together: 'https://api.together.xyz/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
  google: 'https://generativelanguage.googleapis.com/v1beta/openai',
  azure_openai: 'https://<resource>.openai.azure.com/openai/v1',
}

/** @param kind which model was to be found */
export function unknownProvider(
  kind: 'model' | 'embedding' | 'reranking',
  provider: string,
  known: readonly string[],
): AppError {
  const key = provider.toLowerCase()
  const address = Object.hasOwn(COMPATIBLE, key) ? COMPATIBLE[key] : undefined
  const hint =
    address === undefined || !known.includes('openai')
      ? ''
      : `. ${provider} speaks OpenAI's API: use the provider openai with "base_url": "${address}"`
  const message = `Wrong ${kind} provider: ${provider}. Available providers: ${known.join(', ')}${hint}`
  return new AppError('unknown_provider', message)
}

/** The provider that needs no key, no download and no network. */
export const BUILTIN_PROVIDER = 'builtin'

export const BUILTIN_EMBEDDING_MODEL = 'all-MiniLM-L6-v2'
export const BUILTIN_CHAT_MODEL = 'extractive'

/** One try of an embedding model when a knowledge base is created or altered. */
export const EMBED_PROBE_MS = 3_000
