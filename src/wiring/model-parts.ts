/** Models as the settings name them. */
import {
  BUILTIN_EMBEDDING_MODEL,
  BUILTIN_PROVIDER,
  type ChatDefaults,
  type ModelRef,
  type NetworkRules,
} from '../core/domain/model-ref.ts'
import type { ChatModels, Embedder, EmbedderRegistry } from '../core/domain/ports/model-ports.ts'
import { toAppError } from '../core/errors.ts'
import { modelEndpoint } from '../models/endpoint.ts'
import { FeatureMemories } from '../models/registries/feature-memories.ts'
import { isLoopback, type Settings } from './settings/settings.ts'

/** null: agents and the server have the built-in one. */
export function defaultChatModel({ chatProvider, chatModel }: Settings): ModelRef | null {
  if (chatProvider === BUILTIN_PROVIDER) return null
  return { provider: chatProvider, modelName: chatModel ?? '', options: {} }
}

export function chatModelsOf(settings: Settings, embedders: EmbedderRegistry): ChatModels {
  const memories = new FeatureMemories(() => performance.now())
  return {
    defaultModel: defaultChatModel(settings),
    features: memories,
    problemOf(ref) {
      if (ref.provider === BUILTIN_PROVIDER) return null
      try {
        modelEndpoint(ref, { chat: chatDefaultsOf(settings), code: 'invalid_agent' })
        return null
      } catch (error) {
        return toAppError(error).message
      }
    },
    async chatModel(ref, withinMs) {
      const { chatModelOf } = await import('../models/registries/chat-registry.ts')
      const embed = builtinEmbed(embedders)
      const features = memories.of(ref)
      const within = withinMs === undefined ? {} : { withinMs }
      return chatModelOf(ref, chatDefaultsOf(settings), { embed, features, ...within })
    },
  }
}

export function builtinEmbed(embedders: EmbedderRegistry): Embedder['embed'] {
  const ref = { provider: BUILTIN_PROVIDER, modelName: BUILTIN_EMBEDDING_MODEL, options: {} }
  return (texts, signal) => embedders.embedder(ref).embed(texts, signal)
}

export function chatDefaultsOf(settings: Settings): ChatDefaults {
  const { openaiApiKey, openaiBaseUrl, anthropicApiKey, anthropicBaseUrl } = settings
  const network = networkRulesOf(settings)
  const { chatProvider: operatorProvider } = settings
  const { chatBaseUrl: operatorBaseUrl, chatApiKey: operatorApiKey } = settings
  const operators = { operatorProvider, operatorBaseUrl, operatorApiKey }
  const serviceKeys = serviceKeysOf(settings)
  const own = { openaiApiKey, openaiBaseUrl, anthropicApiKey, anthropicBaseUrl }
  return { ...own, ...operators, serviceKeys, network }
}

/** By the short names of the providers. */
export function serviceKeysOf(settings: Settings) {
  return {
    gemini: settings.geminiApiKey,
    mistral: settings.mistralApiKey,
    groq: settings.groqApiKey,
    deepseek: settings.deepseekApiKey,
    openrouter: settings.openrouterApiKey,
    together: settings.togetherApiKey,
  }
}

/** Who alone can reach this server, without a login, may reach from it what the machine reaches. */
export function networkRulesOf({ networkAllow, host, username }: Settings): NetworkRules {
  const isOpen = isLoopback(host) && username === undefined
  return { setting: 'EIDER_NETWORK_ALLOW', entries: networkAllow, isOpen }
}
