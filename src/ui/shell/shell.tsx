/** What stands around every view: the navigation, messages, the login, and the state of the server. */
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../api/catalog.ts'
import { reconnections, watchConnection } from '../api/connection.ts'
import { enter } from '../api/login.ts'
import { ApiError, asError } from '../api/request.ts'
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
import { WriteGuard } from './write-guard.tsx'

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { route, path } = useLocation()
  const back = reconnections.value
  const menu = useMenu()
  const isIn = loginState.value === 'on' || loginState.value === 'off'
  useEffect(watchConnection, [])
  useEffect(() => {
    enter().catch(tellUnlessAway)
  }, [back])
  useEffect(() => {
    if (isIn) refreshCatalog().catch(tellUnlessAway)
  }, [back, isIn])
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
    <LoginGate>
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
          {loginState.value !== 'unknown' && (
            <Guarded key={path}>
              <WriteGuard path={path}>{children}</WriteGuard>
            </Guarded>
          )}
        </main>
        <Notices />
        <Keyboard />
        <Palette />
      </div>
    </LoginGate>
  )
}

/** A bug in one view leaves the navigation as it is. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [failure, forget] = useErrorBoundary()
  if (failure === undefined) return <>{children}</>
  return <Failure error={asError(failure)} onRetry={forget} />
}

/** The banner says that the server is away. */
function tellUnlessAway(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 'unreachable') tellFailed(error)
}
