/** Parameters that say where a reader came from, or who he is: they name no other page. */
const NO_PAGE =
  /^(?:utm_\w+|gclid|gbraid|wbraid|dclid|fbclid|msclkid|yclid|twclid|igshid|mc_[ce]id|_ga|_gl|_hs(?:enc|mi)|hsctatracking|mkt_tok|oly_(?:enc|anon)_id|vero_id|phpsessid|jsessionid|aspsessionid\w*|sessionid|session_id|sid|cfid|cftoken)$/i
const SESSION_IN_PATH = /;(?:jsessionid|phpsessid|sid)=[^/;]*/gi

/** The address of a page: without fragment, and without parameters that name no other page. */
export function pageAddress(address: URL): URL {
  const url = new URL(address)
  url.hash = ''
  url.pathname = url.pathname.replace(SESSION_IN_PATH, '')
  if (url.search === '') return url
  // Each parameter as it is written: a server may tell `?a` from `?a=`.
  const parts = url.search.slice(1).split('&')
  const kept = parts.filter((part) => !NO_PAGE.test(part.split('=', 1)[0] ?? ''))
  if (kept.length < parts.length) url.search = kept.join('&')
  return url
}

const SEGMENTS_MAX = 30
const REPEATS_MAX = 3

/** Paths such as `/a/b/a/b/a/b/a/b` come from links that lead ever deeper and nowhere. */
export function isEndless(url: URL): boolean {
  const segments = url.pathname.split('/').filter((segment) => segment !== '')
  if (segments.length > SEGMENTS_MAX) return true
  const counts = new Map<string, number>()
  for (const segment of segments) counts.set(segment, (counts.get(segment) ?? 0) + 1)
  return Math.max(0, ...counts.values()) > REPEATS_MAX
}
