/** A modal dialog. Escape or a click outside closes it, and the focus returns to where it was. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { request } from '../api/request.ts'
import { focusHeadingOnceLost } from './after-navigation.ts'
import { Button, type ButtonProps } from './button.tsx'
import { Failure } from './failure.tsx'
import { useAction } from './resource.ts'

const FIELDS = 'input:not([type="checkbox"], [type="radio"], [type="file"]), select, textarea'

interface DialogProps {
  readonly title: string
  /** If missing, the user cannot close the dialog. */
  readonly onClose?: () => void
  readonly children: ComponentChildren
  /** `wide` is for tables and previews. */
  readonly size?: 'plain' | 'wide'
  /** Whether a click outside leaves the dialog open, so that input is not lost by accident. */
  readonly staysOnClickBeside?: boolean
}

export function Dialog(props: DialogProps) {
  const { title, onClose, children, size = 'plain', staysOnClickBeside } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  // Before the next frame, so that a key pressed right away is not lost.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    // If the dialog has input, the first field gets the focus.
    element?.querySelector<HTMLElement>(FIELDS)?.focus()
    return () => {
      element?.close()
      // The element that opened the dialog may have disappeared, such as the row of a deleted
      // record.
      requestAnimationFrame(() => requestAnimationFrame(focusHeadingOnceLost))
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={`dialog ${size}`}
      aria-labelledby={titleId}
      onKeyDown={(event) => {
        // Prevents `cancel` too, which browsers let a page prevent only once.
        if (event.key === 'Escape' && onClose === undefined) event.preventDefault()
      }}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      onClose={() => {
        // The back gesture of a phone closes it, even if the page prevents it once.
        if (onClose === undefined && dialog.current?.isConnected) dialog.current.showModal()
      }}
      onClick={(event) => {
        if (event.target === dialog.current && !staysOnClickBeside) onClose?.()
      }}
    >
      <div class="stack dialog-content">
        <header class="row">
          <h2 id={titleId} class="grow">
            {title}
          </h2>
          {onClose && (
            <Button look="icon-only quiet" icon="close" aria-label="Close" onClick={onClose} />
          )}
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** A button that opens a dialog. */
export function DialogButton(
  props: Omit<ButtonProps, 'onClick' | 'children'> & {
    readonly children: (close: () => void) => ComponentChildren
  },
) {
  const { children, ...button } = props
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setIsOpen(true)} />
      {isOpen && children(() => setIsOpen(false))}
    </>
  )
}

/** A button whose work may fail, which is then shown beside it. */
export function ActionButton(
  props: Omit<ButtonProps, 'onClick'> & { readonly work: () => Promise<unknown> },
) {
  const { work, ...button } = props
  const { act, failure, isBusy } = useAction()
  return (
    <>
      <Button {...button} aria-disabled={isBusy} onClick={() => act(work)} />
      {failure && <Failure error={failure} />}
    </>
  )
}

/** A button that tries something, and says beside it how that went. */
export function TryButton(
  props: Omit<ButtonProps, 'onClick'> & {
    /** @throws Error what went wrong @returns words for success */
    readonly attempt: () => Promise<string>
  },
) {
  const { attempt, ...button } = props
  const { act, failure, isBusy } = useAction()
  const [success, setSuccess] = useState('')
  const run = () => {
    setSuccess('')
    return act(async () => setSuccess(await attempt()))
  }
  return (
    <>
      <Button {...button} aria-disabled={isBusy} onClick={run} />
      <span class={`small ${failure ? 'bad' : 'good'}`} role="status">
        {isBusy ? 'Waiting for an answer …' : (failure?.message ?? success)}
      </span>
    </>
  )
}

interface ConfirmDialogProps {
  readonly title: string
  /** Describes what will be deleted. */
  readonly children: ComponentChildren
  /** The verb on the button, such as `Delete`. */
  readonly verb: string
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

/** Before permanent deletion. Stays open until that is done, or shows why it failed. */
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
  readonly asks: string
  /** The label of the dialog's button; by default the same as this button's. */
  readonly verb?: string
}

export function ConfirmButton(props: ConfirmButtonProps & Omit<ButtonProps, 'children'>) {
  const { asks, verb = props.label ?? 'Delete', onConfirm, children, ...button } = props
  return (
    <DialogButton {...button}>
      {(onClose) => <ConfirmDialog title={asks} {...{ verb, onConfirm, onClose, children }} />}
    </DialogButton>
  )
}

interface RemoveButtonProps extends Omit<ConfirmButtonProps, 'asks' | 'onConfirm'> {
  readonly verb: string
  /** What is removed, by its name. */
  readonly name: string
  /** The address of the request that removes it. */
  readonly address: string
  readonly onDone: () => void
}

/** Removes a record with one request. Without an icon, the button shows the verb. */
export function RemoveButton(props: RemoveButtonProps & Pick<ButtonProps, 'icon'>) {
  const { verb, name, address, onDone, icon, children } = props
  return (
    <ConfirmButton
      {...(icon ? { look: 'small icon-only quiet', icon } : { look: 'small', label: verb })}
      verb={verb}
      aria-label={`${verb} ${name}`}
      asks={`${verb} ${name}?`}
      onConfirm={() => request<void>(address, { method: 'DELETE' }).then(onDone)}
    >
      <p>{children}</p>
    </ConfirmButton>
  )
}
