/** What an agent is made of, as fields: for a new one and for one that is changed. */
import { useState } from 'preact/hooks'
import { projects } from '../../api/catalog.ts'
import type { Agent } from '../../api/records.ts'
import { readTableNames } from '../../api/schema-names.ts'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useResource } from '../../components/resource.ts'

/** The secret of a model as the API shows it; sent back, it means the stored one. */
const MASKED = '******'

const PROVIDERS = [
  ['', 'The one of the server, else the built-in one, which quotes'],
  ['openai', 'OpenAI'],
  ['anthropic', 'Anthropic'],
  ['gemini', 'Gemini'],
  ['mistral', 'Mistral'],
  ['ollama', 'Ollama'],
  ['vllm', 'vLLM'],
  ['lmstudio', 'LM Studio'],
  ['openrouter', 'OpenRouter'],
] as const

export interface AgentDraft {
  readonly name: string
  readonly knowledgeBases: readonly string[]
  readonly tables: readonly string[]
  readonly provider: string
  readonly modelName: string
  readonly apiKey: string
  readonly baseUrl: string
  readonly promptTemplate: string
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
    apiKey: model?.api_key ?? '',
    baseUrl: model?.base_url ?? '',
    promptTemplate: agent?.prompt_template ?? '',
    timeoutSeconds: String(agent?.params.timeout ?? ''),
    maxSteps: String(agent?.params.max_steps ?? ''),
  }
}

/** The agent as the API takes it. What is not a field here stays as it is. */
export function definitionOf(draft: AgentDraft, before?: Agent) {
  const isOwnModel = draft.provider !== '' || draft.modelName !== '' || draft.baseUrl !== ''
  const { timeout: _timeout, max_steps: _steps, ...params } = before?.params ?? {}
  return {
    name: draft.name,
    data: { ...before?.data, knowledge_bases: draft.knowledgeBases, tables: draft.tables },
    model: isOwnModel
      ? {
          ...(draft.provider === '' ? {} : { provider: draft.provider }),
          model_name: draft.modelName,
          ...(draft.apiKey === '' ? {} : { api_key: draft.apiKey }),
          ...(draft.baseUrl === '' ? {} : { base_url: draft.baseUrl }),
        }
      : {},
    prompt_template: draft.promptTemplate,
    params: {
      ...params,
      ...(draft.timeoutSeconds === '' ? {} : { timeout: Number(draft.timeoutSeconds) }),
      ...(draft.maxSteps === '' ? {} : { max_steps: Number(draft.maxSteps) }),
    },
  }
}

interface AgentFormProps {
  readonly draft: AgentDraft
  readonly onChange: (draft: AgentDraft) => void
  readonly isNameFixed?: boolean
}

export function AgentForm({ draft, onChange, isNameFixed = false }: AgentFormProps) {
  const set = (changes: Partial<AgentDraft>) => onChange({ ...draft, ...changes })
  const text = (key: keyof AgentDraft) => ({
    value: String(draft[key]),
    onInput: (event: { readonly currentTarget: { readonly value: string } }) => {
      set({ [key]: event.currentTarget.value })
    },
  })
  return (
    <>
      {!isNameFixed && (
        <Field label="Name" hint="Letters, digits and _ are easiest in SQL">
          {(control) => <input {...control} {...text('name')} required autocomplete="off" />}
        </Field>
      )}
      <AgentDataFields draft={draft} onChange={onChange} />
      <fieldset class="agent-fields">
        <legend>Model</legend>
        <Field label="Provider">
          {(control) => (
            <select
              {...control}
              value={draft.provider}
              onChange={(event) => set({ provider: event.currentTarget.value })}
            >
              {PROVIDERS.map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
              {PROVIDERS.every(([value]) => value !== draft.provider) && (
                <option>{draft.provider}</option>
              )}
            </select>
          )}
        </Field>
        {draft.provider !== '' && (
          <>
            <Field label="Model name" hint="As the provider lists it">
              {(control) => <input {...control} {...text('modelName')} required />}
            </Field>
            <Field
              label="API key"
              hint={
                draft.apiKey === MASKED
                  ? 'One is stored. It stays unless you type another'
                  : 'Best a setting of the server; typed here it is stored encrypted'
              }
            >
              {(control) => (
                <input {...control} {...text('apiKey')} type="password" autocomplete="off" />
              )}
            </Field>
            <Field label="Address" hint="Only for a server of your own or a compatible one">
              {(control) => <input {...control} {...text('baseUrl')} type="url" />}
            </Field>
          </>
        )}
      </fieldset>
      <Field label="Instructions" hint="What the agent is for, how it answers. May be empty">
        {(control) => <textarea {...control} {...text('promptTemplate')} rows={5} dir="auto" />}
      </Field>
      <div class="grid">
        <Field label="Time limit in seconds" hint="Empty: the server's">
          {(control) => <input {...control} {...text('timeoutSeconds')} type="number" min="1" />}
        </Field>
        <Field label="Steps at most" hint="Empty: the server's">
          {(control) => <input {...control} {...text('maxSteps')} type="number" min="1" />}
        </Field>
      </div>
    </>
  )
}

/** Knowledge bases and tables of all projects to pick from; what the agent names and is not there stays in the list. */
function AgentDataFields({ draft, onChange }: AgentFormProps) {
  const [typed, setTyped] = useState('')
  const tables = useResource(readTableNames, ['tables for agents'])
  const known = (projects.value ?? []).flatMap(({ name, knowledgeBases }) => {
    return knowledgeBases.map((one) => `${name}.${one.name}`)
  })
  const others = (tables.data ?? [])
    .map(({ schema, name }) => `${schema}.${name}`)
    .filter((name) => !known.includes(name))
  return (
    <fieldset class="agent-fields">
      <legend>What it may read</legend>
      <input
        type="search"
        aria-label="Find in the list"
        placeholder="Find in the list"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      {tables.failure && <Failure error={tables.failure} onRetry={tables.reload} />}
      <div class="agent-data">
        <Picks
          label="Knowledge bases"
          names={[...new Set([...draft.knowledgeBases, ...known])]}
          typed={typed}
          picked={draft.knowledgeBases}
          onPick={(knowledgeBases) => onChange({ ...draft, knowledgeBases })}
        />
        <Picks
          label="Tables, files and views"
          names={[...new Set([...draft.tables, ...others])]}
          typed={typed}
          picked={draft.tables}
          onPick={(picked) => onChange({ ...draft, tables: picked })}
        />
      </div>
    </fieldset>
  )
}

const PICKS_MAX = 200

function Picks({
  label,
  names,
  typed,
  picked,
  onPick,
}: {
  readonly label: string
  readonly names: readonly string[]
  readonly typed: string
  readonly picked: readonly string[]
  readonly onPick: (names: readonly string[]) => void
}) {
  const found = names.filter((name) => name.toLowerCase().includes(typed.toLowerCase()))
  return (
    <section aria-label={label}>
      <h3>{label}</h3>
      {found.length === 0 && <p class="small quiet">None</p>}
      {found.slice(0, PICKS_MAX).map((name) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={picked.includes(name)}
            onChange={() => {
              const rest = picked.filter((one) => one !== name)
              onPick(rest.length === picked.length ? [...picked, name] : rest)
            }}
          />
          <span dir="auto">{name}</span>
        </label>
      ))}
    </section>
  )
}
