/**
 * Focus and scrolling after navigation. The new view's heading gets the focus: the keyboard
 * continues there, and screen readers announce it.
 */
import { signal } from '@preact/signals'
import { draftAt, keepDraft } from './browser-storage.ts'

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

const SCROLLED = 'eider.scrolled'
/** The user acts, so the page no longer scrolls by itself. */
const ACTIONS = ['wheel', 'touchmove', 'pointerdown', 'keydown', 'click']

/**
 * After Back, Forward and a reload, a view is scrolled as it was. Browsers only try this at once,
 * while a view still loads and is short.
 */
export function keepScrolled(): void {
  history.scrollRestoration = 'manual'
  const here = () => location.pathname + location.search
  const places = new Map<string, number>()
  let address = here()
  let [at, wanted]: [string, number | undefined] = [address, undefined]
  const want = (top: number | undefined) => {
    wanted = top
    // Otherwise, the browser scrolls too when something appears above.
    document.documentElement.style.overflowAnchor = top === undefined ? '' : 'none'
  }
  const follow = () => {
    if (wanted === undefined || at !== here()) return
    // A view that is further down has scrolled itself, such as to an answer that grows.
    if (scrollY > wanted + 1) want(undefined)
    else scrollTo({ top: wanted })
  }
  const [left = '', top] = draftAt(SCROLLED).split('\n')
  if (left === address) want(Number(top))
  addEventListener('popstate', () => {
    const isSame = address === here()
    address = here()
    if (isSame) return
    at = address
    want(places.get(address) ?? 0)
    scrollTo({ top: 0 })
    requestAnimationFrame(follow)
  })
  addEventListener('scroll', () => {
    if (wanted !== undefined && at === here()) return
    address = here()
    places.set(address, scrollY)
  })
  for (const action of ACTIONS) addEventListener(action, () => want(undefined), true)
  addEventListener('pagehide', () => keepDraft(SCROLLED, `${here()}\n${scrollY}`))
  new ResizeObserver(follow).observe(document.body)
}
