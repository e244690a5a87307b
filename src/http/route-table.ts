/** What a login does not guard: the login itself, health and version, and the page's own files. */
const PUBLIC: ReadonlySet<string> = new Set([
  'POST /api/login',
  'GET /api/status',
  'GET /api/util/ping',
  'GET /healthz',
  'GET /',
  'GET /favicon.ico',
])

/** @param route the path of the route as it was declared, without a trailing slash */
export function isPublic(method: string, route: string): boolean {
  return PUBLIC.has(`${method === 'HEAD' ? 'GET' : method} ${route}`)
}

interface Route {
  readonly method: string
  readonly path: string
}

/** The methods that answer on a path; none where the path is unknown. */
export function methodsOf(routes: readonly Route[], path: string): readonly string[] {
  const methods = routes.filter((route) => isMatch(route.path, path)).map((route) => route.method)
  const withHead = methods.includes('GET') ? [...methods, 'HEAD'] : methods
  return [...new Set(withHead)]
}

function isMatch(pattern: string, path: string): boolean {
  const parts = pattern.split('/')
  const found = path.replace(/(?<=.)\/$/, '').split('/')
  if (parts.length !== found.length) return false
  return parts.every((part, index) => {
    return part.startsWith(':') ? found[index] !== '' : part === found[index]
  })
}
