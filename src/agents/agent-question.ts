import type { Agent, ConversationTurn } from '../domain/agent.ts'
import { BUILTIN_CHAT_MODEL, BUILTIN_PROVIDER, type ModelRef } from '../domain/model-ref.ts'
import { AppError } from '../errors.ts'
import { AGENT_LIMITS } from './agent-limits.ts'
import { byteSize } from './text-size.ts'

/** A question to an agent, as a client puts it. */
export interface AgentQuestion {
  readonly agent: Agent
  readonly question: string
  /** Earlier turns, the oldest first. */
  readonly history: readonly ConversationTurn[]
  /** Whether text is wanted while it is written. */
  readonly deltas: boolean
}

export interface ModelChoice {
  readonly chatProviders: readonly string[]
  /** The settings' model; null: the built-in one. */
  readonly defaultModel: ModelRef | null
}

const BUILTIN_MODEL: ModelRef = {
  provider: BUILTIN_PROVIDER,
  modelName: BUILTIN_CHAT_MODEL,
  options: {},
}

/**
 * The model that answers. All that can be known to be wrong is found before the first event.
 * @throws AppError `invalid_request` for no or too long a question, `unknown_provider`
 */
export function checkedModel({ agent, question }: AgentQuestion, choice: ModelChoice): ModelRef {
  const { questionBytesMax } = AGENT_LIMITS
  if (question.trim() === '') throw new AppError('invalid_request', 'The question is empty')
  if (byteSize(question) > questionBytesMax) {
    throw new AppError('invalid_request', `A question has at most ${questionBytesMax} bytes`)
  }
  const model = agent.model ?? choice.defaultModel ?? BUILTIN_MODEL
  if (choice.chatProviders.includes(model.provider)) return model
  const known = choice.chatProviders.join(', ')
  const message = `Wrong model provider: ${model.provider}. Available providers: ${known}`
  throw new AppError('unknown_provider', message)
}
