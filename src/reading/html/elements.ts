/** Small questions about a tree. domino's elements know no `closest`. */

export function isElement(node: unknown): node is Element {
  return typeof node === 'object' && node !== null && 'getAttribute' in node
}

/** In the order of the page. domino's own search takes some ten times as long. */
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
  // domino finds `undefined` where browsers find null.
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

/** The next node that is not within this one. */
function following(from: Node, root: Node): Node | null {
  for (let at: Node | null = from; at !== null && at !== root; at = at.parentNode) {
    if (at.nextSibling !== null) return at.nextSibling
  }
  return null
}

const SIMPLE = /^([a-z][a-z0-9]*)?((?:\.[\w-]+)*)(?:\[([a-z-]+)(?:([*^]?=)"?([^"\]]*)"?)?\])?$/i

/** Of a list of tags, classes and attributes; null: a selector that says more. */
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

/** What the author calls an element: class, id and role, in lower case. */
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

/** White space as one line shows it. */
export function oneLine(text: string | null | undefined): string {
  return (text ?? '').replace(/[\s\u00A0]+/g, ' ').trim()
}

export function replaceWithText(element: Element, text: string): void {
  const document = element.ownerDocument
  element.parentNode?.replaceChild(document.createTextNode(text), element)
}

/** Children take the place of their parent. */
export function unwrap(element: Element): void {
  const parent = element.parentNode
  if (parent === null) return
  while (element.firstChild !== null) parent.insertBefore(element.firstChild, element)
  parent.removeChild(element)
}

/** The same children under another tag. */
export function renamed(element: Element, tag: string): Element {
  const other = element.ownerDocument.createElement(tag)
  while (element.firstChild !== null) other.appendChild(element.firstChild)
  element.parentNode?.replaceChild(other, element)
  return other
}
