import { micromark } from 'micromark'
import { gfmTable, gfmTableHtml } from 'micromark-extension-gfm-table'

/** A heading, and the text below it up to the next one. */
export interface Section {
  readonly id: string
  readonly heading: string
  readonly text: string
}

export interface MarkdownPage {
  readonly title: string
  readonly html: string
  readonly sections: readonly Section[]
}

/**
 * One of our own pages as HTML: its comments and tags are taken as they are. Headings have the ids that GitHub gives them.
 * @param linkOf target of a link; null: does not exist, its text stays
 */
export function markdownPage(
  text: string,
  linkOf: (target: string) => string | null,
): MarkdownPage {
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
    // Wide ones scroll separately, also with the keyboard.
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
