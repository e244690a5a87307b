/** The bar at the top, and the navigation, which a narrow window shows as a menu. */

import { effect, signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { hasKept, logOut } from '../api/login.ts'
import { type Account, account, loginState, roleOf } from '../api/session.ts'
import { remember, remembered } from '../components/browser-storage.ts'
import { Button, Icon } from '../components/button.tsx'
import { ConfirmDialog } from '../components/dialog.tsx'
import { tellFailed } from './notices.tsx'
import { openPalette, PALETTE_KEYS } from './palette.tsx'

export function TopBar() {
  return (
    <header class="top-bar">
      <Button
        look="quiet icon-only menu-button"
        icon="menu"
        aria-label="Menu"
        popovertarget="side-bar"
      />
      <a class="brand" href="/">
        <img src="/favicon.ico" alt="" width="24" height="24" />
        <span class="brand-name">Eider</span>
      </a>
      <span class="grow" />
      <Button look="quiet" icon="search" title={`Go to (${PALETTE_KEYS})`} onClick={openPalette}>
        <span class="wide-words">
          Go to <kbd>{PALETTE_KEYS}</kbd>
        </span>
      </Button>
      <a class="button quiet" href="/docs">
        <Icon name="book" />
        <span class="wide-words">Documentation</span>
      </a>
      <ThemeButton />
      {account.value && loginState.value !== 'off' && <AccountMenu here={account.value} />}
    </header>
  )
}

/** The same width as in shell-layout.css. In wider windows, the navigation is beside the view. */
const NARROW = '(max-width: 50rem)'

/** The navigation, a popover in a narrow window. Following a link closes it. */
export function SideBar({ children }: { readonly children: ComponentChildren }) {
  const { url } = useLocation()
  const bar = useRef<HTMLDivElement>(null)
  const close = () => bar.current?.hidePopover()
  // Before the next frame, so that a menu opened right afterwards stays open.
  useLayoutEffect(close, [url])
  useEffect(() => {
    const narrow = matchMedia(NARROW)
    narrow.addEventListener('change', close)
    return () => narrow.removeEventListener('change', close)
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: links bring their keys
    <div
      ref={bar}
      id="side-bar"
      class="side-bar"
      popover="auto"
      onClick={({ target }) => {
        // A link to the current view does not change the address.
        if (target instanceof Element && target.closest('a') !== null) close()
      }}
    >
      {children}
    </div>
  )
}

function AccountMenu({ here }: { readonly here: Account }) {
  const { route } = useLocation()
  const menu = useRef<HTMLDivElement>(null)
  const [isLeaving, setIsLeaving] = useState(false)
  const leave = () => {
    menu.current?.hidePopover()
    if (hasKept()) setIsLeaving(true)
    else logOut().catch(tellFailed)
  }
  const changePassword = () => {
    menu.current?.hidePopover()
    route('/operations/access')
  }
  return (
    <>
      <Button look="quiet" icon="user" popovertarget="account-menu">
        <bdi class="wide-words account-name one-line">{here.name}</bdi>
        <span class="visually-hidden">Account</span>
      </Button>
      <div id="account-menu" class="panel list account-menu" popover="auto" ref={menu}>
        <p>
          <strong>{here.name}</strong>{' '}
          <span class="badge">{here.kind === 'user' ? roleOf(here) : here.kind}</span>
        </p>
        {here.projects !== null && (
          <p class="small quiet">Only {here.projects.join(', ') || 'no projects'}</p>
        )}
        {here.kind === 'user' && here.id !== '0' && (
          <Button icon="key" label="Change password" onClick={changePassword} />
        )}
        <Button icon="leave" label="Sign out" onClick={leave} />
      </div>
      {isLeaving && (
        <ConfirmDialog
          title="Sign out?"
          verb="Sign out"
          onConfirm={logOut}
          onClose={() => setIsLeaving(false)}
        >
          <p>
            This browser deletes your statements, drafts and history that are not saved on the
            server.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

type Theme = 'system' | 'light' | 'dark'

const KEY = 'eider.theme'
const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const
const WORDS = { system: 'system setting', light: 'light', dark: 'dark' }

const theme = signal<Theme>(themeOf(remembered(KEY)))

effect(() => {
  document.documentElement.dataset.theme = theme.value
})
// Applies a change made in another window.
window.addEventListener('storage', ({ key, newValue }) => {
  if (key === KEY) theme.value = themeOf(newValue)
})

function themeOf(stored: string | null): Theme {
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

function changeTheme(): void {
  theme.value = NEXT[theme.value]
  remember(KEY, theme.value)
}

export function ThemeButton() {
  const now = theme.value
  return (
    <Button
      look="quiet icon-only"
      icon={now === 'dark' ? 'moon' : now === 'light' ? 'sun' : 'contrast'}
      aria-label={`Colours: ${WORDS[now]}. Change to ${WORDS[NEXT[now]]}`}
      title={`Colours: ${WORDS[now]}`}
      onClick={changeTheme}
    />
  )
}
