/** One of several, chosen from a list. */
import type { SelectHTMLAttributes } from 'preact'
import { Field, type FieldWords } from './field.tsx'

interface SelectFieldProps
  extends FieldWords,
    Omit<
      SelectHTMLAttributes<HTMLSelectElement>,
      'label' | 'id' | 'role' | 'children' | 'onChange'
    > {
  /** Each with its words, or alone where it is its own word. */
  readonly options: Iterable<string | number | readonly [value: string, words: string]>
  readonly onChoose: (value: string) => void
}

export function SelectField({
  label,
  hint,
  error,
  options,
  onChoose,
  ...select
}: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <select
          {...select}
          {...control}
          onChange={({ currentTarget }) => onChoose(currentTarget.value)}
        >
          {Array.from(options, (option) => {
            const [value, words] = typeof option === 'object' ? option : [option, option]
            return (
              <option key={value} value={value}>
                {words}
              </option>
            )
          })}
        </select>
      )}
    </Field>
  )
}
