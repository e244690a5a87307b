/**
 * Whether the server answers. While it does not, it is polled at growing intervals, and never from a hidden window. The
 * server that comes back may have another version than this page.
 */
import { signal } from '@preact/signals'

const ASK_AGAIN_MS = 1000
const ASK_AGAIN_MS_MAX = 5000
/** A server that has not answered for this long is away; a busy one may be slow. */
const ANSWER_MS_MAX = 15_000
/** A visible window that has sent no request for this long checks that the server is there. */
const LOOK_MS = 15_000
/** A request that keeps failing while the server answers is not repeated more often than this. */
const RETURN_MS_MIN = 10_000

/** Rises each time the server is back, so that views load their data again. */
export const reconnections = signal(0)
export const isLost = signal(false)
/** The server has other page files than those that run here. */
export const isOutdated = signal(false)

const contact = {
  /** False outside a page: a failed request is then only its caller's. */
  isWatched: false,
  isAsking: false,
  isLeaving: false,
  reachedMs: 0,
  returnedMs: Number.NEGATIVE_INFINITY,
}

/** A request was answered. */
export function noteReached(): void {
  contact.reachedMs = performance.now()
  if (isLost.value) returned()
}

/** A request was not answered: the server may be away, or have ended this one connection. */
export function noteLost(): void {
  ask(true)
}

function ask(hasFailed: boolean): void {
  if (!contact.isWatched || contact.isAsking || contact.isLeaving) return
  contact.isAsking = true
  void askUntilBack(hasFailed)
}

/** Checks the connection from now on, even when the user is idle. */
export function watchConnection(): void {
  contact.isWatched = true
  const look = () => {
    const isQuiet = performance.now() - contact.reachedMs >= LOOK_MS
    if (isQuiet && !document.hidden) ask(false)
  }
  setInterval(look, LOOK_MS / 3)
  document.addEventListener('visibilitychange', look)
  addEventListener('online', () => ask(false))
  addEventListener('offline', () => ask(false))
  // The browser aborts running requests when another page is opened: no server is lost.
  addEventListener('pagehide', () => {
    contact.isLeaving = true
  })
  addEventListener('pageshow', () => {
    contact.isLeaving = false
  })
}

/** The first check is immediate: the failure may have been a single connection's. */
async function askUntilBack(hasFailed: boolean): Promise<void> {
  for (let pauseMs = ASK_AGAIN_MS; !(await isThere()); pauseMs *= 1.5) {
    isLost.value = true
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, ASK_AGAIN_MS_MAX)))
    await seen()
  }
  contact.isAsking = false
  contact.reachedMs = performance.now()
  const isNew = contact.reachedMs - contact.returnedMs >= RETURN_MS_MIN
  if (isLost.value || (hasFailed && isNew)) returned()
}

function returned(): void {
  isLost.value = false
  contact.returnedMs = performance.now()
  reconnections.value += 1
}

/** Statuses from a proxy whose server is away, and from a server that is stopping. */
const AWAY: readonly number[] = [502, 503, 504]

export function isAway(status: number): boolean {
  return AWAY.includes(status)
}

/** Requests the page itself, which the browser has: the answer tells whether it has changed. */
async function isThere(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    const answer = await fetch('/', { cache: 'no-cache', headers: { 'x-eider-page': '1' }, signal })
    if (isAway(answer.status)) return false
    const html = answer.ok ? await answer.text() : undefined
    if (html !== undefined) isOutdated.value = !ownFiles().every((file) => html.includes(file))
    return true
  } catch {
    return false
  }
}

/** The files that the page was opened with; their names change with their content. */
function ownFiles(): readonly string[] {
  const named = document.querySelectorAll('script[src], link[rel="stylesheet"][href]')
  return [...named].flatMap((element) => {
    const address = element.getAttribute('src') ?? element.getAttribute('href')
    return address === null ? [] : [address]
  })
}

/** Ends when the window is shown. */
export function seen(): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true })
  })
}
