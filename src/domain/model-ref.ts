import { isDeepStrictEqual } from 'node:util'

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

/** The provider that needs no key, no download and no network. */
export const BUILTIN_PROVIDER = 'builtin'

export const BUILTIN_EMBEDDING_MODEL = 'all-MiniLM-L6-v2'
export const BUILTIN_CHAT_MODEL = 'extractive'

/** One try of an embedding model when a knowledge base is created or altered. */
export const EMBED_PROBE_MS = 3_000
