import { all, ancestor, isElement, namesOf } from './elements.ts'

/** `ttc`: what Doxygen shows beside the mouse. */
const NO_TEXT =
  'script, style, noscript, template, iframe, frame, object, embed, applet, svg, canvas, audio, video, map, link, meta, title, base, dialog, datalist, noembed, div.ttc'

/** Takes out what a reader of the page never sees. */
export function removeUnseen(root: Element): void {
  for (const element of all(root, NO_TEXT)) element.remove()
  const length = textLength(root)
  for (const element of all(root, '[hidden], [aria-hidden="true"], [style]')) {
    if (element === root || /^(?:HTML|BODY|MAIN)$/.test(element.nodeName)) continue
    // A page that shows itself by a script hides all of itself first.
    if (isHidden(element) && textLength(element) * 2 <= length) element.remove()
  }
  for (const element of all(root, '[class]')) if (isForScreenReaders(element)) element.remove()
  removeComments(root)
}

function isHidden(element: Element): boolean {
  // Tabs and folded parts are shown on demand: they are part of the text.
  const role = element.getAttribute('role')
  const hidden = element.getAttribute('hidden')
  if (role === 'tabpanel' || hidden === 'until-found') return false
  if (hidden !== null) return true
  if (element.getAttribute('aria-hidden') === 'true' && element.nodeName !== 'PRE') return true
  const style = element.getAttribute('style') ?? ''
  return /(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style)
}

const SCREEN_READERS_ONLY =
  /(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-text|visuallyHidden_\w+|show-for-sr)(?:\s|$)/

function isForScreenReaders(element: Element): boolean {
  if (!SCREEN_READERS_ONLY.test(namesOf(element))) return false
  return ancestor(element, (at) => /^H[1-6]$/.test(at.nodeName)) === null
}

function removeComments(root: Element): void {
  const remove: Node[] = []
  const visit = (node: Node): void => {
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (child.nodeType === 8) remove.push(child)
      else if (isElement(child)) visit(child)
    }
  }
  visit(root)
  for (const node of remove) node.parentNode?.removeChild(node)
}

function textLength(element: Element): number {
  return (element.textContent ?? '').length
}
