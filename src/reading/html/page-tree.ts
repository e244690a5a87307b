import domino from '@mixmark-io/domino'
import { AppError } from '../../core/errors.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { all, unwrap } from './elements.ts'

/** The tree that a browser makes of a page, however broken it is. @throws AppError `file_unreadable` */
export function pageTree(html: string): Document {
  refuseBytes(html)
  refuseOpenTags(html)
  const document = domino.createDocument(withoutMarks(closedTags(withoutCrowds(html))), true)
  // Of a page of frames.
  if (!document.body) document.documentElement.appendChild(document.createElement('body'))
  refuseDepth(document.documentElement)
  for (const element of all(document, '*')) {
    if (!COPYABLE_NAME.test(element.localName)) unwrap(element)
  }
  return document
}

/** A parser takes `<a<b>` for a tag; a tree with an element of that name cannot be copied. */
const COPYABLE_NAME = /^[a-z][\w:.-]*$/i

/** Stand for what Markdown must not touch: no text holds them, as they are no characters (Unicode 23.7). */
export const MARKS = { open: '\uFDD0', close: '\uFDD1' } as const

function withoutMarks(html: string): string {
  return html.replace(/[\uFDD0\uFDD1]|&#(?:x0*fdd[01]|0*6497[67]);?/gi, '')
}

const CROWDED_TAG = /<([a-z][a-z0-9-]{0,40})\s[^<>]{10000,}>/gi
const ATTRIBUTES_MAX = 1000

/** No page has so many attributes in one tag, and the parser's time grows with the square of their number. */
function withoutCrowds(html: string): string {
  return html.replace(CROWDED_TAG, (tag, name: string) => {
    return (tag.match(/=/g)?.length ?? 0) > ATTRIBUTES_MAX ? `<${name}>` : tag
  })
}

function refuseBytes(html: string): void {
  if (html.length <= READING_LIMITS.htmlBytesMax) return
  const limit = `HTML has at most ${READING_LIMITS.htmlBytesMax} characters`
  throw new AppError('file_unreadable', `${limit}, found ${html.length}`)
}

const XML_BEGIN = /^\s*<\?xml\b/i
const EMPTY_TAG = /<([a-z][a-z0-9]{0,20})((?:\s[^<>]{0,2000})?)\/>/gi
const VOID =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|image|path|circle|rect|line|use)$/i

/** In XML `<title/>` is closed; HTML would take the rest of the page for the title. */
function closedTags(html: string): string {
  if (!XML_BEGIN.test(html)) return html
  return html.replace(EMPTY_TAG, (tag, name: string, attributes: string) => {
    return VOID.test(name) ? tag : `<${name}${attributes}></${name}>`
  })
}

/** Tags whose end may be left out, or that end each other: they do not nest. */
const NEVER_NESTED =
  /^(?:p|li|dt|dd|tr|td|th|tbody|thead|tfoot|caption|colgroup|option|optgroup|a|button|nobr|rb|rt|rp|rtc|html|head|body|h[1-6]|area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)$/
const OPEN_TAGS_MAX = 5000

/** Before the page is parsed: the time for it grows with the square of its depth. */
function refuseOpenTags(html: string): void {
  let open = 0
  for (const [tag, end, name] of html.matchAll(/<(\/?)([a-z][a-z0-9-]{0,40})[^<>]{0,200}>?/gi)) {
    if (NEVER_NESTED.test((name ?? '').toLowerCase())) continue
    if (end === '/') open = Math.max(0, open - 1)
    else if (!tag.endsWith('/>')) open += 1
    if (open > OPEN_TAGS_MAX) throw tooDeep()
  }
}

/** The converters call themselves for each level: a page that is too deep would overflow their stack. */
function refuseDepth(root: Element): void {
  let depth = 0
  for (let at: Element | null = root; at !== null; ) {
    if (depth > READING_LIMITS.htmlDepthMax) throw tooDeep()
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

function tooDeep(): AppError {
  const limit = `${READING_LIMITS.htmlDepthMax} levels`
  return new AppError('file_unreadable', `HTML nested deeper than ${limit}`)
}
