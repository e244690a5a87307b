import type { ChatDefaults, ModelRef } from '../domain/model-ref.ts'
import type { ChatModel } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import { ANTHROPIC_PUBLIC_URL } from './anthropic/anthropic-public-url.ts'
import type { Embed } from './builtin/extractive-chat.ts'
import { CHAT_LIMITS } from './chat-limits.ts'
import { CHAT_PROVIDERS } from './chat-providers.ts'
import { chosenEndpoint } from './endpoint.ts'
import { OPENAI_PUBLIC_URL } from './openai/openai-public-url.ts'

/** What a chat model may use besides its provider. */
export interface ChatTools {
  readonly embed: Embed
}

/**
 * The chat model that a reference names. Loads its provider's SDK and no other.
 * @throws AppError `unknown_provider`, `invalid_agent` for a missing setting
 */
export async function chatModelOf(
  ref: ModelRef,
  defaults: ChatDefaults,
  tools: ChatTools,
): Promise<ChatModel> {
  switch (ref.provider) {
    case 'builtin': {
      const { extractiveChat } = await import('./builtin/extractive-chat.ts')
      return extractiveChat(tools.embed)
    }
    case 'openai': {
      const endpoint = chosenEndpoint({
        own: { baseUrl: ref.baseUrl, apiKey: ref.apiKey },
        defaults: { baseUrl: defaults.openaiBaseUrl, apiKey: defaults.openaiApiKey },
        publicUrl: OPENAI_PUBLIC_URL,
        code: 'invalid_agent',
      })
      const { openaiChat } = await import('./openai/openai-chat.ts')
      return openaiChat({ endpoint, modelName: modelNameOf(ref), limits: CHAT_LIMITS })
    }
    case 'anthropic': {
      const endpoint = chosenEndpoint({
        own: { baseUrl: ref.baseUrl, apiKey: ref.apiKey },
        defaults: { baseUrl: defaults.anthropicBaseUrl, apiKey: defaults.anthropicApiKey },
        publicUrl: ANTHROPIC_PUBLIC_URL,
        code: 'invalid_agent',
      })
      const { anthropicChat } = await import('./anthropic/anthropic-chat.ts')
      return anthropicChat({ endpoint, modelName: modelNameOf(ref), limits: CHAT_LIMITS })
    }
    default: {
      const known = CHAT_PROVIDERS.join(', ')
      const message = `Wrong model provider: ${ref.provider}. Available providers: ${known}`
      throw new AppError('unknown_provider', message)
    }
  }
}

/** Loads a provider's SDK ahead of the first question to it. A provider that there is not is none to load. */
export async function loadProvider(provider: string): Promise<void> {
  if (provider === 'builtin') await import('./builtin/extractive-chat.ts')
  else if (provider === 'openai') await import('./openai/openai-chat.ts')
  else if (provider === 'anthropic') await import('./anthropic/anthropic-chat.ts')
}

function modelNameOf(ref: ModelRef): string {
  if (ref.modelName !== '') return ref.modelName
  throw new AppError('invalid_agent', `A model of the provider ${ref.provider} needs model_name`)
}
