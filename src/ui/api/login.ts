/** Logging in and out. What the page keeps in the browser is of one user: the next one finds nothing of it. */
import type { ServerStatus } from './records.ts'
import { ApiError, request } from './request.ts'
import { type Account, account, isLeaving, noteStatus } from './session.ts'

/** Kept for every user. */
const OF_NOBODY: readonly string[] = ['eider.theme', 'eider.plain-keys']

/** Whose the other texts are that the browser keeps. */
const OWNER = 'eider.owner'

/** The tabs of one browser have one login: what happens to it in one, the others hear. */
const otherTabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel('eider.login') : undefined

otherTabs?.addEventListener('message', ({ data }) => {
  if (data === 'logout') beginAfresh()
  // A tab that waits for its user continues; a tab of another user starts fresh. Without an answer it stays as it is.
  else enter().catch(() => {})
})

/** Asks the server who is here. @throws ApiError */
export async function enter(abort?: AbortSignal): Promise<void> {
  entered(await request<ServerStatus>('/api/status', { signal: abort }))
}

/** @throws ApiError that says why not */
export async function logIn(username: string, password: string): Promise<void> {
  await request('/api/login', { method: 'POST', json: { username, password } })
  const status = await request<ServerStatus>('/api/status')
  if (!status.auth.confirmed) throw NOT_KEPT
  entered(status)
  otherTabs?.postMessage('login')
}

/** Ends the session, and forgets what the page kept for its user. @throws ApiError */
export async function logOut(): Promise<void> {
  isLeaving.value = true
  try {
    await request('/api/logout', { method: 'POST', waitsForLogin: false })
  } catch (error) {
    // It had ended already.
    if (!(error instanceof ApiError) || error.code !== 'unauthorized') {
      isLeaving.value = false
      throw error
    }
  }
  forgetKept()
  otherTabs?.postMessage('logout')
  beginAfresh()
}

/** Whether the browser keeps something that would be gone with the user: drafts, open tabs, a history. */
export function hasKept(): boolean {
  return keptNames().some((name) => name !== OWNER)
}

function entered(status: ServerStatus): void {
  const { principal, auth } = status
  const before = account.value
  // If the server has gained a login meanwhile, everyone was `anyone` before: what they typed is theirs.
  const wasSomebody = before !== undefined && before.kind !== 'open'
  if (wasSomebody && principal !== undefined && !isSame(before, principal)) {
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

function isSame(one: Account, other: Account): boolean {
  return nameOf(one) === nameOf(other)
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

/** Nothing of the former user stays in memory, nor in the one that the browser keeps for its button `Back`. */
function beginAfresh(): void {
  isLeaving.value = true
  addEventListener('pageshow', () => location.replace('/'))
  location.assign('/')
}

const NOT_KEPT = new ApiError({
  code: 'unreachable',
  status: 0,
  title: 'You could not be logged in',
  message: 'Your browser blocked the login cookie. Allow cookies for this site, then log in again',
})
