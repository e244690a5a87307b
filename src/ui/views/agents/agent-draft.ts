/** The input of the agent form, and its conversion to and from the API. */
import type { Agent } from '../../api/records.ts'

/** The API shows a stored secret like this. Sending it back keeps the secret. */
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

/** @param project of knowledge bases without one, which SQL can give an agent */
export function draftOf(agent?: Agent, project = ''): AgentDraft {
  const model = modelIn(agent)
  const knowledgeBases = agent?.data.knowledge_bases ?? []
  return {
    name: agent?.name ?? '',
    knowledgeBases: knowledgeBases.map((kb) => (kb.includes('.') ? kb : `${project}.${kb}`)),
    tables: agent?.data.tables ?? [],
    provider: model?.provider ?? '',
    modelName: model?.model_name ?? '',
    apiKey: model?.api_key ? MASKED : '',
    baseUrl: model?.base_url ?? '',
    promptTemplate: agent?.prompt_template ?? '',
    mode: agent?.params.mode === 'sql' ? 'sql' : '',
    timeoutSeconds: String(agent?.params.timeout ?? ''),
    maxSteps: String(agent?.params.max_steps ?? ''),
  }
}

function modelIn(agent: Agent | undefined) {
  return agent !== undefined && 'provider' in agent.model ? agent.model : undefined
}

/** The answer repeats the key of the request, and the page must not keep it. */
export function withoutKey(agent: Agent): Agent {
  const model = modelIn(agent)
  return model?.api_key ? { ...agent, model: { ...model, api_key: MASKED } } : agent
}

export function keyedProviderOf(agent: Agent | undefined): string | undefined {
  const model = modelIn(agent)
  return model?.api_key ? model.provider : undefined
}

/**
 * The form's content after `sent` was saved: input typed since then, otherwise the server's state.
 */
export function draftAfter(saved: AgentDraft, sent: AgentDraft, latest: AgentDraft): AgentDraft {
  const before = new Map<string, unknown>(Object.entries(sent))
  const typed = Object.entries(latest).filter(([key, value]) => {
    return JSON.stringify(value) !== JSON.stringify(before.get(key))
  })
  return { ...saved, ...Object.fromEntries(typed) }
}

/** The agent as the API expects it. Settings without a field in the form stay unchanged. */
export function definitionOf(draft: AgentDraft, before?: Agent) {
  return {
    name: draft.name.trim(),
    data: { ...before?.data, knowledge_bases: draft.knowledgeBases, tables: draft.tables },
    model: modelOf(draft, before),
    prompt_template: draft.promptTemplate,
    params: {
      ...before?.params,
      // Empty values must be sent, because missing ones keep their stored value.
      mode: draft.mode === '' ? 'text' : draft.mode,
      timeout: limitOf(draft.timeoutSeconds),
      max_steps: limitOf(draft.maxSteps),
    },
  }
}

/** null means the server's limit. */
function limitOf(typed: string): number | null {
  return typed === '' ? null : Number(typed)
}

function modelOf(draft: AgentDraft, before: Agent | undefined) {
  const { provider, modelName, apiKey, baseUrl } = draft
  if (provider === '') return {}
  const model = modelIn(before)
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
