import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import { removeClutter, type TextWeight, TextWeights } from './clutter.ts'
import { all, ancestor, holds, isElement, oneLine, pageTree } from './elements.ts'

/** An article that was guessed has more text than this. */
const MAIN_CHARS_MIN = 200
const MARKED_CHARS_MIN = 30
/** An element that the page calls its main one holds so much of the text that is not in links. */
const MAIN_SHARE = 0.25
/** An article that was guessed is taken where it holds nearly all of the page's prose. */
const PROSE_SHARE = 0.95
/** It leaves out headings and short lines too, so it is taken only where that makes a difference. */
const CLEANER = 1.3
/** With fewer links than this, no clutter is left over: nothing needs to be guessed. */
const LEFT_OVER_SHARE = 0.2

/** The text of a page. */
export interface MainContent {
  readonly main: Element
  /** Of a page of links and hardly any text: how many links. null: it is none. */
  readonly indexLinks: number | null
}

/** The part of a page that is its text, without clutter. @param document is taken apart */
export function mainContent(document: Document, title: string | null): MainContent {
  const { body } = document
  const marked = markedMain(body)
  const whole = marked ?? body
  const before = new TextWeights(whole).of(whole)
  const heading = marked === null ? null : titleOutside(body, marked)
  removeClutter(whole)
  if (heading !== null) whole.insertBefore(heading, whole.firstChild)
  const links = indexLinks(before, { whole, isMarked: marked !== null }, title)
  const main = links === null ? (marked ?? articleOf(document) ?? body) : whole
  return { main, indexLinks: links }
}

const MARKED = [
  '[itemprop="articleBody"]',
  'main',
  '[role="main"]',
  'article',
  '#main-content',
  '#mw-content-text',
]

/** What the page itself calls its main part: the innermost that holds all of it. */
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

/** The heading of the first level, where it stands above the main part. */
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

/** What Readability finds, where it loses no paragraph, code or table of the page. */
function articleOf(document: Document): Element | null {
  const weights = new TextWeights(document.body)
  if (weights.linkShare(document.body) < LEFT_OVER_SHARE) return null
  const prose = proseOf(document.body)
  if (prose < MAIN_CHARS_MIN) return null
  // Readability 0.6 goes through lists that domino's are not; linkedom need not parse well here, the tree is whole.
  const copy = parseHTML(`<html><body>${document.body.innerHTML}</body></html>`)
  const found = new Readability(copy.document, { charThreshold: MAIN_CHARS_MIN }).parse()
  if (typeof found?.content !== 'string') return null
  const article = pageTree(found.content).body
  const isFull = proseOf(article) >= PROSE_SHARE * prose
  return isFull && lengthOf(article) * CLEANER < lengthOf(document.body) ? article : null
}

const PROSE = 'p, li, dd, td, pre, blockquote, h1, h2, h3, h4, h5, h6, figcaption'
const PROSE_CHARS_MIN = 30

/** Characters in paragraphs, items, cells and code. */
function proseOf(root: Element): number {
  return all(root, PROSE)
    .filter((element) => !holds(element, PROSE))
    .map(lengthOf)
    .filter((length) => length >= PROSE_CHARS_MIN)
    .reduce((sum, length) => sum + length, 0)
}

function lengthOf(element: Element): number {
  return (element.textContent ?? '').replace(/\s+/g, '').length
}

const LINKS_MIN = 10
/** Text beside links and headings. A page that names no main part has the links of its menus too. */
const OWN_CHARS = { marked: 400, unmarked: 60 } as const
/** So many characters of text for each link are a text with links. */
const CHARS_PER_LINK = 8
const MOSTLY_LINKS = 0.75
const INDEX_TITLE =
  /^(?:the )?(?:general |global |full |alphabetical |python |module |command )*(?:index|table of contents|site ?map)(?: [–—-] [a-z])?$/i
/** A page about an index is called like one too. */
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
  const own = new TextWeights(whole).freeChars(whole) - headingChars(whole)
  const isIndex =
    INDEX_TITLE.test(title ?? '') || (LIKELY_INDEX.test(title ?? '') && links >= LIKELY_INDEX_LINKS)
  if (isIndex && before.linkedChars > 0.4 * before.chars) return links
  // Javadoc's says again what each of its entries says of itself.
  const isLarge = isIndex && links >= LARGE_INDEX_LINKS
  if (isLarge && before.linkedChars > 0.15 * before.chars) return links
  const isMostlyLinks = before.linkedChars > MOSTLY_LINKS * before.chars
  const isShort = own < (isMarked || isMostlyLinks ? OWN_CHARS.marked : OWN_CHARS.unmarked)
  return isShort && links * CHARS_PER_LINK > own && !holds(whole, 'pre, table') ? links : null
}

function headingChars(main: Element): number {
  const headings = all(main, 'h1, h2, h3, h4, h5, h6')
  return headings.reduce((sum, heading) => {
    return sum + oneLine(heading.textContent).replace(/\s/g, '').length
  }, 0)
}
