/** Asks before something is gone for good. It stays open until it is done, and shows why it could not be. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button, type ButtonProps } from './button.tsx'
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

interface ConfirmButtonProps extends Omit<ConfirmDialogProps, 'onClose' | 'title' | 'verb'> {
  /** The question: `Delete teas?`. */
  readonly asks: string
  /** Of the button in the dialog; missing: that of this one. */
  readonly verb?: string
}

/** A button that asks before it does what it says. */
export function ConfirmButton(props: ConfirmButtonProps & Omit<ButtonProps, 'children'>) {
  const { asks, verb = props.label ?? 'Delete', onConfirm, children, ...button } = props
  const [isAsking, setIsAsking] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setIsAsking(true)} />
      {isAsking && (
        <ConfirmDialog title={asks} {...{ verb, onConfirm }} onClose={() => setIsAsking(false)}>
          {children}
        </ConfirmDialog>
      )}
    </>
  )
}
