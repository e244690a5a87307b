import { AppError } from '../errors.ts'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i
const LOOPBACK_HOST = /^(([\w-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * Refuses a change that a web page of another site asks for. Browsers send `Origin` with every
 * such request; other clients send none.
 * @param isLoopback the server listens on this machine only: a page whose own name resolves to it
 * must not get in
 * @throws AppError `forbidden_origin`
 */
export function refuseCrossSite(request: Request, isLoopback: boolean): void {
  if (SAFE_METHODS.has(request.method)) return
  const origin = request.headers.get('origin')
  if (origin === null) return
  const host = URL.canParse(origin) ? new URL(origin).host : ''
  const target = (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
  const isSame = host !== '' && withPort(host, origin) === withPort(target, origin)
  if (isSame && (!isLoopback || LOOPBACK.test(host))) return
  throw new AppError('forbidden_origin', 'Requests from pages of another origin are refused')
}

/** `URL.host` leaves out the scheme's own port, a `Host` header may have it. */
function withPort(host: string, origin: string): string {
  if (/:\d+$/.test(host)) return host
  return `${host}:${origin.startsWith('https:') ? 443 : 80}`
}

/**
 * Refuses a request under a name that is not this machine's own. A page can make its own name mean
 * 127.0.0.1 (DNS rebinding): its requests are then of one origin, and reading is open to it. A
 * request without `Host` comes from no browser.
 * @throws AppError `forbidden_origin`
 */
export function refuseForeignHost(request: Request): void {
  const host = request.headers.get('host')
  if (host === null || LOOPBACK_HOST.test(host)) return
  const found = `The Host ${JSON.stringify(host.slice(0, 100))} does not name this machine`
  const how = 'open Eider by its loopback address (localhost or 127.0.0.1), or turn the login on'
  throw new AppError('forbidden_origin', `${found}; ${how}`)
}
