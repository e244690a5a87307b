/** The frame around every view: the navigation, messages, the login, and the state of the server. */
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../api/catalog.ts'
import { isLost, isOutdated, reconnections, watchConnection } from '../api/connection.ts'
import { enter, logIn, logOut } from '../api/login.ts'
import { ApiError, asError } from '../api/request.ts'
import { account, loginState, may } from '../api/session.ts'
import { Button, Icon } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { EmptyState, Failure } from '../components/failure.tsx'
import { Field } from '../components/form/field.tsx'
import { awaitHeading } from '../components/heading-focus.ts'
import { PageHeader } from '../components/page-header.tsx'
import { isForWriting } from './addresses.ts'
import { EVERYWHERE, Keyboard, useShortcuts } from './keyboard.tsx'
import { Navigation } from './navigation.tsx'
import { Notices, tellFailed } from './notices.tsx'
import { Palette } from './palette.tsx'
import { ThemeButton, TopBar, useMenu } from './top-bar.tsx'

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

/** Reports that the server does not answer, and when it comes back in another version. */
function ConnectionBanner() {
  return (
    <>
      {isLost.value && (
        <p class="connection-banner" role="alert">
          <Icon name="warning" />
          The server does not answer. Nothing that you typed is lost; this page continues as soon as
          it is back.
        </p>
      )}
      {isOutdated.value && !isLost.value && (
        <div class="connection-banner newer" role="status">
          <Icon name="download" />
          <span class="grow">
            The server was updated. Reload the page when it suits you; what you have not saved is
            lost then.
          </span>
          <Button look="small" label="Reload" onClick={() => location.reload()} />
        </div>
      )}
    </>
  )
}

/** Addresses that show a state and allow to change it. */
const WITH_FORMS = /^\/projects\/[^/]+\/(knowledge_bases|agents)\/[^/]+\/settings$/

/** Tells read-only users before they type anything, and names who may make changes. */
function WriteGuard(props: { readonly path: string; readonly children: ComponentChildren }) {
  const { path, children } = props
  if (may('write')) return <>{children}</>
  if (isForWriting(path)) {
    return (
      <>
        <PageHeader title="Not for your account" above={[{ label: 'Home', href: '/' }]} />
        <EmptyState icon="key" title="You may look, not change">
          <p>Editors and admins add and create. The server's administrator can make you one.</p>
        </EmptyState>
      </>
    )
  }
  if (!WITH_FORMS.test(path)) return <>{children}</>
  return (
    <>
      <p class="connection-banner newer" role="note">
        You may look at these settings, not change them: that is for editors and admins.
      </p>
      <fieldset class="only-shown" disabled>
        <legend class="visually-hidden">Settings</legend>
        {children}
      </fieldset>
    </>
  )
}

/**
 * Shows, by login: the page, the page with a login window over it, or only the login. Until that is
 * known, its children are not shown.
 */
function LoginGate({ children }: { readonly children: ComponentChildren }) {
  const state = loginState.value
  if (state === 'needed') return <LoginPage />
  return (
    <>
      {children}
      {state === 'expired' && <LoginAgain />}
    </>
  )
}

function LoginPage() {
  useEffect(() => {
    document.title = 'Log in · Eider'
  }, [])
  return (
    <main class="login-page" id="view">
      <div class="login-box">
        <h1>
          <img src="/favicon.ico" alt="" width="40" height="40" />
          Eider
        </h1>
        <LoginForm />
        <footer class="row">
          <a class="small" href="/docs">
            Documentation
          </a>
          <span class="grow" />
          <ThemeButton />
        </footer>
      </div>
    </main>
  )
}

/** Over the current view, which stays: waiting requests continue afterwards. */
function LoginAgain() {
  const here = account.value
  const leave = () => {
    logOut().catch(tellFailed)
  }
  return (
    <Dialog title="Log in again" staysOnClickBeside>
      <p class="quiet">
        Your login has expired. What you typed is still here and is sent once you log in again. If
        another user logs in, the page starts fresh for them.
      </p>
      <LoginForm username={here?.kind === 'user' ? here.name : ''} />
      <Button look="quiet" label="Sign out and discard what was typed" onClick={leave} />
    </Dialog>
  )
}

/** Asks for name and password. Input stays after a failure. */
function LoginForm({ username = '' }: { readonly username?: string }) {
  const [failure, setFailure] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    fieldOf(form.current, username === '' ? 'username' : 'password')?.focus()
  }, [])
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (form.current === null || isBusy) return
    const typed = new FormData(form.current)
    setIsBusy(true)
    setFailure(undefined)
    try {
      await logIn(String(typed.get('username')), String(typed.get('password')))
    } catch (error) {
      setFailure(inWords(error, String(typed.get('password'))))
      setIsBusy(false)
      const password = fieldOf(form.current, 'password')
      password?.focus()
      password?.select()
    }
  }
  return (
    <form class="stack" ref={form} onSubmit={submit}>
      <Field label="Name">
        {(control) => (
          <input
            {...control}
            name="username"
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
            defaultValue={username}
            required
          />
        )}
      </Field>
      <Field label="Password">
        {(control) => (
          <input
            {...control}
            name="password"
            type="password"
            autocomplete="current-password"
            required
          />
        )}
      </Field>
      {failure && <Failure error={failure} />}
      <Button
        type="submit"
        look="primary"
        label={isBusy ? 'Logging in …' : 'Log in'}
        aria-disabled={isBusy}
      />
    </form>
  )
}

function fieldOf(form: HTMLFormElement | null, name: string): HTMLInputElement | null {
  const field = form?.elements.namedItem(name)
  return field instanceof HTMLInputElement ? field : null
}

function inWords(error: unknown, password: string): Error {
  if (!(error instanceof ApiError)) return asError(error)
  const isKey = error.code === 'wrong_credentials' && password.startsWith(KEY_START)
  const words = isKey ? KEY_WORDS : WORDS[error.code]
  return words === undefined ? error : new ApiError({ ...error, ...words })
}

/** Prefix of API keys. */
const KEY_START = 'eider_'

const KEY_WORDS = {
  title: 'This is a key',
  message: 'Keys are for programs. People log in with their name and password',
}

const WORDS: Readonly<Record<string, { readonly title: string; readonly message: string }>> = {
  wrong_credentials: {
    title: 'Name or password is wrong',
    message: 'Capital letters matter in both. An admin of this server can set a new password',
  },
  too_many_logins: {
    title: 'Too many attempts',
    message: 'Wait a minute, then try again',
  },
}
