/**
 * Signs users in and out. What the page stores in the browser belongs to one user and is deleted
 * before another one uses it.
 */
import type { ServerStatus } from './records.ts'
import { ApiError, request } from './request.ts'
import { type Account, account, isLeaving, noteStatus } from './session.ts'

/** Settings that are kept for all users. */
const OF_NOBODY: readonly string[] = ['eider.theme']

/** The user that the other stored values belong to. */
const OWNER = 'eider.owner'

/** All tabs of a browser share the session, so each tells the others about changes. */
const otherTabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel('eider.login') : undefined

otherTabs?.addEventListener('message', ({ data }) => {
  if (data === 'logout') beginAfresh()
  // A tab that waits for this user continues; a tab of another user starts over. If the server does
  // not answer, the tab stays as it is.
  else enter().catch(() => {})
})

/** Asks the server who is signed in. @throws ApiError */
export async function enter(): Promise<void> {
  entered(await request<ServerStatus>('/api/status'))
}

/** @throws ApiError with the reason */
export async function logIn(username: string, password: string): Promise<void> {
  await request('/api/login', { method: 'POST', json: { username, password } })
  const status = await request<ServerStatus>('/api/status')
  if (!status.auth.confirmed) throw NOT_KEPT
  entered(status)
  otherTabs?.postMessage('login')
}

/** Ends the session, and deletes what the page stored for the user. @throws ApiError */
export async function logOut(): Promise<void> {
  isLeaving.value = true
  try {
    await request('/api/logout', { method: 'POST', waitsForLogin: false })
  } catch (error) {
    // The session had already ended.
    if (!(error instanceof ApiError) || error.code !== 'unauthorized') {
      isLeaving.value = false
      throw error
    }
  }
  forgetKept()
  otherTabs?.postMessage('logout')
  beginAfresh()
}

/** Whether the browser stores anything that signing out deletes: drafts, open tabs, a history. */
export function hasKept(): boolean {
  return keptNames().some((name) => name !== OWNER)
}

function entered(status: ServerStatus): void {
  const { principal, auth } = status
  const before = account.value
  // If the server required no login before, what was typed then belongs to this user.
  const wasSomebody = before !== undefined && before.kind !== 'open'
  if (wasSomebody && principal !== undefined && nameOf(before) !== nameOf(principal)) {
    forgetKept()
    localStorage.setItem(OWNER, nameOf(principal))
    beginAfresh()
    return
  }
  if (auth.http_auth_enabled && principal !== undefined) own(principal)
  noteStatus(status)
}

function own(principal: Account): void {
  const owner = localStorage.getItem(OWNER)
  if (owner !== null && owner !== nameOf(principal)) forgetKept()
  localStorage.setItem(OWNER, nameOf(principal))
}

function nameOf({ kind, id, name }: Account): string {
  return `${kind} ${id} ${name}`
}

function keptNames(): readonly string[] {
  return Object.keys(localStorage).filter((name) => {
    return name.startsWith('eider.') && !OF_NOBODY.includes(name)
  })
}

function forgetKept(): void {
  for (const name of keptNames()) localStorage.removeItem(name)
  sessionStorage.clear()
  indexedDB.deleteDatabase('eider.uploads')
}

/** Nothing of the previous user stays in memory or in the back/forward cache. */
function beginAfresh(): void {
  isLeaving.value = true
  addEventListener('pageshow', () => location.replace('/'))
  location.assign('/')
}

const NOT_KEPT = new ApiError({
  code: 'unreachable',
  status: 0,
  title: 'You could not be signed in',
  message:
    'Your browser blocked the sign-in cookie. Allow cookies for this site, then sign in again',
})
