/** What stands around every view: the navigation, messages, the login, and the state of the server. */
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../api/catalog.ts'
import { reconnections } from '../api/connection.ts'
import type { ServerStatus } from '../api/records.ts'
import { request } from '../api/request.ts'
import { loginState } from '../api/session.ts'
import { Failure } from '../components/failure.tsx'
import { awaitHeading } from '../components/heading-focus.ts'
import { ConnectionBanner } from './connection-banner.tsx'
import { EVERYWHERE, Keyboard, useShortcuts } from './keyboard.tsx'
import { LoginGate } from './login-gate.tsx'
import { Navigation } from './navigation.tsx'
import { Notices, tellFailed } from './notices.tsx'
import { Palette } from './palette.tsx'
import { TopBar, useMenu } from './top-bar.tsx'

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { route, path } = useLocation()
  const back = reconnections.value
  const menu = useMenu()
  useEffect(() => {
    enter().catch(tellFailed)
  }, [back])
  const isFirst = useRef(true)
  useLayoutEffect(() => {
    if (!isFirst.current) awaitHeading()
    isFirst.current = false
  }, [path])
  const goTo = [
    { keys: 'g h', does: 'Go home', run: () => route('/') },
    { keys: 'g s', does: 'Go to SQL', run: () => route('/sql') },
    { keys: 'g o', does: 'Go to operations', run: () => route('/operations') },
  ]
  useShortcuts(goTo, EVERYWHERE)
  return (
    <div class="shell">
      <a class="skip" href="#view">
        To the content
      </a>
      <TopBar menu={menu} />
      <div id="side-bar" class={`side-bar ${menu.isOpen ? 'open' : ''}`}>
        <Navigation />
      </div>
      <main id="view" tabIndex={-1} inert={menu.isOpen}>
        <ConnectionBanner />
        <Guarded key={path}>{children}</Guarded>
      </main>
      <Notices />
      <Keyboard />
      <Palette />
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
