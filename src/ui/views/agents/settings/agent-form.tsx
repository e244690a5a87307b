/** What an agent is made of, as fields: for a new one and for one that is changed. */
import { SelectField } from '../../../components/form/select-field.tsx'
import { TextAreaField } from '../../../components/form/text-area-field.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
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
      <div class="grid">
        <SelectField
          label="How it answers"
          hint="The built-in model writes no SQL"
          value={draft.mode}
          onChoose={(value) => set({ mode: value })}
          options={MODES}
        />
        <TextField
          label="Time limit in seconds"
          hint="Leave empty for the server's default"
          {...text('timeoutSeconds')}
          type="number"
          min="1"
        />
        <TextField
          label="Maximum steps"
          hint="Leave empty for the server's default"
          {...text('maxSteps')}
          type="number"
          min="1"
        />
      </div>
    </>
  )
}
