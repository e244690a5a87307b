/** Small questions about a tree. domino's elements know no `closest`. */

export function isElement(node: unknown): node is Element {
  return typeof node === 'object' && node !== null && 'getAttribute' in node
}

export function all(root: Element | Document, selector: string): readonly Element[] {
  return Array.from(root.querySelectorAll(selector))
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

/** domino finds `undefined` where browsers find null. */
export function holds(element: Element, selector: string): boolean {
  return Boolean(element.querySelector(selector))
}
