/** Asks before something is gone for good. Nobody closes it while it is done: it shows why it could not be. */
import type { ComponentChildren } from 'preact'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'
import { useAction } from './resource.ts'

interface ConfirmDialogProps {
  readonly title: string
  /** What will be gone. */
  readonly children: ComponentChildren
  /** The verb on the button: `Delete`. */
  readonly verb: string
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

export function ConfirmDialog({ title, children, verb, onConfirm, onClose }: ConfirmDialogProps) {
  const { act, failure, isBusy } = useAction()
  const confirm = async () => {
    await act(async () => {
      await onConfirm()
      onClose()
    })
  }
  return (
    <Dialog title={title} {...(isBusy ? {} : { onClose })}>
      <div class="stack">
        <div>{children}</div>
        {failure && <Failure error={failure} />}
        <div class="row end">
          <Button label="Cancel" aria-disabled={isBusy} onClick={() => !isBusy && onClose()} />
          <Button look="danger" label={verb} aria-disabled={isBusy} onClick={confirm} />
        </div>
      </div>
    </Dialog>
  )
}
