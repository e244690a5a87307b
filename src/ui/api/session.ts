/** Who is logged in. The token is in a cookie that scripts cannot read; this module has only what the server says. */
import { signal } from '@preact/signals'
import type { Scope } from '../../core/domain/access/principal.ts'
import type { ServerStatus } from './records.ts'

/**
 * `unknown`: the server has not been asked yet. `off`: it has no login. `needed`: no user is logged in. `expired`: the login
 * ended while the page was in use.
 */
export type LoginState = 'unknown' | 'off' | 'needed' | 'expired' | 'on'

export type Account = NonNullable<ServerStatus['principal']>

export const loginState = signal<LoginState>('unknown')
/** Undefined until the server has said who the user is, and while logged out. */
export const account = signal<Account | undefined>(undefined)
/** The number of logins since the page was opened. */
export const loginCount = signal(0)

/** The user is signing out: requests that need a login fail instead of asking for one. */
export const isLeaving = signal(false)

/** Whether the user may do something. Without a login, everyone may do everything. */
export function may(scope: Scope): boolean {
  const scopes = account.value?.scopes ?? []
  return scopes.includes(scope) || scopes.includes('admin')
}

/** Whether the user may name a project, a data source or `files`, the namespace of uploads. */
export function mayName(namespace: string): boolean {
  const projects = account.value?.projects ?? null
  return projects === null || projects.includes(namespace.toLowerCase())
}

/** Uploads are stored before they are processed. */
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

/** Resolves with the next login, or when the server no longer has a login. @throws the abort reason */
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

/** Keeps showing the current view, even if the server had no login before its restart. */
function stateWithoutLogin(): LoginState {
  const state = loginState.value
  if (isLeaving.value) return state
  return state === 'unknown' || state === 'needed' ? 'needed' : 'expired'
}

/** The server's answer about the user. The former user stays known while the login has expired. */
export function noteStatus({ auth, principal }: ServerStatus): void {
  if (auth.http_auth_enabled && !auth.confirmed) {
    loginState.value = stateWithoutLogin()
    return
  }
  account.value = principal
  if (auth.http_auth_enabled && loginState.value !== 'on') loginCount.value += 1
  loginState.value = auth.http_auth_enabled ? 'on' : 'off'
}

/** `admin`, `editor` or `viewer`: the roles a user can have. */
export function roleOf({ scopes }: Account): string {
  if (scopes.includes('admin')) return 'admin'
  return scopes.includes('write') ? 'editor' : 'viewer'
}
