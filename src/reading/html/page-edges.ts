/** What stands at the begin and the end of each page of a site: where to go on, who made it and when. */
import { all, ancestor, holds, isElement, namesOf, oneLine } from './elements.ts'
import type { TextWeights } from './text-weights.ts'

const PAGER_CHARS_MAX = 500
const PAGER_FREE_CHARS_MAX = 120
const PAGER_LINKS_MAX = 8
/** Alone, before a colon or an arrow: "Next steps" is a page like others. */
const ONWARD =
  /^[\W_]*(?:(?<back>prev(?:ious)?|back)|(?<on>next|forward)|up|home|contents|table of contents|index|top)(?= ?(?:[^\p{L}\p{N} '’-]|$|(?:page|chapter|section|topic|part)\b))/iu
const KEYS: Readonly<Record<string, string>> = { p: 'back', n: 'on', u: 'up', h: 'home' }
const RELATIONS: Readonly<Record<string, string>> = { prev: 'back', previous: 'back', next: 'on' }

/** `Prev | Up | Next`, with the titles of those pages, whatever it is made of. */
export function isPager(element: Element, weights: TextWeights): boolean {
  if (!/^(?:UL|OL|TABLE|DIV|P|CENTER|DL)$/.test(element.nodeName)) return false
  const { links, chars } = weights.of(element)
  if (links < 2 || links > PAGER_LINKS_MAX || chars > PAGER_CHARS_MAX) return false
  if (weights.freeChars(element) > PAGER_FREE_CHARS_MAX) return false
  if (holds(element, 'h1, h2, h3, h4, pre')) return false
  const ways = all(element, 'a[href]').map(wayOf)
  const known = new Set(ways.filter((way) => way !== null))
  const leadsOn = known.has('back') || known.has('on')
  return leadsOn && known.size > 1 && ways.length - known.size <= 3
}

function wayOf(anchor: Element): string | null {
  const key = KEYS[(anchor.getAttribute('accesskey') ?? '').toLowerCase()]
  const relation = RELATIONS[(anchor.getAttribute('rel') ?? '').toLowerCase()]
  if (key !== undefined || relation !== undefined) return key ?? relation ?? null
  const found = ONWARD.exec(oneLine(anchor.textContent))
  if (found === null) return null
  const { back, on } = found.groups ?? {}
  if (back !== undefined) return 'back'
  return on === undefined ? found[0].toLowerCase() : 'on'
}

const CLOSING_CHARS_MAX = 300
const CLOSINGS_MAX = 5
const FOOTER_NAME =
  /(?:^|[\s_-])(?:footer|foot|colophon|copyright|page-?info|timestamp)(?=$|[\s_-])/
const CLOSING =
  /^(?:©|\(c\) ?(?:\d|copy)|copyright\b|all rights reserved|(?:page )?last (?:updated|modified|changed|edited|revised)\b|this page was (?:last|generated)|(?:auto-?)?generated (?:by|on|with|from|using)\b|(?:built|made|created|rendered) (?:with|by|using)\b|powered by\b|hosted (?:by|on)\b)/i

/** Takes the last lines of a page away where they say who made it and when, and not what it says. */
export function removeClosing(root: Element): void {
  for (let count = 0; count < CLOSINGS_MAX; count += 1) {
    const closing = closingOf(root)
    if (closing === null) return
    closing.remove()
  }
}

const BLOCK =
  /^(?:DIV|P|ADDRESS|FOOTER|SECTION|ARTICLE|MAIN|UL|OL|LI|TABLE|TBODY|TR|TD|CENTER|SMALL|FONT|I|EM|SPAN|HR)$/

/** The outermost of the blocks that end where the page ends, and are no text of it. */
function closingOf(root: Element): Element | null {
  let at = root
  for (;;) {
    const last = lastWithText(at)
    if (last === null || !BLOCK.test(last.nodeName)) return null
    if (isClosing(last)) return isWholeSentence(last) ? last : null
    at = last
  }
}

function lastWithText(parent: Element): Element | null {
  for (let child = parent.lastChild; child !== null; child = child.previousSibling) {
    if ((child.textContent ?? '').trim() === '') continue
    return isElement(child) ? child : null
  }
  return null
}

function isClosing(element: Element): boolean {
  const text = oneLine(element.textContent)
  if (text.length > CLOSING_CHARS_MAX || holds(element, 'h1, h2, h3, h4, pre, code')) return false
  return CLOSING.test(text) || FOOTER_NAME.test(namesOf(element).toLowerCase())
}

/** Not the end of a paragraph that says something else before. */
function isWholeSentence(element: Element): boolean {
  const paragraph = ancestor(element, (at) => /^(?:P|LI|TD|DD)$/.test(at.nodeName))
  if (paragraph === null || paragraph.nodeName === 'TD') return true
  return oneLine(paragraph.textContent).length <= oneLine(element.textContent).length + 3
}
