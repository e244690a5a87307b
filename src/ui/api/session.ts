/**
 * Who is signed in. The token is in a cookie that scripts cannot read, so this only stores what the
 * server reports.
 */
import { signal } from '@preact/signals'
import type { Scope } from '../../core/domain/access/principal.ts'
import type { ServerStatus } from './records.ts'

/** `off`: no login is required. `needed`: no user is signed in. `expired`: ended while in use. */
export type LoginState = 'unknown' | 'off' | 'needed' | 'expired' | 'on'

export type Account = NonNullable<ServerStatus['principal']>

export const loginState = signal<LoginState>('unknown')
/** Undefined until the server has reported the user, and while signed out. */
export const account = signal<Account | undefined>(undefined)
/** How many times a user has signed in since the page was opened. */
export const loginCount = signal(0)

/** True while the user signs out: requests that need a login then fail. */
export const isLeaving = signal(false)

/** Whether the user has this scope. On a server without a login, everyone has all of them. */
export function may(scope: Scope): boolean {
  const scopes = account.value?.scopes ?? []
  return scopes.includes(scope) || scopes.includes('admin')
}

export function mayName(namespace: string): boolean {
  const projects = account.value?.projects ?? null
  return projects === null || projects.includes(namespace.toLowerCase())
}

/** Uploaded files are stored before they are processed, so this needs both permissions. */
export function mayUpload(): boolean {
  return may('write') && mayName('files')
}

/** A user limited to some projects cannot create others. */
export function mayMakeProjects(): boolean {
  return may('write') && (account.value?.projects ?? null) === null
}

/** Whether the user may see server-wide data: requests, settings, backups, the audit log. */
export function mayRunServer(): boolean {
  return may('admin') && (account.value?.projects ?? null) === null
}

/** Or when the server no longer needs a login. @throws the abort reason */
export function loggedInAgain(abort?: AbortSignal): Promise<void> {
  loginState.value = stateWithoutLogin()
  return new Promise((resolve, reject) => {
    const stop = loginState.subscribe((state) => {
      if (isLeaving.value || (state !== 'on' && state !== 'off')) return
      queueMicrotask(() => stop())
      resolve()
    })
    abort?.addEventListener('abort', () => {
      stop()
      reject(abort.reason)
    })
  })
}

/** Keeps the current view, even if the server had no login before its restart. */
function stateWithoutLogin(): LoginState {
  const state = loginState.value
  if (isLeaving.value) return state
  return state === 'unknown' || state === 'needed' ? 'needed' : 'expired'
}

/** When the session has expired, the user stays known. */
export function noteStatus({ auth, principal }: ServerStatus): void {
  if (auth.http_auth_enabled && !auth.confirmed) {
    loginState.value = stateWithoutLogin()
    return
  }
  account.value = principal
  if (auth.http_auth_enabled && loginState.value !== 'on') loginCount.value += 1
  loginState.value = auth.http_auth_enabled ? 'on' : 'off'
}

export function roleOf({ scopes }: Account): string {
  if (scopes.includes('admin')) return 'admin'
  return scopes.includes('write') ? 'editor' : 'viewer'
}
