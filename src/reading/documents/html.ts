import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { unreadable, wholeDocument } from '../document-format.ts'
import { removeClutter, type TextWeight, TextWeights } from '../html/clutter.ts'
import { all, ancestor, holds, isElement, oneLine, pageTree } from '../html/elements.ts'
import { markdownOf } from '../html/html-markdown.ts'
import { removeUnseen, writeFormulas, writeInlineText } from '../html/inline-text.ts'
import { factColumns, linksOf, pageFacts, pageTitle } from '../html/page-facts.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { decodeText } from '../text-encoding.ts'

const META_CHARSET_BYTES = 2048

/** Reads the text of a page as Markdown, without the site's navigation. */
export function* readHtml({ bytes, charset, url }: RawDocument): Generator<ReadDocument> {
  if (bytes.byteLength > READING_LIMITS.htmlBytesMax) {
    const limit = `HTML has at most ${READING_LIMITS.htmlBytesMax} bytes`
    throw unreadable(`${limit}, found ${bytes.byteLength}`)
  }
  const document = pageTree(decodeText(bytes, charset ?? declaredCharset(bytes)))
  const facts = {
    title: pageTitle(document),
    columns: factColumns(document),
    links: linksOf(document, url),
    page: pageFacts(document, url),
  }
  writeSeen(document.body)
  const { main, indexLinks } = mainContent(document, facts.title)
  if (indexLinks === null) {
    yield wholeDocument({ ...facts, content: markdownOf(main), syntax: 'markdown' })
    return
  }
  // Leave out the links of an index page, or searches would find it by their names.
  const columns = { ...facts.columns, kind: 'index' }
  yield wholeDocument({
    ...facts,
    columns,
    content: `A list of ${indexLinks} links.`,
    syntax: 'markdown',
  })
}

function declaredCharset(bytes: Uint8Array): string | null {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, META_CHARSET_BYTES))
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(begin)?.[1] ?? null
}

export function markdownOfHtml(html: string): string {
  const { body } = pageTree(html)
  writeSeen(body)
  return markdownOf(body)
}

/** Keeps what a browser shows, as plain text if Markdown cannot express it. */
function writeSeen(body: Element): void {
  writeFormulas(body)
  removeUnseen(body)
  writeInlineText(body)
}

const MARKED_CHARS_MIN = 30
/**
 * An element marked as main must contain at least this share of the page's text outside of links.
 */
const MAIN_SHARE = 0.25

/** Returns the part of a page that is its text, without clutter. @param document is changed */
function mainContent(
  document: Document,
  title: string | null,
): {
  readonly main: Element
  /** For a page of links with hardly any text, the number of links; null for any other page. */
  readonly indexLinks: number | null
} {
  const { body } = document
  const marked = markedMain(body)
  const whole = marked ?? body
  const before = new TextWeights(whole).of(whole)
  const heading = marked === null ? null : titleOutside(body, marked)
  removeClutter(whole)
  if (heading !== null) whole.insertBefore(heading, whole.firstChild)
  const links = indexLinks(before, { whole, isMarked: marked !== null }, title)
  return { main: whole, indexLinks: links }
}

const MARKED = [
  '[itemprop="articleBody"]',
  'main',
  '[role="main"]',
  'article',
  '#main-content',
  '#mw-content-text',
]

/** The page's own main part: the innermost element that contains everything marked as main. */
function markedMain(body: Element): Element | null {
  const weights = new TextWeights(body)
  const free = (element: Element): number => weights.freeChars(element)
  const found = MARKED.flatMap((selector) => all(body, selector))
  const large = found.filter((element) => {
    return free(element) >= MARKED_CHARS_MIN && free(element) >= MAIN_SHARE * free(body)
  })
  const longest = Math.max(0, ...large.map(free))
  const whole = large.filter((element) => free(element) >= 0.9 * longest)
  return whole.sort((left, right) => free(left) - free(right))[0] ?? null
}

/** Returns the first-level heading, if it is above the main part. */
function titleOutside(body: Element, main: Element): Element | null {
  if (holds(main, 'h1')) return null
  const titles = all(body, 'h1').filter((title) => {
    const isIn = ancestor(title, (at) => at.nodeName === 'NAV' || at === main) !== null
    return !isIn && lengthOf(title) > 2
  })
  const [title] = titles
  if (titles.length !== 1 || title === undefined) return null
  const copy = title.cloneNode(true)
  return isElement(copy) ? copy : null
}

function lengthOf(element: Element): number {
  return (element.textContent ?? '').replace(/\s+/g, '').length
}

const LINKS_MIN = 10
/** Outside of links and headings. Without a marked main part, links of menus count too. */
const OWN_CHARS = { marked: 400, unmarked: 60 } as const
/** Text with at least this many characters per link is more than navigation. */
const CHARS_PER_LINK = 8
const MOSTLY_LINKS = 0.75
const INDEX_TITLE =
  /^(?:the )?(?:general |global |full |alphabetic(?:al)? |python |module |command |api )*(?:index|table of contents|site ?map)(?: (?:[–—-] )?[a-z](?:-[a-z])?)?(?: for \S{1,40})?$/i
/** A web server's listing of files. */
const FOLDER_TITLE = /^index of \//i
/** A page about an index may have such a title too. */
const LIKELY_INDEX = /(?:^| )(?:index|table of contents|site ?map)(?: \W.*)?$/i
const LIKELY_INDEX_LINKS = 50
const LARGE_INDEX_LINKS = 300

function indexLinks(
  before: TextWeight,
  { whole, isMarked }: { readonly whole: Element; readonly isMarked: boolean },
  title: string | null,
): number | null {
  const { links } = before
  if (links < LINKS_MIN) return null
  if (FOLDER_TITLE.test(title ?? '')) return links
  const weights = new TextWeights(whole)
  const own = weights.freeChars(whole) - headingChars(whole)
  const isIndex =
    INDEX_TITLE.test(title ?? '') || (LIKELY_INDEX.test(title ?? '') && links >= LIKELY_INDEX_LINKS)
  if (isIndex && before.linkedChars > 0.4 * before.chars) return links
  // Javadoc's summary repeats what its entries say.
  const isLarge = isIndex && links >= LARGE_INDEX_LINKS
  if (isLarge && before.linkedChars > 0.15 * before.chars) return links
  const isMostlyLinks = before.linkedChars > MOSTLY_LINKS * before.chars
  const isShort = own < (isMarked || isMostlyLinks ? OWN_CHARS.marked : OWN_CHARS.unmarked)
  const hasBlocks = all(whole, 'pre, table').some((block) => {
    return weights.linkShare(block) < MOSTLY_LINKS
  })
  return isShort && links * CHARS_PER_LINK > own && !hasBlocks ? links : null
}

function headingChars(main: Element): number {
  const headings = all(main, 'h1, h2, h3, h4, h5, h6')
  return headings.reduce((sum, heading) => {
    return sum + oneLine(heading.textContent).replace(/\s/g, '').length
  }, 0)
}
