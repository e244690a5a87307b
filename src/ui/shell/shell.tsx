/** What stands around every view: the navigation, messages, the login, and the state of the server. */
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../api/catalog.ts'
import { reconnections } from '../api/connection.ts'
import type { ServerStatus } from '../api/records.ts'
import { request } from '../api/request.ts'
import { loginState } from '../api/session.ts'
import { Failure } from '../components/failure.tsx'
import { Icon } from '../components/icon.tsx'
import { ConnectionBanner } from './connection-banner.tsx'
import { Keyboard, showKeys, useShortcuts } from './keyboard.tsx'
import { LoginGate } from './login-gate.tsx'
import { Navigation } from './navigation.tsx'
import { Notices, tellFailed } from './notices.tsx'
import { ThemeButton } from './theme.tsx'

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { route, url, path } = useLocation()
  const [isMenuOpen, setIsMenuOpen] = useState(false)
  const back = reconnections.value
  useEffect(() => {
    enter().catch(tellFailed)
  }, [back])
  useEffect(() => setIsMenuOpen(false), [url])
  useShortcuts([
    { keys: 'g h', does: 'Go home', run: () => route('/') },
    { keys: 'g s', does: 'Go to SQL', run: () => route('/sql') },
    { keys: 'g o', does: 'Go to operations', run: () => route('/operations') },
  ])
  return (
    <div class="shell">
      <a class="skip" href="#view">
        To the content
      </a>
      <header class="top-bar">
        <button
          type="button"
          class="button quiet icon-only menu-button"
          aria-label="Menu"
          aria-expanded={isMenuOpen}
          onClick={() => setIsMenuOpen(!isMenuOpen)}
        >
          <Icon name="menu" />
        </button>
        <a class="brand" href="/">
          <img src="/favicon.ico" alt="" width="24" height="24" />
          Eider
        </a>
        <span class="grow" />
        <a class="button quiet" href="/docs" target="_blank" rel="noreferrer">
          <Icon name="book" />
          <span class="wide-only">Documentation</span>
        </a>
        <button
          type="button"
          class="button quiet icon-only"
          aria-label="Keys"
          title="Keys (?)"
          onClick={showKeys}
        >
          <Icon name="keyboard" />
        </button>
        <ThemeButton />
      </header>
      <div class={`side-bar ${isMenuOpen ? 'open' : ''}`}>
        <Navigation />
      </div>
      <main id="view" tabIndex={-1}>
        <ConnectionBanner />
        <Guarded key={path}>{children}</Guarded>
      </main>
      <Notices />
      <Keyboard />
      <LoginGate />
    </div>
  )
}

/** A bug in one view leaves the navigation as it is. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [failure, forget] = useErrorBoundary()
  if (failure === undefined) return <>{children}</>
  return <Failure error={asError(failure)} onRetry={forget} />
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

async function enter(): Promise<void> {
  const { auth } = await request<ServerStatus>('/api/status')
  if (!auth.http_auth_enabled) loginState.value = 'off'
  else loginState.value = auth.confirmed ? 'on' : 'needed'
  await refreshCatalog()
}
