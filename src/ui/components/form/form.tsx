/** A form that sends itself: input stays, and a failure is shown above its button. */
import type { ComponentChildren, FormHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../button.tsx'
import { Dialog } from '../dialog.tsx'
import { Failure } from '../failure.tsx'
import { useAction } from '../resource.ts'

interface FormProps extends Omit<FormHTMLAttributes, 'action' | 'label' | 'onSubmit'> {
  /** The verb on the button: `Create`. */
  readonly verb: string
  readonly look?: string
  /** Some required input is missing that no field can require by itself. */
  readonly isIncomplete?: boolean
  /** @returns once it is sent; an error it throws is shown */
  readonly onSend: () => Promise<void>
  /** More buttons. */
  readonly beside?: ComponentChildren
}

export function Form(props: FormProps) {
  const { verb, look = 'primary', isIncomplete = false, onSend, beside, children, ...form } = props
  const { act, failure, isBusy } = useAction()
  return (
    <form
      class="stack"
      {...form}
      onSubmit={(event) => {
        event.preventDefault()
        void act(onSend)
      }}
    >
      {children}
      {failure && <Failure error={failure} />}
      <div class="row">
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

interface FormDialogProps {
  readonly title: string
  /** The verb on the button: `Create`. */
  readonly verb: string
  readonly size?: 'plain' | 'wide'
  /** A choice is missing that no field can require by itself. */
  readonly isIncomplete?: boolean
  /** Sends it, and closes the window then. */
  readonly onSubmit: () => Promise<void>
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A window with a form. Its input stays while it is sent and when that fails; it then shows the failure. */
export function FormDialog(props: FormDialogProps) {
  const { title, verb, size = 'plain', isIncomplete = false, onSubmit, onClose, children } = props
  const { act, failure, isBusy } = useAction()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    void act(onSubmit)
  }
  return (
    <Dialog title={title} size={size} onClose={onClose} staysOnClickBeside>
      <form class="stack" onSubmit={submit}>
        {children}
        {failure && <Failure error={failure} />}
        <div class="row end">
          <Button label="Cancel" onClick={onClose} />
          <Button
            type="submit"
            look="primary"
            label={verb}
            disabled={isIncomplete}
            aria-disabled={isBusy}
          />
        </div>
      </form>
    </Dialog>
  )
}

/** The values typed into a form's fields, by name. */
export function useFields<T extends Readonly<Record<string, string>>>(empty: T) {
  const [typed, setTyped] = useState(empty)
  const bind = (name: keyof T) => ({
    value: typed[name] ?? '',
    onText: (text: string) => setTyped((before) => ({ ...before, [name]: text })),
  })
  return { typed, bind, clear: () => setTyped(empty) }
}
