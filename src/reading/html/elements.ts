import domino from '@mixmark-io/domino'
import type { AppError } from '../../core/errors.ts'
import { unreadable } from '../document-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'

export function isElement(node: unknown): node is Element {
  return typeof node === 'object' && node !== null && 'getAttribute' in node
}

/** Returns elements in page order. domino's own search takes ten times as long. */
export function all(root: Element | Document, selector: string): readonly Element[] {
  const isIt = predicateOf(selector)
  if (isIt === null) return Array.from(root.querySelectorAll(selector))
  const found: Element[] = []
  for (let at = nextElement(root, root); at !== null; at = nextElement(at, root)) {
    if (isIt(at)) found.push(at)
  }
  return found
}

export function holds(root: Element, selector: string): boolean {
  const isIt = predicateOf(selector)
  // domino returns `undefined` where browsers return null.
  if (isIt === null) return Boolean(root.querySelector(selector))
  for (let at = nextElement(root, root); at !== null; at = nextElement(at, root)) {
    if (isIt(at)) return true
  }
  return false
}

function nextElement(from: Node, root: Node): Element | null {
  let at: Node | null = from.firstChild ?? following(from, root)
  while (at !== null && at.nodeType !== 1) at = following(at, root)
  return isElement(at) ? at : null
}

/** Returns the next node that is not inside this one. */
function following(from: Node, root: Node): Node | null {
  for (let at: Node | null = from; at !== null && at !== root; at = at.parentNode) {
    if (at.nextSibling !== null) return at.nextSibling
  }
  return null
}

const SIMPLE = /^([a-z][a-z0-9]*)?((?:\.[\w-]+)*)(?:\[([a-z-]+)(?:([*^]?=)"?([^"\]]*)"?)?\])?$/i

/** Compiles a list of tags, classes and attributes; null for a more complex selector. */
function predicateOf(selector: string): ((element: Element) => boolean) | null {
  const tests: ((element: Element) => boolean)[] = []
  const tags = new Set<string>()
  for (const part of selector.split(',')) {
    const found = SIMPLE.exec(part.trim())
    if (found === null) return null
    const [, tag, classes = '', attribute, operator, value = ''] = found
    if (classes === '' && attribute === undefined && tag !== undefined) {
      tags.add(tag.toLowerCase())
      continue
    }
    const names = classes.split('.').slice(1)
    tests.push((element) => {
      if (tag !== undefined && element.nodeName.toLowerCase() !== tag) return false
      return hasClasses(element, names) && hasAttribute(element, attribute, operator ?? '', value)
    })
  }
  return (element) => {
    return tags.has(element.nodeName.toLowerCase()) || tests.some((test) => test(element))
  }
}

function hasClasses(element: Element, names: readonly string[]): boolean {
  if (names.length === 0) return true
  const own = (element.getAttribute('class') ?? '').split(/\s+/)
  return names.every((name) => own.includes(name))
}

function hasAttribute(
  element: Element,
  name: string | undefined,
  operator: string,
  value: string,
): boolean {
  if (name === undefined) return true
  const own = element.getAttribute(name)
  if (own === null || operator === '') return own !== null
  if (operator === '=') return own === value
  return operator === '^=' ? own.startsWith(value) : own.includes(value)
}

/** Names that the page's author chose: class, id and role, in lower case. */
export function namesOf(element: Element): string {
  const names = [element.getAttribute('class'), element.getAttribute('id')]
  return names.join(' ').toLowerCase()
}

export function ancestor(
  element: Element,
  isIt: (candidate: Element) => boolean,
  root?: Element,
): Element | null {
  let at = element.parentElement
  while (at !== null && at !== root) {
    if (isIt(at)) return at
    at = at.parentElement
  }
  return null
}

export function oneLine(text: string | null | undefined): string {
  return (text ?? '').replace(/[\s\u00A0]+/g, ' ').trim()
}

export function replaceWithText(element: Element, text: string): void {
  const document = element.ownerDocument
  element.parentNode?.replaceChild(document.createTextNode(text), element)
}

