/** A control with its label, hint and error message. */
import type {
  ComponentChildren,
  InputHTMLAttributes,
  SelectHTMLAttributes,
  TextareaHTMLAttributes,
} from 'preact'
import { useId } from 'preact/hooks'

/** The texts around a control. */
interface FieldWords {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
}

export function Field(
  props: FieldWords & {
    readonly children: (control: {
      readonly id: string
      readonly 'aria-describedby': string
      readonly 'aria-invalid': boolean
    }) => ComponentChildren
  },
) {
  const { label, hint, error, children } = props
  const id = useId()
  const about = `${id}-about`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': about, 'aria-invalid': Boolean(error) })}
      <div id={about} class="small">
        {error ? (
          <span class="bad" role="alert">
            {error}
          </span>
        ) : (
          <span class="quiet">{hint}</span>
        )}
      </div>
    </div>
  )
}

/** The attributes of a control, without those that its field sets. */
type Labelled<Attributes, Own extends string> = FieldWords &
  Omit<Attributes, 'label' | 'id' | 'role' | 'children' | Own>

interface SelectFieldProps extends Labelled<SelectHTMLAttributes<HTMLSelectElement>, 'onChange'> {
  /** Values with their labels. A value without a label is shown as it is. */
  readonly options: Iterable<string | number | readonly [value: string, words: string]>
  readonly onChoose: (value: string) => void
}

export function SelectField(props: SelectFieldProps) {
  const { label, hint, error, options, onChoose, ...select } = props
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

type InputProps = InputHTMLAttributes<HTMLInputElement>

interface TextFieldProps extends Labelled<InputProps, 'type' | 'onInput'> {
  readonly type?:
    | 'text'
    | 'number'
    | 'range'
    | 'date'
    | 'datetime-local'
    | 'password'
    | 'search'
    | 'url'
  readonly onText?: (text: string, input: HTMLInputElement) => void
}

export function TextField(props: TextFieldProps) {
  const { label, hint, error, type = 'text', onText, ...attributes } = props
  // Preact has a type for each kind of input, but cannot tell which one fits; the cast is safe.
  const input = { dir: 'auto', ...attributes, type } as InputProps
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...input}
          {...control}
          onInput={({ currentTarget }) => onText?.(currentTarget.value, currentTarget)}
        />
      )}
    </Field>
  )
}

interface TextAreaFieldProps
  extends Labelled<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onInput'> {
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

/** A field in a row, without a label above it. */
export function SearchInput(props: {
  readonly label: string
  readonly placeholder?: string
  readonly value: string
  readonly onText: (text: string) => void
  readonly onKeyDown?: (event: KeyboardEvent) => void
}) {
  const { label, placeholder = label, value, onText, onKeyDown } = props
  return (
    <input
      class="grow"
      type="search"
      aria-label={label}
      dir="auto"
      {...{ placeholder, value, onKeyDown }}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
    />
  )
}

interface CheckProps {
  readonly type?: 'checkbox' | 'radio'
  /** The group of radio buttons it belongs to. */
  readonly name?: string
  readonly checked: boolean
  readonly disabled?: boolean
  readonly onCheck: (isChecked: boolean) => void
  readonly children: ComponentChildren
}

export function Check({ type = 'checkbox', onCheck, children, ...state }: CheckProps) {
  // Preact has a type for each kind of input, but cannot tell which one fits; the cast is safe.
  const input = { ...state, type } as InputHTMLAttributes
  return (
    <label class="check">
      <input {...input} onChange={({ currentTarget }) => onCheck(currentTarget.checked)} />
      {children}
    </label>
  )
}
