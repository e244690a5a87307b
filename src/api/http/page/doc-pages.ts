/** The pages under `/docs`, each rendered when it is first requested. */

import { readdir } from 'node:fs/promises'
import { micromark } from 'micromark'
import { gfmTable, gfmTableHtml } from 'micromark-extension-gfm-table'
import { ERRORS } from '../../../core/errors.ts'
import template from '../../../ui/docs/docs.html' with { type: 'text' }

interface DocFile {
  readonly content: string | Uint8Array<ArrayBuffer>
  readonly contentType: string
}

const HTML = 'text/html; charset=utf-8'

/** Addresses that have no file of their own. */
const START = ''
const READER = 'api'
/** The page with the table of error codes. */
const CODES = 'errors'
const SEARCH = 'search.json'

export class DocPages {
  readonly #files: ReadonlyMap<string, string>
  readonly #index: MarkdownPage

  private constructor(files: ReadonlyMap<string, string>, index: MarkdownPage) {
    this.#files = files
    this.#index = index
  }

  static async open(): Promise<DocPages> {
    const files = await docFiles()
    const text = await readDoc(INDEX_FILE).catch(() => '# Documentation\n')
    return new DocPages(files, markdownPage(text, linkOver(files, INDEX_FILE)))
  }

  /** @param slug the path after `/docs/`; empty for the start page */
  find(slug: string): (() => Promise<DocFile>) | undefined {
    const isKnown = [START, READER, SEARCH].includes(slug) || this.#files.has(slug)
    return isKnown ? () => this.#make(slug) : undefined
  }

  async #make(slug: string): Promise<DocFile> {
    if (slug === START) {
      return this.#page(slug, { title: 'Documentation', html: this.#index.html + errorTable() })
    }
    if (slug === READER) {
      const html = `<h1>API reference</h1>${errorList()}
<div id="reader"><p>The reference needs JavaScript.</p></div>`
      return this.#page(slug, { title: 'API reference', html })
    }
    if (slug === SEARCH) return this.#searchable()
    const path = this.#files.get(slug) ?? ''
    const contentType = typeOf(path)
    if (contentType !== undefined) {
      return { content: await Bun.file(new URL(path, ROOT)).bytes(), contentType }
    }
    const page = await this.#markdown(path)
    return this.#page(slug, slug === CODES ? { ...page, html: withCodeIds(page.html) } : page)
  }

  async #markdown(path: string): Promise<MarkdownPage> {
    return markdownPage(await readDoc(path), linkOver(this.#files, path))
  }

  /** All sections of all user pages, which the browser searches. */
  async #searchable(): Promise<DocFile> {
    const slugs = [...this.#files.keys()].filter((slug) => {
      const isOld = slug === 'changelog' || /^decisions(\/|$)/.test(slug)
      return !isOld && typeOf(slug) === undefined
    })
    const sections: unknown[] = []
    for (const slug of slugs) {
      const page = await this.#markdown(this.#files.get(slug) ?? '')
      for (const { id, heading, text } of page.sections) {
        sections.push([`/docs/${slug}#${id}`, page.title, heading, text])
      }
    }
    for (const [code, { title }] of Object.entries(ERRORS)) {
      sections.push([`/docs/errors#${code}`, 'Error codes', code, title])
    }
    return { content: JSON.stringify(sections), contentType: 'application/json' }
  }

  #page(slug: string, { title, html }: Pick<MarkdownPage, 'title' | 'html'>): DocFile {
    const here = slug === START ? '/docs' : `/docs/${slug}`
    const nav = navigation(this.#index.html).replaceAll(
      `href="${here}"`,
      `href="${here}" aria-current="page"`,
    )
    const assets = slug === READER ? READER_ASSETS : ''
    const content = String(template)
      .replace('<!-- title -->', () => escaped(title))
      .replace('<!-- assets -->', () => assets)
      .replaceAll('<!-- nav -->', () => nav)
      .replace('<!-- content -->', () => html)
      .replace('<body>', slug === READER ? '<body class="reading">' : '<body>')
    return { content, contentType: HTML }
  }
}

const READER_ASSETS = `<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
<link rel="stylesheet" href="/docs/assets/api-reader.css">
<script src="/docs/assets/swagger-ui-bundle.js" defer></script>
<script src="/docs/assets/api-reader.js" defer></script>`

