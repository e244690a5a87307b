/** What an agent is made of, as fields: for a new one and for one that is changed. */
import { Field } from '../../../components/field.tsx'
import type { AgentDraft } from './agent-draft.ts'
import { DataFields } from './data-fields.tsx'
import { ModelFields } from './model-fields.tsx'

interface AgentFormProps {
  readonly draft: AgentDraft
  readonly onChange: (draft: AgentDraft) => void
  readonly isNameFixed?: boolean
  /** Whose key is stored. */
  readonly keyedProvider?: string | undefined
}

const MODES = [
  ['', 'In words'],
  ['sql', 'In words, with the rows of its last statement'],
] as const

export function AgentForm({ draft, onChange, isNameFixed = false, keyedProvider }: AgentFormProps) {
  const set = (changes: Partial<AgentDraft>) => onChange({ ...draft, ...changes })
  const text = (key: 'name' | 'promptTemplate' | 'timeoutSeconds' | 'maxSteps') => ({
    value: draft[key],
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
      <DataFields draft={draft} onChange={set} />
      <ModelFields draft={draft} onChange={set} keyedProvider={keyedProvider} />
      <Field
        label="Instructions"
        hint="Who asks, what the data means, how to answer. May be empty; the built-in model reads none"
      >
        {(control) => <textarea {...control} {...text('promptTemplate')} rows={5} dir="auto" />}
      </Field>
      <div class="grid">
        <Field label="It answers" hint="The built-in model writes no SQL">
          {(control) => (
            <select
              {...control}
              value={draft.mode}
              onChange={(event) => set({ mode: event.currentTarget.value })}
            >
              {MODES.map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
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
