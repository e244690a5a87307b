/** A field of a new knowledge base: a text, a number or a choice, with what the server says against it. */
import { SelectField } from '../../components/form/select-field.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import type { Draft, DraftField } from './knowledge-base-draft.ts'

export interface DraftProps {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
  readonly wrong: { readonly field: DraftField; readonly message: string } | undefined
}

interface DraftFieldProps extends DraftProps {
  readonly of: DraftField
  readonly label: string
  readonly hint?: string
  readonly type?: 'text' | 'number' | 'password'
  readonly placeholder?: string
  readonly isRequired?: boolean
  readonly choices?: readonly (readonly [value: string, words: string])[]
}

export function DraftInput({ draft, set, wrong, of, label, hint, ...look }: DraftFieldProps) {
  const { type = 'text', placeholder, isRequired = false, choices } = look
  const error = wrong?.field === of ? wrong.message : undefined
  const words = { label, hint, error }
  const change = (value: string) => set({ [of]: value })
  if (choices) {
    return <SelectField {...words} value={draft[of]} options={choices} onChoose={change} />
  }
  return (
    <TextField
      {...words}
      type={type}
      min={type === 'number' ? 0 : undefined}
      autocomplete={type === 'password' ? 'new-password' : 'off'}
      required={isRequired}
      placeholder={placeholder}
      value={draft[of]}
      onText={change}
    />
  )
}
