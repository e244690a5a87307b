/** What is typed for an agent, what it means for the server, and what is kept of it over a reload. */
import type { Agent } from '../../../api/records.ts'

/** The secret of a model as the API shows it; sent back, it means the stored one. */
export const MASKED = '******'

export interface AgentDraft {
  readonly name: string
  readonly knowledgeBases: readonly string[]
  readonly tables: readonly string[]
  readonly provider: string
  readonly modelName: string
  readonly apiKey: string
  readonly baseUrl: string
  readonly promptTemplate: string
  readonly mode: string
  readonly timeoutSeconds: string
  readonly maxSteps: string
}

export function draftOf(agent?: Agent): AgentDraft {
  const model = agent !== undefined && 'provider' in agent.model ? agent.model : undefined
  return {
    name: agent?.name ?? '',
    knowledgeBases: agent?.data.knowledge_bases ?? [],
    tables: agent?.data.tables ?? [],
    provider: model?.provider ?? '',
    modelName: model?.model_name ?? '',
    // The answer to a request that sent a key shows it once more.
    apiKey: model?.api_key ? MASKED : '',
    baseUrl: model?.base_url ?? '',
    promptTemplate: agent?.prompt_template ?? '',
    mode: agent?.params.mode ?? '',
    timeoutSeconds: String(agent?.params.timeout ?? ''),
    maxSteps: String(agent?.params.max_steps ?? ''),
  }
}

/** The agent as the API takes it. What is not a field here stays as it is. */
export function definitionOf(draft: AgentDraft, before?: Agent) {
  const { timeout: _timeout, max_steps: _steps, mode: _mode, ...params } = before?.params ?? {}
  return {
    name: draft.name.trim(),
    data: { ...before?.data, knowledge_bases: draft.knowledgeBases, tables: draft.tables },
    model: modelOf(draft, before),
    prompt_template: draft.promptTemplate,
    params: {
      ...params,
      ...(draft.mode === '' ? {} : { mode: draft.mode }),
      ...(draft.timeoutSeconds === '' ? {} : { timeout: Number(draft.timeoutSeconds) }),
      ...(draft.maxSteps === '' ? {} : { max_steps: Number(draft.maxSteps) }),
    },
  }
}

function modelOf(draft: AgentDraft, before: Agent | undefined) {
  const { provider, modelName, apiKey, baseUrl } = draft
  if (provider === '') return {}
  const model = before !== undefined && 'provider' in before.model ? before.model : undefined
  const { model_name: _name, api_key: _key, base_url: _url, ...options } = model ?? {}
  return {
    ...(model?.provider === provider ? options : {}),
    provider,
    model_name: modelName.trim(),
    ...(apiKey === '' ? {} : { api_key: apiKey }),
    ...(baseUrl.trim() === '' ? {} : { base_url: baseUrl.trim() }),
  }
}

export function isSameDraft(one: AgentDraft, other: AgentDraft): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

interface KeptDraft {
  readonly draft: AgentDraft
  /** The agent that it was begun with. */
  readonly base?: Agent
}

const keyOf = (place: string) => `eider.agent.${place}`

/** In this window alone, and without a key that was typed: that is nothing to lie about in a browser. */
export function keepDraft(place: string, { draft, base }: KeptDraft): void {
  const apiKey = draft.apiKey === MASKED ? MASKED : ''
  const kept = { draft: { ...draft, apiKey }, base }
  try {
    sessionStorage.setItem(keyOf(place), JSON.stringify(kept))
  } catch {
    // A browser that keeps nothing loses it with a reload, and nothing else.
  }
}

export function forgetDraft(place: string): void {
  sessionStorage.removeItem(keyOf(place))
}

export function keptDraft(place: string): KeptDraft | undefined {
  try {
    // Written above; what an older page wrote may lack fields.
    const kept = JSON.parse(sessionStorage.getItem(keyOf(place)) ?? 'null') as KeptDraft | null
    if (kept === null) return
    return { ...kept, draft: { ...draftOf(kept.base), ...kept.draft } }
  } catch {
    return
  }
}
