/** The fields for creating and changing an agent. */
import { useState } from 'preact/hooks'
import { projects } from '../../api/catalog.ts'
import { runSql } from '../../api/sql.ts'
import { Button, Icon } from '../../components/button.tsx'
import { Check, SearchInput, TextAreaField, TextField } from '../../components/form/field.tsx'
import { type InputField, Inputs, type Values } from '../../components/form/form.tsx'
import { modelFields } from '../../components/form/search-fields.tsx'
import { counted, shownProject } from '../../components/numbers.ts'
import { LISTED_MAX, Loaded } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { type AgentDraft, MASKED } from './agent-draft.ts'

const MODES = [
  ['', 'Text'],
  ['sql', 'Text, with the rows of the last statement'],
] as const

const LIMIT = { kind: 'number', min: 1, hint: "Leave empty for the server's default" } as const
const LIMITS: readonly InputField[] = [
  {
    ...{ name: 'mode', label: 'Answer as', options: MODES },
    hint: 'The built-in model cannot write SQL',
  },
  { name: 'timeoutSeconds', label: 'Time limit in seconds', ...LIMIT },
  { name: 'maxSteps', label: 'Maximum steps', ...LIMIT },
]

export function AgentForm(props: {
  readonly draft: AgentDraft
  readonly onChange: (draft: AgentDraft) => void
  readonly isNameFixed?: boolean
  readonly keyedProvider?: string | undefined
}) {
  const { draft, onChange, isNameFixed = false, keyedProvider } = props
  const set = (changes: Partial<AgentDraft>) => onChange({ ...draft, ...changes })
  const { mode, timeoutSeconds, maxSteps } = draft
  const text = (key: 'name' | 'promptTemplate') => ({
    value: draft[key],
    onText: (typed: string) => set({ [key]: typed }),
  })
  return (
    <>
      {!isNameFixed && (
        <TextField
          label="Name"
          hint="Letters, digits and _ are easiest in SQL"
          {...text('name')}
          required
          autocomplete="off"
        />
      )}
      <DataFields draft={draft} onChange={set} />
      <ModelFields draft={draft} onChange={set} keyedProvider={keyedProvider} />
      <TextAreaField
        label="Instructions"
        hint="Who asks, what the data means, how to answer. Optional; the built-in model ignores them."
        {...text('promptTemplate')}
        rows={5}
      />
      <Inputs fields={LIMITS} values={{ mode, timeoutSeconds, maxSteps }} onChange={set} />
    </>
  )
}

const PROVIDERS = [
  ['', "The server's default, or the built-in one"],
  ['builtin', 'Built in: quotes what it finds'],
  ['openai', 'OpenAI, or a server with its API'],
  ['anthropic', 'Anthropic'],
  ['gemini', 'Gemini'],
  ['mistral', 'Mistral'],
  ['groq', 'Groq'],
  ['deepseek', 'DeepSeek'],
  ['openrouter', 'OpenRouter'],
  ['together', 'Together'],
  ['ollama', 'Ollama'],
  ['vllm', 'vLLM'],
  ['llamacpp', 'llama.cpp'],
  ['lmstudio', 'LM Studio'],
] as const

function ModelFields(props: {
  readonly draft: AgentDraft
  readonly onChange: (changes: Partial<AgentDraft>) => void
  readonly keyedProvider: string | undefined
}) {
  const { draft, onChange, keyedProvider } = props
  const { provider, modelName, apiKey, baseUrl } = draft
  const isListed = PROVIDERS.some(([value]) => value === provider)
  const isStored = apiKey === MASKED
  const values = { provider, model: modelName, key: isStored ? '' : apiKey, url: baseUrl }
  const options = isListed ? PROVIDERS : [...PROVIDERS, [provider, provider] as const]
  const keyHint = isStored ? 'A key is stored. Leave empty to keep it.' : undefined
  const fields = modelFields(values, options, 'As the provider lists it', keyHint)
  const change = ({ provider = '', model = '', key = '', url = '' }: Values) => {
    // A stored key belongs to the provider that it was entered for.
    const stored = provider === keyedProvider ? MASKED : ''
    onChange({ provider, modelName: model, apiKey: key || stored, baseUrl: url })
  }
  return (
    <fieldset>
      <legend>Model</legend>
      <Inputs class="stack" fields={fields} values={values} onChange={change} />
    </fieldset>
  )
}

