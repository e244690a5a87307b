/** A window with a form. What was typed stays while it is sent, and when that fails, which it says. */
import type { ComponentChildren } from 'preact'
import { Button } from '../button.tsx'
import { Dialog } from '../dialog.tsx'
import { Failure } from '../failure.tsx'
import { useAction } from '../resource.ts'

interface FormDialogProps {
  readonly title: string
  /** The verb on the button: `Create`. */
  readonly verb: string
  readonly size?: 'plain' | 'wide'
  /** Something has to be chosen yet that no field can ask for by itself. */
  readonly isIncomplete?: boolean
  /** Sends it, and closes the window then. */
  readonly onSubmit: () => Promise<void>
  readonly onClose: () => void
  readonly children: ComponentChildren
}

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
