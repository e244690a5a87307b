/** Navigation moves the focus to the new view's heading: keys continue there, and screen readers announce it. */
import { signal } from '@preact/signals'

const isAwaited = signal(false)

/** The next view takes the focus. */
export function awaitHeading(): void {
  isAwaited.value = true
}

/** Called by a new heading. A view that focused something itself keeps that focus. */
export function takesFocus(heading: HTMLElement | null): void {
  if (!isAwaited.peek()) return
  isAwaited.value = false
  const { activeElement } = document
  const isElsewhere = activeElement?.closest('main, dialog[open]') ?? null
  if (isElsewhere === null || activeElement?.id === 'view') heading?.focus({ preventScroll: true })
}

/**
 * The focused element may vanish now or a moment later, for example the row of a deleted record once its list reloads. Keys
 * then continue from the heading, not from the top of the page.
 */
export function focusHeadingOnceLost(): void {
  focusHeadingIfLost()
  const held = document.activeElement
  if (held === null) return
  const watch = new MutationObserver(() => {
    if (held.isConnected) return
    stop()
    focusHeadingIfLost()
  })
  const stop = () => {
    watch.disconnect()
    document.removeEventListener('focusin', stop)
  }
  document.addEventListener('focusin', stop)
  watch.observe(document.body, { childList: true, subtree: true })
}

function focusHeadingIfLost(): void {
  const { activeElement, body } = document
  if (activeElement !== null && activeElement !== body) return
  if (document.querySelector('dialog[open]') !== null) return
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
}