export function unwrap(element: Element): void {
  const parent = element.parentNode
  if (parent === null) return
  while (element.firstChild !== null) parent.insertBefore(element.firstChild, element)
  parent.removeChild(element)
}

export function renamed(element: Element, tag: string): Element {
  const other = element.ownerDocument.createElement(tag)
  while (element.firstChild !== null) other.appendChild(element.firstChild)
  element.parentNode?.replaceChild(other, element)
  return other
}

/** As a browser builds it, even from broken HTML. @throws AppError `file_unreadable` */
export function pageTree(html: string): Document {
  refuseBytes(html)
  refuseOpenTags(html)
  const document = domino.createDocument(withoutMarks(closedTags(withoutCrowds(html))), true)
  // A page of frames has no body.
  if (!document.body) document.documentElement.appendChild(document.createElement('body'))
  refuseDepth(document.documentElement)
  for (const element of all(document, '*')) {
    if (!COPYABLE_NAME.test(element.localName)) unwrap(element)
  }
  return document
}

/** A parser reads `<a<b>` as a tag, and a tree with an element of that name cannot be copied. */
const COPYABLE_NAME = /^[a-z][\w:.-]*$/i

/** Parts that Markdown must not touch. No text contains these (Unicode 23.7). */
export const MARKS = { open: '\uFDD0', close: '\uFDD1' } as const

function withoutMarks(html: string): string {
  return html.replace(/[\uFDD0\uFDD1]|&#(?:x0*fdd[01]|0*6497[67]);?/gi, '')
}

const CROWDED_TAG = /<([a-z][a-z0-9-]{0,40})\s[^<>]{10000,}>/gi
const ATTRIBUTES_MAX = 1000

/**
 * A limit on attributes per tag, because the parser's time grows with the square of their number.
 */
function withoutCrowds(html: string): string {
  return html.replace(CROWDED_TAG, (tag, name: string) => {
    return (tag.match(/=/g)?.length ?? 0) > ATTRIBUTES_MAX ? `<${name}>` : tag
  })
}

function refuseBytes(html: string): void {
  if (html.length <= READING_LIMITS.htmlBytesMax) return
  const limit = `HTML has at most ${READING_LIMITS.htmlBytesMax} characters`
  throw unreadable(`${limit}, found ${html.length}`)
}

const XML_BEGIN = /^\s*<\?xml\b/i
const EMPTY_TAG = /<([a-z][a-z0-9]{0,20})((?:\s[^<>]{0,2000})?)\/>/gi
const VOID =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|image|path|circle|rect|line|use)$/i

/** XML may contain `<title/>`, after which HTML would read the rest of the page as the title. */
function closedTags(html: string): string {
  if (!XML_BEGIN.test(html)) return html
  return html.replace(EMPTY_TAG, (tag, name: string, attributes: string) => {
    return VOID.test(name) ? tag : `<${name}${attributes}></${name}>`
  })
}

/** Tags whose end may be omitted, or that end each other, so they do not nest. */
const NEVER_NESTED =
  /^(?:p|li|dt|dd|tr|td|th|tbody|thead|tfoot|caption|colgroup|option|optgroup|a|button|nobr|rb|rt|rp|rtc|html|head|body|h[1-6]|area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)$/
const OPEN_TAGS_MAX = 5000

/** Checked before parsing, because the parser's time grows with the square of the depth. */
function refuseOpenTags(html: string): void {
  let open = 0
  for (const [tag, end, name] of html.matchAll(/<(\/?)([a-z][a-z0-9-]{0,40})[^<>]{0,200}>?/gi)) {
    if (NEVER_NESTED.test((name ?? '').toLowerCase())) continue
    if (end === '/') open = Math.max(0, open - 1)
    else if (!tag.endsWith('/>')) open += 1
    if (open > OPEN_TAGS_MAX) throw tooDeep()
  }
}

/** The converters are recursive, so a page that is too deep would overflow their stack. */
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
  return unreadable(`HTML nested deeper than ${limit}`)
}
