/**
 * Tracks whether the server answers. While it does not, it is polled at growing intervals, except
 * in a hidden window. A server that comes back may have a newer version of this page.
 */
import { signal } from '@preact/signals'

const ASK_AGAIN_MS = 1000
const ASK_AGAIN_MS_MAX = 5000
/** A shorter wait may only mean that the server is busy. */
const ANSWER_MS_MAX = 15_000
/** A visible window that has sent no request for this long checks the connection. */
const LOOK_MS = 15_000
/** The shortest interval for repeating a request that keeps failing although the server answers. */
const RETURN_MS_MIN = 10_000

/** Increases each time the server comes back, so that views reload their data. */
export const reconnections = signal(0)
export const isLost = signal(false)
/** Whether the server now serves other page files than the ones running here. */
export const isOutdated = signal(false)

const contact = {
  /** False outside the page, where a failed request concerns only its caller. */
  isWatched: false,
  isAsking: false,
  isLeaving: false,
  reachedMs: 0,
  returnedMs: Number.NEGATIVE_INFINITY,
}

export function noteReached(): void {
  contact.reachedMs = performance.now()
  if (isLost.value) returned()
}

/** The server may be unreachable, or only this connection failed. */
export function noteLost(): void {
  ask(true)
}

function ask(hasFailed: boolean): void {
  if (!contact.isWatched || contact.isAsking || contact.isLeaving) return
  contact.isAsking = true
  void askUntilBack(hasFailed)
}

/** From now on, checks the connection even while the user does nothing. */
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
  // The browser aborts running requests when it leaves the page, which says nothing about the
  // server.
  addEventListener('pagehide', () => {
    contact.isLeaving = true
  })
  addEventListener('pageshow', () => {
    contact.isLeaving = false
  })
}

/** The first check is immediate, because perhaps only one connection failed. */
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

/** Statuses of a proxy whose server is down, and of a server that is stopping. */
const AWAY: readonly number[] = [502, 503, 504]

export function isAway(status: number): boolean {
  return AWAY.includes(status)
}

/** Requests the page itself, whose answer also shows whether the page has changed. */
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

/** The files loaded with this page. Their names change with their content. */
function ownFiles(): readonly string[] {
  const named = document.querySelectorAll('script[src], link[rel="stylesheet"][href]')
  return [...named].flatMap((element) => {
    const address = element.getAttribute('src') ?? element.getAttribute('href')
    return address === null ? [] : [address]
  })
}

/** Resolves when the window becomes visible. */
export function seen(): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true })
  })
}
