import { highlightedCodeBlock, strikethrough, taskListItems } from '@joplin/turndown-plugin-gfm'
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import type { RawDocument, ReadDocument } from '../../domain/ports/reading-ports.ts'
import { AppError } from '../../errors.ts'
import { wholeDocument } from '../document-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { decodeText } from '../text-encoding.ts'
import { markdownTables } from './markdown-tables.ts'

/** An article of less text than this may have been found in the wrong place: the whole page is taken. */
const ARTICLE_CHARS_MIN = 500
const NO_TEXT =
  'script, style, noscript, template, iframe, object, embed, svg, canvas, link, meta, title'
const NO_CONTENT = 'nav, form, dialog, [aria-hidden="true"], [hidden]'
const META_CHARSET_BYTES = 2048

/** The article of a page, or all of it where it has none, as Markdown with absolute links. */
export function* readHtml({ bytes, charset, url }: RawDocument): Generator<ReadDocument> {
  if (bytes.byteLength > READING_LIMITS.htmlBytesMax) {
    const limit = `HTML has at most ${READING_LIMITS.htmlBytesMax} bytes`
    throw new AppError('file_unreadable', `${limit}, found ${bytes.byteLength}`)
  }
  const html = decodeText(bytes, charset ?? declaredCharset(bytes))
  const { document } = parseHTML(wholePage(html))
  refuseDepth(document.documentElement)
  const links = absoluteLinks(document, url)
  const ownTitle = trimmedOrNull(document.querySelector('title')?.textContent)
  for (const element of document.querySelectorAll(NO_TEXT)) element.remove()
  const whole = withoutNavigation(document)
  const article = new Readability(document, { charThreshold: ARTICLE_CHARS_MIN }).parse()
  const isArticle = (article?.textContent?.trim().length ?? 0) >= ARTICLE_CHARS_MIN
  const content = markdownOfHtml((isArticle ? article?.content : null) ?? whole)
  const title = ownTitle ?? trimmedOrNull(article?.title)
  yield wholeDocument({ content, title, syntax: 'markdown', links })
}

/** At most so many characters of one tag are looked through for its end. */
const FRAME_TAG =
  /<(?:\/?(?:html|head|body)(?:\s[^>]{0,2000})?|!doctype[^>]{0,2000}|\?xml[^>]{0,2000})>/gi

/**
 * Everything in one body: linkedom 0.18 takes the first element for the root, and puts nothing into a body that has no
 * tag, so that a page that leaves out what HTML allows to leave out would lose its text.
 */
function wholePage(html: string): string {
  return `<html><body>${html.replace(FRAME_TAG, '')}`
}

function declaredCharset(bytes: Uint8Array): string | null {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, META_CHARSET_BYTES))
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(begin)?.[1] ?? null
}

/** The converters call themselves for each level: a page that is too deep would overflow their stack. */
function refuseDepth(root: Element): void {
  let depth = 0
  for (let at: Element | null = root; at !== null; ) {
    if (depth > READING_LIMITS.htmlDepthMax) {
      const limit = `${READING_LIMITS.htmlDepthMax} levels`
      throw new AppError('file_unreadable', `HTML nested deeper than ${limit}`)
    }
    if (at.firstElementChild !== null) {
      at = at.firstElementChild
      depth += 1
      continue
    }
    while (at !== null && at !== root && at.nextElementSibling === null) {
      at = at.parentElement
      depth -= 1
    }
    at = at === null || at === root ? null : at.nextElementSibling
  }
}

/** Makes links and images absolute, and lists the pages that are linked. */
function absoluteLinks(document: Document, url: string | null): readonly string[] {
  const base = baseOf(document, url)
  const links = new Set<string>()
  for (const anchor of document.querySelectorAll('a[href]')) {
    const target = resolved(anchor.getAttribute('href'), base)
    if (target === null) {
      if (base !== null) anchor.removeAttribute('href')
      continue
    }
    anchor.setAttribute('href', target)
    if (links.size < READING_LIMITS.linksPerPageMax) links.add(target)
  }
  for (const image of document.querySelectorAll('img')) {
    const source = image.getAttribute('src')
    const target = resolved(source, base)
    if (target !== null) image.setAttribute('src', target)
    else if (base !== null || /^data:/i.test(source ?? '')) image.remove()
  }
  return [...links]
}

function baseOf(document: Document, url: string | null): string | null {
  const declared = document.querySelector('base[href]')?.getAttribute('href') ?? null
  if (declared === null) return url
  return resolved(declared, url) ?? url
}

/** null: not a web address. */
function resolved(address: string | null, base: string | null): string | null {
  if (address === null) return null
  const url = URL.parse(address.trim(), base ?? undefined)
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null
}

/** Before the article is looked for: that takes the page apart. */
function withoutNavigation(document: Document): string {
  const body = document.body.cloneNode(true)
  if (!isElement(body)) return ''
  for (const element of body.querySelectorAll(NO_CONTENT)) element.remove()
  return body.innerHTML
}

function isElement(node: Node): node is Element {
  return 'innerHTML' in node
}

function trimmedOrNull(text: string | null | undefined): string | null {
  const trimmed = text?.replace(/\s+/g, ' ').trim() ?? ''
  return trimmed === '' ? null : trimmed
}

/** HTML as Markdown with tables. Give it text: on the nodes of another DOM its tables break (turndown 7.2). */
export function markdownOfHtml(html: string): string {
  const turndown = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
  })
  turndown.use([highlightedCodeBlock, strikethrough, taskListItems, markdownTables])
  turndown.remove(['script', 'style', 'noscript'])
  return turndown.turndown(html).trim().toWellFormed()
}
