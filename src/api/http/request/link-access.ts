/** Statements in addresses: whose they are, and which other sites may open them. None may. */
import { AppError } from '../../../core/errors.ts'
import type { Authentication, Identity } from '../access/authentication.ts'
import { keyTextOf } from '../access/key-access.ts'
import type { RouteContext } from './route-context.ts'

export const SQL_PATH = '/api/sql/query'

/**
 * The principal of a request with a key in its address; undefined without a key usable in this way.
 * @throws AppError `url_key_refused`, `unauthorized`, `rate_limited`
 */
export function linkIdentity(
  request: Request,
  { authentication, deps }: Pick<RouteContext, 'authentication' | 'deps'>,
): Identity | undefined {
  const key = keyInAddress(request)
  if (key === undefined) return undefined
  const instead = 'send it as "Authorization: Bearer …"'
  if (!deps.settings.urlKeys) {
    const detail = 'This server takes no keys in addresses, which others keep in their logs'
    throw new AppError('url_key_refused', `${detail}; ${instead}, or set EIDER_URL_KEYS=1`)
  }
  const identity = authentication.identifyByKey(key)
  const { scopes } = identity.principal
  if (scopes.size === 1 && scopes.has('read')) return identity
  const detail = 'Only a key with the single scope "read" may be part of an address'
  throw new AppError('url_key_refused', `${detail}; ${instead}, or make such a key`)
}

function keyInAddress({ method, url }: Request): string | undefined {
  if ((method !== 'GET' && method !== 'HEAD') || !url.includes(`${SQL_PATH}?`)) return undefined
  const { pathname, searchParams } = new URL(url)
  return pathname === SQL_PATH ? (searchParams.get('key') ?? undefined) : undefined
}

/**
 * Refuses a statement in an address that a page of another site opens, embeds or links to: it would run with the rights of
 * the user who is logged in there, or on the machine of the person who reads that page. Browsers send in `Sec-Fetch-Site`
 * where a request comes from: `none` is an address that was typed or bookmarked. They leave it out on unsafe connections
 * (plain HTTP to another machine); there the cookie alone does not count. Programs send none of this and need none. A
 * request with a key or token passes: a page that knows only the address has neither.
 * @throws AppError `forbidden_origin`
 */
export function refuseForeignLink(request: Request, { isOn }: Authentication): void {
  const { headers } = request
  const hasToken = /^bearer /i.test(headers.get('authorization') ?? '')
  if (hasToken || keyTextOf(request) !== undefined || keyInAddress(request) !== undefined) return
  const site = headers.get('sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return
  const source = site === null ? (headers.get('origin') ?? headers.get('referer')) : null
  if (source !== null && isSameHost(source, request)) return
  if (source !== null || site !== null) throw refused('a page of another site opened it')
  if (isOn) throw refused('nothing says that it was no page of another site that opened it')
}

/** The scheme may differ: a proxy may speak HTTPS for the server. */
function isSameHost(source: string, request: Request): boolean {
  if (!URL.canParse(source)) return false
  const { host, protocol } = new URL(source)
  const target = request.headers.get('host') ?? new URL(request.url).host
  const defaultPort = protocol === 'https:' ? /:443$/ : /:80$/
  return host === target.toLowerCase().replace(defaultPort, '')
}

function refused(why: string): AppError {
  const detail = `The statement in this address was not run, because ${why}`
  const how = 'type the address, or send a token as "Authorization: Bearer …"'
  return new AppError('forbidden_origin', `${detail}; ${how}`)
}
