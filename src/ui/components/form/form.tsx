/** A form. If sending fails, the input stays and the failure is shown above the button. */
import type { ComponentChildren, FormHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../button.tsx'
import { Dialog } from '../dialog.tsx'
import { Failure } from '../failure.tsx'
import { useAction } from '../resource.ts'

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

interface FormDialogProps extends Pick<FormProps, 'verb' | 'isIncomplete' | 'children'> {
  readonly title: string
  readonly size?: 'plain' | 'wide'
  readonly onSubmit: () => Promise<void>
  readonly onClose: () => void
}

/** The input stays while sent and after a failure, which is shown in the dialog. */
export function FormDialog(props: FormDialogProps) {
  const { title, size = 'plain', onSubmit, onClose, ...form } = props
  return (
    <Dialog title={title} size={size} onClose={onClose} staysOnClickBeside>
      <Form {...form} onSend={onSubmit} onCancel={onClose} />
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
