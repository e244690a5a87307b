import {
  apiOf,
  CHAT_PROVIDERS,
  type ChatDefaults,
  type FeatureMemory,
  type ModelRef,
  unknownProvider,
} from '../../core/domain/model-ref.ts'
import type { ChatModel, Embedder } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { addressPolicy, internet } from '../../core/runtime/address-policy.ts'
import { CHAT_LIMITS, type ChatLimits } from '../chat-stream.ts'
import { modelEndpoint } from '../endpoint.ts'

/** Loads only that provider's SDK. @throws AppError `unknown_provider`, `invalid_agent` */
export async function chatModelOf(
  ref: ModelRef,
  defaults: ChatDefaults,
  given: {
    readonly embed: Embedder['embed']
    /** The time limit for all requests, including retries; if unset, the usual limit of each. */
    readonly withinMs?: number
    /** Which features the model's server has refused; if unset, none so far. */
    readonly features?: FeatureMemory
  },
): Promise<ChatModel> {
  const { embed, withinMs, features } = given
  const guard = defaults.network && { policy: addressPolicy(defaults.network), network: internet }
  const limits = limitsWithin(withinMs)
  const api = apiOf(ref.provider)
  if (api === undefined) throw unknownProvider('model', ref.provider, CHAT_PROVIDERS)
  if (api === 'builtin') {
    const { extractiveChat } = await import('../builtin/chat/extractive-chat.ts')
    return extractiveChat(embed)
  }
  const endpoint = modelEndpoint(ref, { chat: defaults, guard, code: 'invalid_agent' })
  const { options } = ref
  const config = { endpoint, modelName: modelNameOf(ref), limits, options, features }
  if (api === 'openai') {
    const { openaiChat } = await import('../providers/openai-chat.ts')
    return openaiChat(config)
  }
  const { anthropicChat } = await import('../providers/anthropic-chat.ts')
  return anthropicChat(config)
}

/** Without a limit of its own: a question has a deadline, however many turns it takes. */
function limitsWithin(withinMs: number | undefined): ChatLimits {
  if (withinMs === undefined) return CHAT_LIMITS
  const endMs = performance.now() + withinMs
  return { ...CHAT_LIMITS, totalMs: withinMs, waitMsMax: withinMs, endMs }
}

export async function loadProvider(provider: string): Promise<void> {
  const api = apiOf(provider)
  if (api === 'builtin') await import('../builtin/chat/extractive-chat.ts')
  else if (api === 'openai') await import('../providers/openai-chat.ts')
  else if (api === 'anthropic') await import('../providers/anthropic-chat.ts')
}

function modelNameOf(ref: ModelRef): string {
  if (ref.modelName !== '') return ref.modelName
  throw new AppError('invalid_agent', `A model of the provider ${ref.provider} needs model_name`)
}
