/** A form. If sending fails, the input stays and the failure is shown above the button. */
import type { ComponentChildren, FormHTMLAttributes } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Button } from '../button.tsx'
import { Dialog } from '../dialog.tsx'
import { Failure } from '../failure.tsx'
import { useAction } from '../resource.ts'
import { Check, SelectField, TextField } from './field.tsx'

interface FormProps extends Omit<FormHTMLAttributes, 'action' | 'label' | 'onSubmit'> {
  /** The verb on the button, such as `Create`. */
  readonly verb: string
  readonly look?: string
  /** Whether required input is missing that no single field can require. */
  readonly isIncomplete?: boolean
  /** Resolves once the form is sent; errors are shown in the form. */
  readonly onSend: () => Promise<void>
  readonly beside?: ComponentChildren
  /** Set in a dialog, where the buttons are at the end. */
  readonly onCancel?: () => void
}

export function Form(props: FormProps) {
  const { verb, look = 'primary', isIncomplete = false, onSend, beside, onCancel, ...form } = props
  const { children, ...attributes } = form
  const { act, failure, isBusy } = useAction()
  return (
    <form
      class="stack"
      {...attributes}
      onSubmit={(event) => {
        event.preventDefault()
        void act(onSend)
      }}
    >
      {children}
      {failure && <Failure error={failure} />}
      <div class={onCancel ? 'row end' : 'row'}>
        {onCancel && <Button label="Cancel" onClick={onCancel} />}
        <Button
          type="submit"
          look={look}
          label={verb}
          disabled={isIncomplete}
          aria-disabled={isBusy}
        />
        {beside}
      </div>
    </form>
  )
}

interface FormDialogProps extends Pick<FormProps, 'verb' | 'look' | 'isIncomplete' | 'children'> {
  readonly title: string
  readonly size?: 'plain' | 'wide'
  readonly onSubmit: () => Promise<void>
  readonly onClose: () => void
}

/** Closed once it is sent. After a failure, which it shows, the input stays. */
export function FormDialog(props: FormDialogProps) {
  const { title, size = 'plain', onSubmit, onClose, ...form } = props
  return (
    <Dialog title={title} size={size} onClose={onClose} staysOnClickBeside>
      <Form {...form} onSend={() => onSubmit().then(onClose)} onCancel={onClose} />
    </Dialog>
  )
}

export function useFields<T extends Readonly<Record<string, string>>>(empty: T) {
  const [typed, setTyped] = useState(empty)
  const bind = (name: keyof T) => ({
    value: typed[name] ?? '',
    onText: (text: string) => setTyped((before) => ({ ...before, [name]: text })),
  })
  return { typed, bind, clear: () => setTyped(empty) }
}

/** Each field's value as text: a number as digits, a checkbox as `yes` or empty. */
export type Values = Readonly<Record<string, string>>

export interface InputField {
  readonly name: string
  readonly label: string
  readonly kind?: 'text' | 'number' | 'password' | 'url' | 'date' | 'search' | 'check'
  /** The values to choose from. */
  readonly options?: readonly (readonly [string, string])[] | undefined
  readonly hint?: string | undefined
  readonly error?: string | undefined
  readonly placeholder?: string
  readonly min?: number
  readonly max?: number
  readonly step?: number
  readonly isRequired?: boolean
  /** The text shown for an empty value. */
  readonly empty?: string
}

/** The valid values of these fields that are not empty, such as from an address. */
export function givenOf(fields: readonly InputField[], values: Values): Values {
  return Object.fromEntries(
    fields.flatMap(({ name, kind, min = 0, max = Number.POSITIVE_INFINITY }) => {
      const value = values[name]
      if (!value) return []
      const isValid = kind !== 'number' || (Number(value) >= min && Number(value) <= max)
      return isValid ? [[name, value]] : []
    }),
  )
}

/** Fields side by side, with their values by name. */
export function Inputs(props: {
  readonly fields: readonly InputField[]
  readonly values: Values
  readonly onChange: (values: Values) => void
  readonly class?: string
  readonly children?: ComponentChildren
}) {
  const { fields, values, onChange, class: look = 'grid', children } = props
  /** Programs may fill several fields before the next drawing. */
  const latest = useRef(values)
  latest.current = values
  return (
    <div class={look}>
      {fields.map((field) => (
        <Input
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => {
            latest.current = { ...latest.current, [field.name]: value }
            onChange(latest.current)
          }}
        />
      ))}
      {children}
    </div>
  )
}

function Input(props: {
  readonly field: InputField
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  const { field, value, onChange } = props
  const { label, kind = 'text', options, hint, error, placeholder = '' } = field
  if (options !== undefined) {
    return <SelectField {...{ label, hint, error, value, options }} onChoose={onChange} />
  }
  if (kind === 'check') {
    return (
      <Check checked={value !== ''} onCheck={(isChecked) => onChange(isChecked ? 'yes' : '')}>
        {label}
      </Check>
    )
  }
  const { min, max, step, isRequired = false } = field
  return (
    <TextField
      {...{ label, hint, error, placeholder, min, max, step, value }}
      type={kind}
      required={isRequired}
      autocomplete={kind === 'password' ? 'new-password' : 'off'}
      onText={onChange}
    />
  )
}
