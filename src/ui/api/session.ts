/** Who is logged in. The token is a cookie that scripts cannot read; here is only what the server says of it. */
import { signal } from '@preact/signals'
import type { Scope } from '../../core/domain/access/principal.ts'
import type { ServerStatus } from './records.ts'

/**
 * `unknown`: the server has not been asked yet. `off`: it has no login. `needed`: nobody is logged in. `expired`: the login
 * ended while something was shown.
 */
export type LoginState = 'unknown' | 'off' | 'needed' | 'expired' | 'on'

export type Account = NonNullable<ServerStatus['principal']>

export const loginState = signal<LoginState>('unknown')
/** Undefined until the server said who it is, and where nobody is logged in. */
export const account = signal<Account | undefined>(undefined)
/** How often somebody has logged in since the page was opened. */
export const loginCount = signal(0)

/** Whoever was here signs out: what needs a login meanwhile does not ask for one, and never goes on. */
export const isLeaving = signal(false)

/** Whether whoever is here may do something. Without a login, everybody may do everything. */
export function may(scope: Scope): boolean {
  const scopes = account.value?.scopes ?? []
  return scopes.includes(scope) || scopes.includes('admin')
}

/** Whether whoever is here may name a project, a data source or `files`, where what is uploaded lies. */
export function mayName(namespace: string): boolean {
  const projects = account.value?.projects ?? null
  return projects === null || projects.includes(namespace.toLowerCase())
}

/** Files are stored before anything is made of them. */
export function mayUpload(): boolean {
  return may('write') && mayName('files')
}

/** Whoever is limited to some projects makes no others. */
export function mayMakeProjects(): boolean {
  return may('write') && (account.value?.projects ?? null) === null
}

/** Whether what reaches beyond projects is for whoever is here: requests, settings, backups, the audit log. */
export function mayRunServer(): boolean {
  return may('admin') && (account.value?.projects ?? null) === null
}

/** Ends with the next login, or when the server has no login any more. @throws what `abort` was aborted with */
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

/** What is shown stays, where something was: also where the server had no login before it was started again. */
function stateWithoutLogin(): LoginState {
  const state = loginState.value
  if (isLeaving.value) return state
  return state === 'unknown' || state === 'needed' ? 'needed' : 'expired'
}

/** What the server says of whoever asks. Who was logged in before stays known while the login has expired. */
export function noteStatus({ auth, principal }: ServerStatus): void {
  if (auth.http_auth_enabled && !auth.confirmed) {
    loginState.value = stateWithoutLogin()
    return
  }
  account.value = principal
  if (auth.http_auth_enabled && loginState.value !== 'on') loginCount.value += 1
  loginState.value = auth.http_auth_enabled ? 'on' : 'off'
}

/** `admin`, `editor` or `viewer`, as users are made. */
export function roleOf({ scopes }: Account): string {
  if (scopes.includes('admin')) return 'admin'
  return scopes.includes('write') ? 'editor' : 'viewer'
}
