import type { ModelFeature } from '../../domain/model-features.ts'
import { BUILTIN_PROVIDER, type ChatDefaults, type ModelRef } from '../../domain/model-ref.ts'
import type { ToolSpec } from '../../domain/ports/model-ports.ts'
import type { AgentTask } from '../actors/worker-messages.ts'
import type { AvailableData } from '../data/agent-data.ts'
import { newFence } from '../loop/data-fence.ts'
import { toolSpecs } from '../tools/tools.ts'
import type { AgentQuestion } from './agent-question.ts'
import { systemPrompt } from './prompt.ts'

export interface TaskTerms {
  readonly model: ModelRef
  readonly chatDefaults: ChatDefaults
  readonly timeoutMs: number
  readonly refused?: ReadonlySet<ModelFeature> | undefined
  readonly agentStepsMax: number
  readonly agentContextTokens?: number
  /** Tools of others. */
  readonly foreignTools: readonly ToolSpec[]
}

/** All that the thread is told for one question. */
export function agentTask(
  { agent, question, history, conversation, deltas, answerForm, wishes }: AgentQuestion,
  data: AvailableData,
  terms: TaskTerms,
): AgentTask {
  const { model, chatDefaults, timeoutMs, agentStepsMax, agentContextTokens = 0 } = terms
  const task = {
    question,
    history,
    ...(conversation === undefined ? {} : { kept: { summary: conversation.summary } }),
    tools: [...toolSpecs(data), ...terms.foreignTools],
    model,
    chatDefaults,
    refusedFeatures: [...(terms.refused ?? [])],
    timeoutMs,
    maxSteps: agent.params.maxSteps ?? agentStepsMax,
    deltas,
    ...(agent.params.mode === 'sql' ? { endsWithRows: true } : {}),
  }
  if (!hasPrompt(model)) return { ...task, systemPrompt: '' }
  const fence = newFence()
  const contextTokens = contextTokensOf(model, agentContextTokens)
  const prompt = systemPrompt(agent, data, {
    fence,
    ...{ answerForm, wishes },
    hasForeignTools: terms.foreignTools.length > 0,
  })
  const form = answerForm === undefined ? {} : { answerForm }
  return { ...task, systemPrompt: prompt, fence, contextTokens, ...form }
}

/** The built-in model takes rows as they are, however many, and obeys no text. */
export function hasPrompt({ provider }: ModelRef): boolean {
  return provider !== BUILTIN_PROVIDER
}

/** Where nobody says how much a model reads: what servers of open models are often started with. */
const CONTEXT_TOKENS = 32_000

/** What the makers state, by the names of their models. More than 200 000 is never of use to an agent. */
const KNOWN_MODELS: readonly (readonly [RegExp, number])[] = [
  [/(?:^|\/)gpt-3\.5/i, 16_000],
  [/(?:^|\/)(?:gpt-|chatgpt|o[1-9](?:-|$))/i, 128_000],
  [/(?:^|\/)(?:claude|gemini)/i, 200_000],
]

const CONTEXT_TOKENS_MIN = 1000

/** The model's own `context_tokens`, else the setting, else what is known of the model. */
function contextTokensOf({ modelName, options }: ModelRef, setting: number): number {
  const own = options.context_tokens
  if (typeof own === 'number' && own >= CONTEXT_TOKENS_MIN) return own
  if (setting >= CONTEXT_TOKENS_MIN) return setting
  return KNOWN_MODELS.find(([pattern]) => pattern.test(modelName))?.[1] ?? CONTEXT_TOKENS
}
