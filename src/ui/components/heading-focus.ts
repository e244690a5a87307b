/**
 * After navigation, the new view's heading gets the focus: the keyboard continues there, and screen
 * readers announce it.
 */
import { signal } from '@preact/signals'

const isAwaited = signal(false)

export function awaitHeading(): void {
  isAwaited.value = true
}

/** Called by a new heading. If the view has already focused something, that keeps the focus. */
export function takesFocus(heading: HTMLElement | null): void {
  if (!isAwaited.peek()) return
  isAwaited.value = false
  const { activeElement } = document
  const isElsewhere = activeElement?.closest('main, dialog[open]') ?? null
  if (isElsewhere === null || activeElement?.id === 'view') heading?.focus({ preventScroll: true })
}

/** If the focused element will disappear: continues at the heading, not at the top. */
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
