/**
 * Finds settings, error codes, routes, files and pages that the documentation lacks, or names
 * although they do not exist.
 */
import { posix } from 'node:path'
import type { TextFile } from './tracked-files.ts'

/** Returns names that do not appear in the text as whole words. */
export function unnamed(names: readonly string[], text: string): readonly string[] {
  const words = new Set(text.match(/[A-Za-z0-9_]+/g) ?? [])
  return names.filter((name) => !words.has(name))
}

/** Returns error codes whose row does not show their number and status. */
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

/** Returns every route as `METHOD /path`. */
export function routesOf(openApi: OpenApiPaths): readonly string[] {
  return Object.entries(openApi.paths ?? {}).flatMap(([path, operations]) => {
    return Object.keys(operations)
      .filter((method) => METHODS.includes(method))
      .map((method) => `${method.toUpperCase()} ${path}`)
  })
}

/** Returns routes without a line that names both method and path. The names of path parameters do not matter. */
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

/** `src/sql/subquery/rewrite.ts`, `docs/`, or, as pages about the code write it, `sql/rewrite.ts`: folders and files of the project. */
const NAMED_PATH = /`([a-z][\w.-]*(?:\/[\w.-]+)*\/?)`/g

/**
 * Returns files and folders that a page names between back-ticks but that do not exist, neither
 * from the root, nor in `src/`, nor next to the page. A name counts as a path if it begins with one
 * of these folders or has a TypeScript extension. Without a folder, it may be any file.
 */
export function missingPaths(
  pages: readonly TextFile[],
  projectPaths: readonly string[],
): readonly string[] {
  const known = new Set(projectPaths.flatMap(withFolders))
  const folders = new Set([...known].map((path) => path.replace(/^src\//, '').split('/')[0] ?? ''))
  const baseNames = new Set(projectPaths.map((path) => posix.basename(path)))
  return pages.flatMap(({ path: page, text }) => {
    const names = [...text.matchAll(NAMED_PATH)].map(([, name = '']) => name.replace(/\/$/, ''))
    const paths = names.filter((name) => {
      const isBelowFolder = name.includes('/') && folders.has(name.split('/')[0] ?? '')
      return isBelowFolder || name.endsWith('.ts')
    })
    const missing = paths.filter((path) => {
      const places = [path, `src/${path}`, posix.join(posix.dirname(page), path)]
      const isThere = places.some((place) => known.has(place))
      return path.includes('/') ? !isThere : !isThere && !baseNames.has(path)
    })
    return [...new Set(missing)].map((path) => `${page}: ${path}`)
  })
}

/** Turns `a/b/c.ts` into `a`, `a/b`, `a/b/c.ts`. */
function withFolders(path: string): readonly string[] {
  const parts = path.split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** Returns links in Markdown pages to the project whose file or heading does not exist. */
export function brokenLinks(
  pages: readonly TextFile[],
  projectPaths: readonly string[],
): readonly string[] {
  const known = new Set(projectPaths.flatMap(withFolders))
  const anchors = new Map(pages.map(({ path, text }) => [path, anchorsOf(text)]))
  return pages.flatMap(({ path: page, text }) => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
    return links
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [file = '', anchor] = link.split('#')
        const target = file === '' ? page : posix.join(posix.dirname(page), file).replace(/\/$/, '')
        const hasAnchor = anchor === undefined || anchors.get(target)?.has(anchor)
        return !known.has(target) || !hasAnchor
      })
      .map((link) => `${page}: ${link}`)
  })
}

function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = markdown.match(/^#+ .*$/gm) ?? []
  return new Set(
    headings.map((heading) => {
      const words = heading
        .replace(/^#+ /, '')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      return words.replaceAll(' ', '-')
    }),
  )
}

/** Returns decisions with more lines than `linesMax`. */
export function longDecisions(pages: readonly TextFile[], linesMax: number): readonly string[] {
  return pages
    .filter(({ path }) => DECISION.test(path))
    .filter(({ text }) => text.trimEnd().split('\n').length > linesMax)
    .map(({ path }) => posix.basename(path))
}

/** Returns decisions whose number and file the index does not list. */
export function unlistedDecisions(pages: readonly TextFile[], index: string): readonly string[] {
  return pages
    .filter(({ path }) => DECISION.test(path))
    .map(({ path }) => posix.basename(path))
    .filter(
      (name) => !index.includes(`- ${Number(name.slice(0, 4))} [`) || !index.includes(`(${name})`),
    )
}

const DECISION = /^docs\/decisions\/\d{4}-[a-z0-9-]+\.md$/

/**
 * Pages that comments of the code cite and that are not there: `docs/page.md`, a section of it (`docs/contract.md 4`, or
 * `4.3` for its third sentence), or `decision 7`. A page of another site is not ours to check.
 */
export function missingCitations(
  sources: readonly TextFile[],
  pages: readonly TextFile[],
): readonly string[] {
  const texts = new Map(pages.map(({ path, text }) => [path, text]))
  return sources.flatMap(({ path, text }) => {
    const cited = [...text.matchAll(/([\w./-]*\b[\w-]+\.md)\b(?: (\d+)(?:\.(\d+))?)?/g)]
    const missing = cited.filter(([, page = '', section, item]) => {
      if (/^[\w-]+\.[a-z]+\//.test(page)) return false
      const found = texts.get(page)
      return found === undefined || !hasSection(found, section, item)
    })
    const decisions = [...text.matchAll(/\bdecisions? (\d+)/g)].filter(([, number = '']) => {
      const start = `docs/decisions/${number.padStart(4, '0')}-`
      return ![...texts.keys()].some((page) => page.startsWith(start))
    })
    return [...missing, ...decisions].map(([citation]) => `${path}: ${citation}`)
  })
}

function hasSection(page: string, section: string | undefined, item: string | undefined): boolean {
  if (section === undefined) return true
  const [, after] = page.split(new RegExp(`^## ${section}\\. .*$`, 'm'))
  const body = after?.split(/^## /m)[0]
  if (body === undefined) return false
  return item === undefined || new RegExp(`^${item}\\. `, 'm').test(body)
}
