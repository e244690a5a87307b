/** A field of a new knowledge base: a text, a number or a choice, with what the server says against it. */
import { Field } from '../../components/field.tsx'
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
  readonly choices?: readonly { readonly value: string; readonly label: string }[]
}

export function DraftInput({ draft, set, wrong, of, label, hint, ...look }: DraftFieldProps) {
  const { type = 'text', placeholder, isRequired = false, choices } = look
  const error = wrong?.field === of ? wrong.message : undefined
  const change = (event: { currentTarget: { value: string } }) => {
    set({ [of]: event.currentTarget.value })
  }
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => {
        const given = { ...control, value: draft[of], 'aria-invalid': error !== undefined }
        if (choices) {
          return (
            <select {...given} onChange={change}>
              {choices.map(({ value, label: shown }) => (
                <option key={value} value={value}>
                  {shown}
                </option>
              ))}
            </select>
          )
        }
        const typed = { ...given, required: isRequired, placeholder, onInput: change }
        if (type === 'number') return <input {...typed} type="number" min={0} />
        if (type === 'password') {
          return <input {...typed} type="password" autocomplete="new-password" />
        }
        return <input {...typed} type="text" dir="auto" autocomplete="off" />
      }}
    </Field>
  )
}
