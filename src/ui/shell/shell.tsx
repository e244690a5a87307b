/** The frame around every view: navigation, messages, login, and the state of the connection. */
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ProjectContents, projects, refreshCatalog } from '../api/catalog.ts'
import { isLost, isOutdated, reconnections, watchConnection } from '../api/connection.ts'
import { enter, logIn, logOut } from '../api/login.ts'
import { ApiError, asError } from '../api/request.ts'
import { account, loginState, may } from '../api/session.ts'
import { awaitHeading } from '../components/after-navigation.ts'
import { Button, Icon, type IconName } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { EmptyState, Failure, Loading } from '../components/failure.tsx'
import { TextField } from '../components/form/field.tsx'
import { Form } from '../components/form/form.tsx'
import { shownProject } from '../components/numbers.ts'
import { PageHeader } from '../components/page-header.tsx'
import { LISTED_MAX } from '../components/record-list.tsx'
import { usePolling } from '../components/resource.ts'
import { isForWriting } from './addresses.ts'
import { Notices, tellFailed } from './notices.tsx'
import { ofProject, PALETTE_KEYS, Palette, VIEWS } from './palette.tsx'
import { SideBar, ThemeButton, TopBar } from './top-bar.tsx'

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { path } = useLocation()
  const back = reconnections.value
  const isIn = loginState.value === 'on' || loginState.value === 'off'
  useEffect(watchConnection, [])
  const [failure, setFailure] = useState<Error>()
  const come = () => {
    setFailure(undefined)
    enter().catch((error) => {
      if (loginState.value === 'unknown') setFailure(asError(error))
      else tellUnlessAway(error)
    })
  }
  useEffect(come, [back])
  useEffect(() => {
    if (isIn) refreshCatalog().catch(tellUnlessAway)
  }, [back, isIn])
  usePolling(() => {
    if (isIn) refreshCatalog().catch(() => {})
  }, 'seldom')
  const isFirst = useRef(true)
  useLayoutEffect(() => {
    if (!isFirst.current) awaitHeading()
    isFirst.current = false
  }, [path])
  return (
    <LoginGate>
      <div class="shell">
        <a class="skip" href="#view">
          Skip to content
        </a>
        <TopBar />
        <SideBar>
          <Navigation />
        </SideBar>
        <main id="view" tabIndex={-1}>
          <ConnectionBanner />
          {loginState.value !== 'unknown' ? (
            <Guarded key={path}>
              <WriteGuard path={path}>{children}</WriteGuard>
            </Guarded>
          ) : failure && !isLost.value ? (
            <Failure error={failure} onRetry={come} />
          ) : (
            <Loading what="the page" />
          )}
        </main>
        <Notices />
        <Palette />
      </div>
    </LoginGate>
  )
}

/** Keeps the navigation usable if a view crashes. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [failure, forget] = useErrorBoundary()
  if (failure === undefined) return <>{children}</>
  return <Failure error={asError(failure)} onRetry={forget} />
}

/** Shows a failure, unless the server cannot be reached, which the banner already says. */
function tellUnlessAway(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 'unreachable') tellFailed(error)
}

function ConnectionBanner() {
  return (
    <>
      {isLost.value && (
        <p class="row warning" role="alert">
          <Icon name="warning" />
          The server is not responding. Nothing that you typed is lost; this page continues as soon
          as it is back.
        </p>
      )}
      {isOutdated.value && !isLost.value && (
        <div class="row banner" role="status">
          <Icon name="download" />
          <span class="grow">
            The server was updated. Reload the page when convenient; what you have not saved is lost
            then.
          </span>
          <Button look="small" label="Reload" onClick={() => location.reload()} />
        </div>
      )}
    </>
  )
}

/** Addresses of views in which settings can be changed. */
const WITH_FORMS = /^\/projects\/[^/]+\/(knowledge_bases|agents)\/[^/]+\/settings$/

/** Warns read-only users before they type anything, and says who can make changes. */
function WriteGuard(props: { readonly path: string; readonly children: ComponentChildren }) {
  const { path, children } = props
  if (may('write')) return <>{children}</>
  if (isForWriting(path)) {
    return (
      <>
        <PageHeader title="Not for your account" above={[{ label: 'Home', href: '/' }]} />
        <EmptyState icon="key" title="You have read-only access">
          <p>
            Only editors and admins can add and create. Ask the server's administrator for that
            role.
          </p>
        </EmptyState>
      </>
    )
  }
  if (!WITH_FORMS.test(path)) return <>{children}</>
  return (
    <>
      <p class="row banner" role="note">
        You can see these settings, but only editors and admins can change them.
      </p>
      <fieldset class="only-shown" disabled>
        <legend class="visually-hidden">Settings</legend>
        {children}
      </fieldset>
    </>
  )
}

