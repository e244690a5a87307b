/** The pages of documentation that come with the program. */
import { readdir } from 'node:fs/promises'

const ROOT = new URL('../../../../', import.meta.url)

/** Pages beside the folder `docs`. */
const OTHERS: Readonly<Record<string, string>> = {
  readme: 'README.md',
  changelog: 'CHANGELOG.md',
  contributing: 'CONTRIBUTING.md',
  benchmarks: 'bench/README.md',
}

/** The index of the pages, which is the start page. */
export const INDEX_FILE = 'docs/README.md'

const FILE_TYPES: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  json: 'application/json',
}

/** By what comes after `/docs/` in an address: the file, from the folder of the program. */
export async function docFiles(): Promise<ReadonlyMap<string, string>> {
  const found = await readdir(new URL('docs/', ROOT), { recursive: true }).catch(() => [])
  const files = new Map<string, string>()
  for (const name of found.map((path) => path.replaceAll('\\', '/')).sort()) {
    if (name === 'README.md') continue
    if (name.endsWith('.md')) files.set(name.replace(/(\/README)?\.md$/, ''), `docs/${name}`)
    else if (typeOf(name) !== undefined) files.set(name, `docs/${name}`)
  }
  for (const [slug, path] of Object.entries(OTHERS)) files.set(slug, path)
  return files
}

/** Of a file that is no page; undefined: it is one, or nothing that is shown. */
export function typeOf(name: string): string | undefined {
  return FILE_TYPES[name.slice(name.lastIndexOf('.') + 1)]
}

export function readDoc(path: string): Promise<string> {
  return Bun.file(new URL(path, ROOT)).text()
}

/** Where links between files lead on this server. @param from the file that holds the link */
export function linkOver(
  files: ReadonlyMap<string, string>,
  from: string,
): (target: string) => string | null {
  const slugOf = new Map([...files].map(([slug, path]) => [path, slug]))
  return (target) => {
    if (/^(https?:|mailto:|#|\/)/.test(target)) return target
    const [path = '', fragment] = target.split('#')
    const resolved = new URL(path, `file:///${from}`).pathname.slice(1)
    const tail = fragment === undefined ? '' : `#${fragment}`
    if (resolved === INDEX_FILE || resolved === 'docs/') return `/docs${tail}`
    const slug = slugOf.get(resolved.endsWith('/') ? `${resolved}README.md` : resolved)
    return slug === undefined ? null : `/docs/${slug}${tail}`
  }
}
