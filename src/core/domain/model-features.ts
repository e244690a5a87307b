/** What servers of chat models may refuse, and what is then done without. */
import type { ModelRef } from './model-ref.ts'

export const MODEL_FEATURES = [
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
