import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import type { FailureType, TokenUsage } from '../../core/domain/agents/completion-event.ts'
import { BUILTIN_PROVIDER, type ModelRef } from '../../core/domain/model-ref.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { ChatDelta, ChatModel, ChatModels } from '../../core/domain/ports/model-ports.ts'
import { toAppError } from '../../core/errors.ts'
import { failureToSend } from '../actors/worker-messages.ts'
import { agentData } from '../data/agent-data.ts'
import { failureType } from './completion-stream.ts'
import { BUILTIN_CALLS_NONE, noneAllowed } from './foreign-tools.ts'

export interface AgentProbe {
  readonly ok: boolean
  readonly url: string | null
  /** The HTTP status; null if there was no answer. */
  readonly status: number | null
  readonly error_type: FailureType | null
  readonly cause: string | null
  readonly model: { readonly provider: string; readonly model_name: string }
  /** Whether the server supports streaming; null if unknown. */
  readonly streaming: boolean | null
  readonly tools: boolean | null
  readonly usage: WireUsage | null
  readonly took_ms: number
  readonly warnings: readonly string[]
  readonly next_step: string | null
}

interface WireUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_tokens: number
}

function wireUsage(usage: TokenUsage | null): WireUsage | null {
  if (usage === null) return null
  const { inputTokens, outputTokens, cachedTokens } = usage
  return { input_tokens: inputTokens, output_tokens: outputTokens, cached_tokens: cachedTokens }
}

const PROBE_MS = 20_000

/** Never fails; a failure is the result of the check. */
export async function probeAgent(
  agent: Pick<Agent, 'model'>,
  models: ChatModels,
  signal: AbortSignal,
): Promise<AgentProbe> {
  const beganMs = performance.now()
  const ref = agent.model ?? models.defaultModel
  const tookMs = () => Math.round(performance.now() - beganMs)
  const plain = { url: null, status: null, error_type: null, cause: null, usage: null }
  const shown = { provider: ref?.provider ?? BUILTIN_PROVIDER, model_name: ref?.modelName ?? '' }
  if (ref === null || ref.provider === BUILTIN_PROVIDER) {
    const rest = { streaming: true, tools: true, warnings: [], next_step: null, took_ms: tookMs() }
    return { ok: true, ...plain, model: shown, ...rest }
  }
  let url: string | null = null
  const timeout = AbortSignal.timeout(PROBE_MS)
  try {
    const model = await models.chatModel(ref, PROBE_MS)
    url = model.url ?? null
    const end = await heard(model, AbortSignal.any([signal, timeout]))
    return {
      ...{ ok: true, ...plain, url, status: 200, model: shown, ...abilities(ref, models) },
      ...{ usage: wireUsage(end?.usage ?? null), took_ms: tookMs() },
      ...{ warnings: end?.warnings ?? [], next_step: null },
    }
  } catch (error) {
    const found = timeout.aborted ? lateFailure(url) : failureFound(error)
    return {
      ...{ ok: false, ...plain, url, model: shown, streaming: null, tools: null, ...found },
      ...{ took_ms: tookMs(), warnings: [], next_step: NEXT_STEPS[found.error_type] },
    }
  }
}

/** Offered to find out whether the server supports tools. */
const TOOL = { name: 'not_needed', description: 'Does nothing. Never call it.', input: null }

async function heard(
  model: ChatModel,
  signal: AbortSignal,
): Promise<Extract<ChatDelta, { kind: 'end' }> | null> {
  const messages = [
    { role: 'system' as const, content: 'Answer with the word OK and nothing else.' },
    { role: 'user' as const, content: 'Say OK.' },
  ]
  for await (const delta of model.respond({ messages, tools: [TOOL] }, signal)) {
    if (delta.kind === 'end') return delta
  }
  return null
}

function abilities(ref: ModelRef, { features }: ChatModels) {
  const refused = features?.of(ref).refused
  if (refused === undefined) return { streaming: null, tools: null }
  return { streaming: !refused.has('streaming'), tools: !refused.has('tools') }
}

function failureFound(error: unknown) {
  const failure = toAppError(error)
  const { providerStatus } = failureToSend(failure)
  const isKeyMissing = failure.code === 'invalid_agent' && failure.message.includes('api_key')
  const error_type = isKeyMissing ? 'authentication' : failureType(failure)
  return { status: providerStatus ?? null, error_type, cause: failure.message }
}

function lateFailure(url: string | null) {
  const cause = `${url ?? 'The model'} did not answer within ${PROBE_MS / 1000} s`
  return { status: null, error_type: 'timeout' as const, cause }
}

const NEXT_STEPS: Readonly<Record<FailureType, string>> = {
  authentication: 'Check "api_key" of the model: a key of this service, with a right to this model',
  rate_limit: 'Wait, or raise the limits or the credit of your account with this service',
  timeout:
    'Check whether the server is still loading the model, and try again, or raise the "timeout" of the agent',
  connection:
    'Check that the server is running and that "base_url" is right, as seen from this machine',
  not_found: 'Check "model_name" and "base_url": something answers there, but not this model',
  content: 'Check which content the service withholds, and change the instruction of the agent',
  general: 'Read "cause", and check the fields of the model',
}

/** Looks at the definition only: remote tables are looked up when a question is asked. */
export function agentWarnings(
  agent: Agent,
  snapshot: CatalogSnapshot,
  models: ChatModels,
): readonly string[] {
  const ref = agent.model ?? models.defaultModel
  const problem = ref === null ? null : (models.problemOf?.(ref) ?? null)
  const databases = new Set(snapshot.dataSources.map(({ name }) => nameKey(name)))
  const data = agentData(agent, snapshot).warnings.filter((warning) => {
    const table = /^No table found: ([^.]+)\./.exec(warning)?.[1]
    return table === undefined || !databases.has(nameKey(table))
  })
  const names =
    agent.data === null
      ? ['']
      : [...agent.data.knowledgeBases, ...agent.data.tables, ...(agent.data.mcp ?? [])]
  const servers = agent.data?.mcp ?? []
  const isBuiltin = ref === null || ref.provider === BUILTIN_PROVIDER
  const foreign =
    isBuiltin && servers.length > 0
      ? [BUILTIN_CALLS_NONE]
      : servers.flatMap(({ name, tools }) => (tools.length === 0 ? [noneAllowed(name)] : []))
  const empty = names.length === 0 ? [`Agent ${agent.name} has no data to read`] : []
  return [...(problem === null ? [] : [problem]), ...data, ...foreign, ...empty]
}
