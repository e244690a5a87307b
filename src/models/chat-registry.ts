import { type ChatDefaults, type ModelRef, unknownProvider } from '../domain/model-ref.ts'
import type { ChatModel, Embedder } from '../domain/ports/model-ports.ts'
import { AppError } from '../errors.ts'
import { addressPolicy } from '../network/address-policy.ts'
import { internet } from '../network/pinned-fetch.ts'
import { CHAT_PROVIDERS } from './chat-providers.ts'
import { CHAT_LIMITS } from './chat-stream.ts'
import { ANTHROPIC_PUBLIC_URL, chosenEndpoint, OPENAI_PUBLIC_URL } from './endpoint.ts'

export interface ChatModelOptions {
  /** The built-in embedder, for the built-in model. */
  readonly embed: Embedder['embed']
  /** How long it may take until an answer begins, further tries included. */
  readonly withinMs?: number
}

/**
 * The chat model that a reference names. Loads its provider's SDK and no other.
 * @throws AppError `unknown_provider`, `invalid_agent` for a missing setting
 */
export async function chatModelOf(
  ref: ModelRef,
  defaults: ChatDefaults,
  { embed, withinMs = CHAT_LIMITS.totalMs }: ChatModelOptions,
): Promise<ChatModel> {
  const guard = defaults.network && { policy: addressPolicy(defaults.network), network: internet }
  const totalMs = Math.min(CHAT_LIMITS.totalMs, withinMs)
  const limits = { ...CHAT_LIMITS, totalMs }
  switch (ref.provider) {
    case 'builtin': {
      const { extractiveChat } = await import('./builtin/chat/extractive-chat.ts')
      return extractiveChat(embed)
    }
    case 'openai': {
      const endpoint = chosenEndpoint({
        own: { baseUrl: ref.baseUrl, apiKey: ref.apiKey },
        defaults: { baseUrl: defaults.openaiBaseUrl, apiKey: defaults.openaiApiKey },
        publicUrl: OPENAI_PUBLIC_URL,
        guard,
        code: 'invalid_agent',
      })
      const { openaiChat } = await import('./openai/openai-chat.ts')
      return openaiChat({ endpoint, modelName: modelNameOf(ref), limits })
    }
    case 'anthropic': {
      const endpoint = chosenEndpoint({
        own: { baseUrl: ref.baseUrl, apiKey: ref.apiKey },
        defaults: { baseUrl: defaults.anthropicBaseUrl, apiKey: defaults.anthropicApiKey },
        publicUrl: ANTHROPIC_PUBLIC_URL,
        guard,
        code: 'invalid_agent',
      })
      const { anthropicChat } = await import('./anthropic/anthropic-chat.ts')
      return anthropicChat({ endpoint, modelName: modelNameOf(ref), limits })
    }
    default:
      throw unknownProvider('model', ref.provider, CHAT_PROVIDERS)
  }
}

/** Loads a provider's SDK ahead of the first question to it; an unknown provider has nothing to load. */
export async function loadProvider(provider: string): Promise<void> {
  if (provider === 'builtin') await import('./builtin/chat/extractive-chat.ts')
  else if (provider === 'openai') await import('./openai/openai-chat.ts')
  else if (provider === 'anthropic') await import('./anthropic/anthropic-chat.ts')
}

function modelNameOf(ref: ModelRef): string {
  if (ref.modelName !== '') return ref.modelName
  throw new AppError('invalid_agent', `A model of the provider ${ref.provider} needs model_name`)
}