/** The index as a navigation list: its headings, and the names in the tables below them. */
function navigation(index: string): string {
  const groups = index.split('<h2 ').slice(1)
  const lists = groups.map((group) => {
    const [, heading = ''] = /^[^>]*>([^<]*)/.exec(group) ?? []
    const links = group.matchAll(/<td><a href="(\/[^"]*)">([\s\S]*?)<\/a><\/td>/g)
    const items = [...links].map(([, href, name]) => `<li><a href="${href}">${name}</a></li>`)
    return `<h2>${heading.trim()}</h2><ul>${items.join('')}</ul>`
  })
  return `<ul><li><a href="/docs">Overview</a></li><li><a href="/docs/readme">Read me</a></li>
<li><a href="/docs/api">API reference</a></li><li><a href="/docs/errors">Error codes</a></li>
<li><a href="/docs/changelog">Changelog</a></li></ul>
${lists.join('')}`
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(([code, { status, number, title }]) => {
    const cells = [`<code>${code}</code>`, String(status), String(number), escaped(title)]
    return `<tr id="${code}">${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
  })
  const head = ['Code', 'Status', 'Number', 'Title'].map((name) => `<th scope="col">${name}</th>`)
  return `<h2 id="error-codes">Error codes <a class="anchor" href="#error-codes" aria-label="Link to this section">#</a></h2>
<p>Every error has one of these codes. A failed SQL statement also has the number.</p>
<div class="wide" tabindex="0"><table><thead><tr>${head.join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
}

function errorList(): string {
  const items = Object.entries(ERRORS).map(([code, { status, title }]) => {
    return `<li><a href="/docs/errors#${code}"><code>${code}</code></a> <span>${status} ${escaped(title)}</span></li>`
  })
  return `<details class="codes"><summary>Error codes</summary>
<p>A failed request returns one of these in <code>code</code>.</p>
<ul class="plain" tabindex="0" aria-label="Error codes">${items.join('\n')}</ul></details>`
}

/** Gives each row an id: the code in its first cell. */
function withCodeIds(html: string): string {
  return html.replace(/<tr>(\s*<td><code>([a-z_]+)<\/code><\/td>)/g, (row, cells, code) => {
    return Object.hasOwn(ERRORS, code) ? `<tr id="${code}">${cells}` : row
  })
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const ROOT = new URL('../../../../', import.meta.url)

/** Pages that are not in the folder `docs`. */
const OTHER_PAGES: Readonly<Record<string, string>> = {
  readme: 'README.md',
  changelog: 'CHANGELOG.md',
  contributing: 'CONTRIBUTING.md',
  benchmarks: 'bench/README.md',
}

/** The index of all pages is the start page. */
const INDEX_FILE = 'docs/README.md'

const FILE_TYPES: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  json: 'application/json',
  webp: 'image/webp',
}

/** The documentation files in the program's folder, by their address after `/docs/`. */
async function docFiles(): Promise<ReadonlyMap<string, string>> {
  const found = await readdir(new URL('docs/', ROOT), { recursive: true }).catch(() => [])
  const files = new Map<string, string>()
  for (const name of found.map((path) => path.replaceAll('\\', '/')).sort()) {
    if (name === 'README.md') continue
    if (name.endsWith('.md')) files.set(name.replace(/(\/README)?\.md$/, ''), `docs/${name}`)
    else if (typeOf(name) !== undefined) files.set(name, `docs/${name}`)
  }
  for (const [slug, path] of Object.entries(OTHER_PAGES)) files.set(slug, path)
  return files
}

/** The content type of a file that is not a page; undefined for pages and unserved files. */
function typeOf(name: string): string | undefined {
  return FILE_TYPES[name.slice(name.lastIndexOf('.') + 1)]
}

function readDoc(path: string): Promise<string> {
  return Bun.file(new URL(path, ROOT)).text()
}

/**
 * The address on this server for a link between files. @param from the file that contains the link
 */
function linkOver(
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

interface Section {
  readonly id: string
  readonly heading: string
  readonly text: string
}

interface MarkdownPage {
  readonly title: string
  readonly html: string
  readonly sections: readonly Section[]
}

/**
 * Renders one of Eider's own pages as HTML, so its comments and tags are trusted. Headings get the
 * same ids as on GitHub.
 * @param linkOf the target of a link, or null if it does not exist; then only the link's text is
 * kept
 */
function markdownPage(text: string, linkOf: (target: string) => string | null): MarkdownPage {
  const html = micromark(text, {
    allowDangerousHtml: true,
    extensions: [gfmTable()],
    htmlExtensions: [gfmTableHtml()],
  })
  const used = new Map<string, number>()
  const withIds = html.replace(
    /<h([1-6])>([\s\S]*?)<\/h\1>/g,
    (_, level: string, inner: string) => {
      const id = uniqueId(slugOf(plainText(inner)), used)
      return `<h${level} id="${id}">${inner} <a class="anchor" href="#${id}" aria-label="Link to this section">#</a></h${level}>`
    },
  )
  const linked = withIds
    .replace(/<a href="([^"]*)">([\s\S]*?)<\/a>/g, (_, target: string, inner: string) => {
      const link = linkOf(target)
      return link === null ? inner : `<a href="${link}">${inner}</a>`
    })
    .replace(/(<img [^>]*?src=")([^"]*)"/g, (_, before: string, target: string) => {
      return `${before}${linkOf(target) ?? ''}"`
    })
    // Lets wide tables scroll on their own, also with the keyboard.
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">')
  const sections = sectionsOf(withIds)
  return { title: sections[0]?.heading ?? '', html: linked, sections }
}

function uniqueId(slug: string, used: Map<string, number>): string {
  const count = used.get(slug) ?? 0
  used.set(slug, count + 1)
  return count === 0 ? slug : `${slug}-${count}`
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}

function sectionsOf(html: string): readonly Section[] {
  return html
    .split(/(?=<h[1-6] id=")/)
    .map((part) => {
      const [head = '', id = '', inner = ''] =
        /^<h[1-6] id="([^"]*)">([\s\S]*?) <a class="anchor"/.exec(part) ?? []
      const body = head === '' ? part : part.slice(part.indexOf('</h'))
      return { id, heading: plainText(inner), text: plainText(body).replace(/\s+/g, ' ').trim() }
    })
    .filter(({ heading }) => heading !== '')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
}

function plainText(html: string): string {
  return html
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/<[^>]*>/g, '')
    .replace(/&(amp|lt|gt|quot);/g, (entity) => ENTITIES[entity] ?? entity)
}
