/** Several lines that are typed. */
import type { TextareaHTMLAttributes } from 'preact'
import { Field, type FieldWords } from './field.tsx'

interface TextAreaFieldProps
  extends FieldWords,
    Omit<
      TextareaHTMLAttributes<HTMLTextAreaElement>,
      'label' | 'id' | 'role' | 'children' | 'onInput'
    > {
  readonly onText: (text: string) => void
}

export function TextAreaField({ label, hint, error, onText, ...area }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <textarea
          dir="auto"
          {...area}
          {...control}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      )}
    </Field>
  )
}
