/** What README.md must name: every setting, every error code and every route. */

/** Names that do not stand in the text as whole words. */
export function unnamed(names: readonly string[], text: string): readonly string[] {
  const words = new Set(text.match(/[A-Za-z0-9_]+/g) ?? [])
  return names.filter((name) => !words.has(name))
}

/** Error codes whose row does not show the number and the status that the code has. */
export function misstatedErrors(
  errors: Readonly<Record<string, { readonly status: number; readonly number: number }>>,
  text: string,
): readonly string[] {
  const lines = text.split('\n')
  return Object.entries(errors)
    .filter(([code, { status, number }]) => {
      const rows = lines.filter((line) => unnamed([code], line).length === 0)
      return !rows.some((row) => unnamed([String(status), String(number)], row).length === 0)
    })
    .map(([code]) => code)
}

export interface OpenApiPaths {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const METHODS: readonly string[] = ['get', 'post', 'put', 'patch', 'delete']

/** Every route as `METHOD /path`. */
export function routesOf(openApi: OpenApiPaths): readonly string[] {
  return Object.entries(openApi.paths ?? {}).flatMap(([path, operations]) => {
    return Object.keys(operations)
      .filter((method) => METHODS.includes(method))
      .map((method) => `${method.toUpperCase()} ${path}`)
  })
}

/** Routes without a line that names both method and path. How a path parameter is called there does not matter. */
export function undocumentedRoutes(routes: readonly string[], text: string): readonly string[] {
  const lines = text.split('\n').map((line) => ({
    methods: new Set(line.match(/\b[A-Z]{3,6}\b/g) ?? []),
    paths: new Set((line.match(/\/[\w./{}:*-]*/g) ?? []).map(withoutNames)),
  }))
  return routes.filter((route) => {
    const [method = '', path = ''] = route.split(' ')
    return !lines.some((line) => line.methods.has(method) && line.paths.has(withoutNames(path)))
  })
}

function withoutNames(path: string): string {
  const shape = path.replaceAll(/\{[^}]*\}|:\w+/g, '{}').replaceAll('*', '{}')
  return shape.length > 1 ? shape.replace(/[./]+$/, '') : shape
}
