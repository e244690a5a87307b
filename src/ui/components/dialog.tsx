/** A window over the page: Escape and a click beside it close it, and the focus goes back where it was. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from './button.tsx'
import { focusHeadingOnceLost } from './heading-focus.ts'

const FIELDS = 'input:not([type="checkbox"], [type="radio"], [type="file"]), select, textarea'

interface DialogProps {
  readonly title: string
  /** Without it, nobody closes it. */
  readonly onClose?: () => void
  readonly children: ComponentChildren
  /** `wide`: for tables and previews. */
  readonly size?: 'plain' | 'wide'
  /** Something was typed that a stray click must not lose. */
  readonly staysOnClickBeside?: boolean
}

export function Dialog({
  title,
  onClose,
  children,
  size = 'plain',
  staysOnClickBeside,
}: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  // Before the next frame, so that a key pressed right after is not lost.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    // Whoever opened it to type something begins at once.
    element?.querySelector<HTMLElement>(FIELDS)?.focus()
    return () => {
      element?.close()
      // What opened it may be gone as well: the row that was deleted.
      requestAnimationFrame(() => requestAnimationFrame(focusHeadingOnceLost))
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes a dialog by Escape itself
    <dialog
      ref={dialog}
      class={`dialog ${size}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      onClose={() => {
        // Pressed twice, Escape closes whatever the page says.
        if (onClose === undefined && dialog.current?.isConnected) dialog.current.showModal()
      }}
      onClick={(event) => {
        if (event.target === dialog.current && !staysOnClickBeside) onClose?.()
      }}
    >
      <div class="dialog-content">
        <header>
          <h2 id={titleId} dir="auto">
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
