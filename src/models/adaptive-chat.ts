import { lossWarnings, type ModelFeature, newFeatureMemory } from '../core/domain/model-ref.ts'
import type { ChatDelta, ChatModel, ChatRequest } from '../core/domain/ports/model-ports.ts'
import type { ChatConfig } from './chat-stream.ts'
import { FeatureRefused } from './chat-stream.ts'
import { textToolTurn } from './text-tools.ts'

/** @throws FeatureRefused for a feature that the server has not refused before */
type PlainTurn = (
  request: ChatRequest,
  refused: ReadonlySet<ModelFeature>,
  signal: AbortSignal,
) => AsyncIterable<ChatDelta>

/** Remembers refused features and repeats the turn without. Tools may be called through text. */
export function adaptiveChat(
  config: ChatConfig & { readonly url: string },
  plain: PlainTurn,
): ChatModel {
  const features = config.features ?? newFeatureMemory()
  return {
    url: config.url,
    async *respond(request, signal) {
      // A copy, so that discoveries of other threads do not change a running turn.
      const refused = new Set(features.refused)
      // Ends in any case, because each round rules out one more feature.
      for (;;) {
        try {
          yield* withLosses(turn(request, { plain, refused }, signal), request, {
            ...config,
            refused,
          })
          return
        } catch (error) {
          if (!(error instanceof FeatureRefused) || refused.has(error.feature)) throw error
          refused.add(error.feature)
          features.add(error.feature)
        }
      }
    },
  }
}

interface Means {
  readonly plain: PlainTurn
  readonly refused: ReadonlySet<ModelFeature>
}

function turn(
  request: ChatRequest,
  { plain, refused }: Means,
  signal: AbortSignal,
): AsyncIterable<ChatDelta> {
  if (!refused.has('tools') || !hasTools(request)) return plain(request, refused, signal)
  return textToolTurn(request, (text) => plain(text, refused, signal))
}

/** Counts tools in the last turn too, because the conversation contains calls to them. */
function hasTools({ tools, messages }: ChatRequest): boolean {
  return tools.length > 0 || messages.some(({ role }) => role === 'tool')
}

async function* withLosses(
  deltas: AsyncIterable<ChatDelta>,
  request: ChatRequest,
  config: Pick<ChatConfig, 'modelName' | 'options'> & Pick<Means, 'refused'>,
): AsyncGenerator<ChatDelta> {
  const { modelName, options = {}, refused } = config
  const matters: Partial<Readonly<Record<ModelFeature, boolean>>> = {
    tools: hasTools(request),
    streaming: true,
    response_format: request.responseFormat !== undefined,
    sampling: Object.keys(options).length > 0,
  }
  const losses = [...refused].filter((feature) => matters[feature] === true)
  for await (const delta of deltas) {
    if (delta.kind !== 'end') yield delta
    else yield { ...delta, warnings: [...delta.warnings, ...lossWarnings(modelName, losses)] }
  }
}