/** Chooses what an agent may read: knowledge bases, tables, views, files, or a whole project. */
function DataFields(props: {
  readonly draft: AgentDraft
  readonly onChange: (changes: Partial<AgentDraft>) => void
}) {
  const { draft, onChange } = props
  const [typed, setTyped] = useState('')
  const tables = useResource(readTables, ['tables for agents'])
  const knowledgeBases = (projects.value ?? []).flatMap(({ name, knowledgeBases: own }) => {
    return own.map((one): Choice => ({ schema: name, name: one.name, kind: '' }))
  })
  const all = [...knowledgeBases, ...(tables.data ?? [])]
  const isKnown = tables.data !== undefined && projects.value !== undefined
  const isMissing = (name: string) => isKnown && !all.some((choice) => isCovered(choice, [name]))
  const isListed = all.some(({ schema, name }) => `${schema}.${name}` === typed)
  const canAdd = typed.includes('.') && !isListed && !draft.tables.includes(typed)
  const picked = [
    ...draft.knowledgeBases.map((name) => ({ name, field: 'knowledgeBases' as const })),
    ...draft.tables.map((name) => ({ name, field: 'tables' as const })),
  ]
  return (
    <fieldset>
      <legend>Data it can read</legend>
      {picked.length === 0 ? (
        <p class="small quiet">Nothing yet. The agent knows only what you choose here.</p>
      ) : (
        <ul class="row chips" aria-label={`Picked: ${counted(picked.length, 'name')}`}>
          {picked.map(({ name, field }) => (
            <li key={`${field} ${name}`}>
              <Button
                look="small"
                onClick={() => onChange({ [field]: draft[field].filter((one) => one !== name) })}
              >
                <span class="visually-hidden">Remove </span>
                <span class="one-line">{name.replace(/^mindsdb\./, 'default.')}</span>
                {isMissing(name) && <span class="badge warn">does not exist</span>}
                <Icon name="close" />
              </Button>
            </li>
          ))}
        </ul>
      )}
      <SearchInput
        label="Find in the list"
        placeholder="Find in the list, or type a name such as shop.orders"
        value={typed}
        onText={setTyped}
        onKeyDown={(event) => {
          // Otherwise, Enter would save the agent.
          if (event.key === 'Enter') event.preventDefault()
        }}
      />
      {canAdd && (
        <Button
          look="small"
          icon="plus"
          onClick={() => {
            onChange({ tables: [...draft.tables, typed] })
            setTyped('')
          }}
        >
          Add the table <bdi>{typed}</bdi>
        </Button>
      )}
      <div class="side-by-side agent-data">
        <PickGroup
          label="Knowledge bases"
          choices={knowledgeBases}
          typed={typed}
          picked={draft.knowledgeBases}
          onPick={(names) => onChange({ knowledgeBases: names })}
        />
        <Loaded of={tables} what="the tables">
          {(choices) => (
            <PickGroup
              label="Tables, files and views"
              choices={choices}
              typed={typed}
              picked={draft.tables}
              onPick={(names) => onChange({ tables: names })}
            />
          )}
        </Loaded>
      </div>
    </fieldset>
  )
}

const KINDS: Readonly<Record<string, string>> = { VIEW: 'view', 'BASE TABLE': 'table' }

async function readTables(signal: AbortSignal): Promise<readonly Choice[]> {
  const sql = `SELECT table_schema, table_name, table_type FROM information_schema.tables
WHERE table_schema <> 'information_schema' AND table_type NOT IN ('KNOWLEDGE BASE', 'AGENT')
ORDER BY ALL LIMIT 20000`
  const { rows } = await runSql({ sql, signal })
  return rows.map(([schema, name, type]) => {
    const kind = schema === 'files' ? 'file' : (KINDS[String(type)] ?? '')
    return { schema: String(schema), name: String(name), kind }
  })
}

export interface Choice {
  readonly schema: string
  readonly name: string
  /** `view` or `file`; empty if the agent does not say. */
  readonly kind: string
}

function PickGroup(props: {
  readonly label: string
  readonly choices: readonly Choice[]
  readonly typed: string
  readonly picked: readonly string[]
  readonly onPick: (names: readonly string[]) => void
}) {
  const { label, choices, typed, picked, onPick } = props
  const found = choices.filter(({ schema, name }) => {
    return `${schema}.${name}`.toLowerCase().includes(typed.toLowerCase())
  })
  const bySchema = Map.groupBy(found.slice(0, LISTED_MAX), ({ schema }) => schema)
  const toggle = (name: string) => {
    const rest = picked.filter((one) => one !== name)
    onPick(rest.length === picked.length ? [...picked, name] : rest)
  }
  return (
    <section aria-label={label}>
      <h2>{label}</h2>
      {choices.length === 0 && <p class="small quiet">None yet.</p>}
      {choices.length > 0 && found.length === 0 && <p class="small quiet">No match.</p>}
      {[...bySchema].map(([schema, members]) => {
        const all = `${schema}.*`
        const hasAll = picked.includes(all)
        return (
          <div key={schema}>
            <Check checked={hasAll} onCheck={() => toggle(all)}>
              <span>
                All of <bdi>{shownProject(schema)}</bdi>{' '}
                <span class="small quiet">and everything added later</span>
              </span>
            </Check>
            {members.map((choice) => {
              const name = `${choice.schema}.${choice.name}`
              return (
                <div key={name} class="indent">
                  <Check
                    checked={isCovered(choice, picked)}
                    disabled={hasAll}
                    onCheck={() => toggle(name)}
                  >
                    <bdi>{choice.name}</bdi>
                    {choice.kind !== '' && <span class="small quiet">{choice.kind}</span>}
                  </Check>
                </div>
              )
            })}
          </div>
        )
      })}
      {found.length > LISTED_MAX && (
        <p class="small quiet">
          {counted(found.length - LISTED_MAX, 'more', 'more')}: type a part of a name to find them.
        </p>
      )}
    </section>
  )
}

/** Whether a chosen name or pattern such as `shop.*` includes this table, ignoring case. */
export function isCovered({ schema, name }: Choice, picked: readonly string[]): boolean {
  const whole = `${schema}.${name}`.toLowerCase()
  return picked.some((one) => {
    const wanted = one.toLowerCase().replaceAll('"', '').replaceAll('`', '')
    return wanted.endsWith('*') ? whole.startsWith(wanted.slice(0, -1)) : whole === wanted
  })
}