/** Or the page with a login over it. Nothing until the login state is known. */
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
    document.title = 'Sign in · Eider'
  }, [])
  return (
    <main class="login-page" id="view">
      <div class="stack login-box">
        <h1 class="row">
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

/** Shown over the current view, which stays. Waiting requests continue after signing in. */
function LoginAgain() {
  const here = account.value
  const leave = () => {
    logOut().catch(tellFailed)
  }
  return (
    <Dialog title="Sign in again" staysOnClickBeside>
      <p class="quiet">
        Your session has expired. What you typed is still here and is sent once you sign in again.
        If another user signs in, the page starts fresh for them.
      </p>
      <LoginForm username={here?.kind === 'user' ? here.name : ''} />
      <Button look="quiet" label="Sign out and discard your input" onClick={leave} />
    </Dialog>
  )
}

function LoginForm({ username = '' }: { readonly username?: string }) {
  const fields = useRef<HTMLDivElement>(null)
  const field = (name: 'username' | 'password') => {
    return fields.current?.querySelector<HTMLInputElement>(`[name=${name}]`)
  }
  useEffect(() => field(username === '' ? 'username' : 'password')?.focus(), [])
  const send = async () => {
    // Password managers may fill fields without an event.
    const password = field('password')?.value ?? ''
    try {
      await logIn(field('username')?.value ?? '', password)
    } catch (error) {
      field('password')?.focus()
      field('password')?.select()
      throw inWords(error, password)
    }
  }
  return (
    <Form verb="Sign in" onSend={send}>
      <div ref={fields} class="stack">
        <TextField
          label="Name"
          name="username"
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          defaultValue={username}
          required
        />
        <TextField
          label="Password"
          name="password"
          type="password"
          autocomplete="current-password"
          required
        />
      </div>
    </Form>
  )
}

function inWords(error: unknown, password: string): Error {
  if (!(error instanceof ApiError)) return asError(error)
  const isKey = error.code === 'wrong_credentials' && password.startsWith(KEY_START)
  const words = isKey ? KEY_WORDS : FAILURE_WORDS[error.code]
  return words === undefined ? error : new ApiError({ ...error, ...words })
}

/** The prefix of API keys. */
const KEY_START = 'eider_'

const KEY_WORDS = {
  title: 'This is a key',
  message: 'Keys are for programs. People sign in with their name and password',
}

const FAILURE_WORDS: Readonly<
  Record<string, { readonly title: string; readonly message: string }>
> = {
  wrong_credentials: {
    title: 'Name or password is wrong',
    message: 'Both are case-sensitive. An admin of this server can set a new password',
  },
  too_many_logins: {
    title: 'Too many attempts',
    message: 'Wait a minute, then try again',
  },
}

function Navigation() {
  const here = useRef<HTMLElement>(null)
  const { path } = useLocation()
  const all = projects.value ?? []
  useEffect(() => {
    here.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [path, all])
  return (
    <nav ref={here} class="navigation" aria-label="Main">
      <ul>{VIEWS.filter(({ about }) => about === 'view').map(entryOf)}</ul>
      {all.map((project) => (
        <ProjectEntries key={project.name} project={project} />
      ))}
      {may('write') && <ul>{VIEWS.filter(({ about }) => about === 'create').map(entryOf)}</ul>}
    </nav>
  )
}

function ProjectEntries({ project }: { readonly project: ProjectContents }) {
  const name = shownProject(project.name)
  const entries = ofProject(project).filter(({ isPart }) => isPart !== true)
  const moreCount = entries.length - LISTED_MAX
  return (
    <div role="group" aria-label={`Project ${name}`}>
      <h2>{name}</h2>
      <ul>
        {entries.slice(0, LISTED_MAX).map(entryOf)}
        {moreCount > 0 && (
          <li class="small quiet">
            and {moreCount} more: find them with {PALETTE_KEYS}
          </li>
        )}
        {entries.length === 0 && <li class="small quiet">Empty</li>}
      </ul>
    </div>
  )
}

function entryOf(place: EntryProps) {
  return <Entry key={place.href} {...place} />
}

/** Labels of icons for screen readers. */
const ICON_WORDS: Partial<Readonly<Record<IconName, string>>> = {
  database: ', knowledge base',
  agent: ', agent',
}

interface EntryProps {
  readonly href: string
  readonly icon: IconName
  readonly label: string
}

function Entry({ href, icon, label }: EntryProps) {
  const { path } = useLocation()
  const isHere = path === href || (href !== '/' && path.startsWith(`${href}/`))
  return (
    <li>
      <a href={href} aria-current={isHere ? 'page' : undefined} title={label}>
        <Icon name={icon} />
        <span class="one-line">{label}</span>
        {ICON_WORDS[icon] && <span class="visually-hidden">{ICON_WORDS[icon]}</span>}
      </a>
    </li>
  )
}
