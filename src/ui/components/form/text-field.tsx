/** One line that is typed: a text, a number, a date, a secret. */
import type { InputHTMLAttributes } from 'preact'
import { Field, type FieldWords } from './field.tsx'

type InputProps = InputHTMLAttributes<HTMLInputElement>

interface TextFieldProps
  extends FieldWords,
    Omit<InputProps, 'label' | 'id' | 'role' | 'type' | 'children' | 'onInput'> {
  readonly type?:
    | 'text'
    | 'number'
    | 'range'
    | 'date'
    | 'datetime-local'
    | 'password'
    | 'search'
    | 'url'
  readonly onText: (text: string, input: HTMLInputElement) => void
}

export function TextField({
  label,
  hint,
  error,
  type = 'text',
  onText,
  ...attributes
}: TextFieldProps) {
  // Preact's types know each kind of input by itself; this is one of them.
  const input = { dir: 'auto', ...attributes, type } as InputProps
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...input}
          {...control}
          onInput={({ currentTarget }) => onText(currentTarget.value, currentTarget)}
        />
      )}
    </Field>
  )
}
