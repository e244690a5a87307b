import { all, ancestor, holds, isElement, namesOf, oneLine, renamed } from './elements.ts'

/** Menus, breadcrumbs, contents, banners, lists of links. Elements with much text stay. */
export function removeClutter(root: Element): void {
  for (const element of all(root, '[class]')) unwrapAdmonitionTitle(element)
  const weights = new TextWeights(root)
  const visit = (parent: Element): void => {
    for (const child of Array.from(parent.childNodes)) {
      if (!isElement(child)) continue
      if (isClutter(child, root, weights)) removeWithHeading(child)
      else visit(child)
    }
  }
  visit(root)
  removeEditLinks(root)
  removeClosing(root)
}

function removeWithHeading(element: Element): void {
  const before = element.previousElementSibling
  const after = element.nextElementSibling
  element.remove()
  if (before === null || !/^H[2-6]$/.test(before.nodeName)) return
  const isLast = after === null && before.parentElement?.lastElementChild === before
  if (isLast || (after !== null && /^H[1-6]$/.test(after.nodeName))) before.remove()
}

/** No menu has this much text outside of links. */
const OWN_TEXT_CHARS = 1500
const OWN_TEXT_SHARE = 0.3

function isClutter(element: Element, root: Element, weights: TextWeights): boolean {
  const { chars, titles } = weights.of(element)
  if (chars === 0) return !holds(element, 'img, table, pre') && CLUTTER.test(namesOf(element))
  if (titles > 0 || /^(?:A|CODE|PRE|H[1-6]|BODY|MAIN)$/.test(element.nodeName)) return false
  const free = weights.freeChars(element)
  if (free > OWN_TEXT_CHARS && free > OWN_TEXT_SHARE * weights.of(root).chars) return false
  return (
    isNavigation(element, weights) ||
    isPager(element, weights) ||
    isNamedClutter(element, weights) ||
    isLinkList(element, weights)
  )
}

const NAVIGATION_ROLES =
  /^(?:navigation|menu|menubar|search|toolbar|directory|alertdialog|doc-toc|doc-index)$/
const NAVIGATION_LABEL =
  /breadcrumb|pagination|table of contents|on this page|cookie|consent|skip (?:to|link)|\bshare\b|site navigation|main menu/i

function isNavigation(element: Element, weights: TextWeights): boolean {
  const role = element.getAttribute('role') ?? ''
  if (element.nodeName === 'NAV' || NAVIGATION_ROLES.test(role)) return true
  const label = element.getAttribute('aria-label') ?? ''
  if (NAVIGATION_LABEL.test(label) && weights.freeChars(element) < 300) return true
  if (role === 'banner' || role === 'contentinfo') return true
  if (element.nodeName === 'FORM') return weights.of(element).chars < 300
  const isFooter = element.nodeName === 'FOOTER' || element.nodeName === 'HEADER'
  const isAside = element.nodeName === 'ASIDE' || role === 'complementary'
  if (isFooter && !isInArticle(element)) return true
  if (isFooter) return weights.linkShare(element) > 0.4
  return isAside && (!isInArticle(element) || weights.linkShare(element) > 0.5)
}

function isInArticle(element: Element): boolean {
  return ancestor(element, (at) => /^(?:ARTICLE|MAIN|SECTION)$/.test(at.nodeName)) !== null
}

const textBegin = '(?:^|[\\s_-])'
const end = '(?=$|[\\s_-])'

/** Clutter with any content, as long as it is short. */
const CLUTTER = new RegExp(
  `${textBegin}(?:breadcrumbs?|crumbs?|navpath|nav-path|navheader|navfooter|docnav|ingroups|levels|longdesc-link|navbar|nav-panel|navigation|sidenav|sphinxsidebar\\w*|pagination(?:-nav)?|pager|prev-?next|prevnext|rst-footer-buttons|toc|tocbot|table-?of-?contents|tableofcontents|mini-?toc|local-?toc|on-?this-?page|contents local|shortcontents|toctree-wrapper|skip-?(?:link|nav|to-content|to-main)|skiplink|sub-?nav|top-?nav|bottom-?nav|toplang|bottomlang|share|sharing|share-?(?:bar|buttons?|links?)|social-?(?:share|links?|bar|media|buttons?)?|addthis\\w*|sharedaddy|a2a_kit|cookie-?(?:banner|bar|consent|notice|law|message|popup|overlay|modal|dialog|disclaimer|warning)|cookieconsent|gdpr|onetrust|cc-window|cc-banner|consent-?(?:banner|dialog|bar)|newsletter|subscribe|edit-?(?:link|page|this-page)|editsection|mw-editsection|theme-edit-this-page|search-?(?:box|form|bar)|language-?(?:switcher|selector|picker)|version-?(?:switcher|selector|picker|warning)|copy-?(?:button|btn)|copybtn|clipboard|noprint|no-print|viewcode-link|sourcelink|out-of-band|advert(?:isement)?s?|promo|hatnote|site-?(?:header|footer|nav)|page-?nav|footer-?nav|header-?nav|quick-?view|scrolltop|back-to-top|top-link|headerlink|jp-relatedposts|last-?updated|test-arrow|hideme|tagline|slogan|titlearea|projectname|feedback|rating|comment-respond|disqus_thread|compile_fail|should_panic)${end}`,
)
/** Clutter if it consists mostly of links, or of a few words. */
const LIKELY_CLUTTER = new RegExp(
  `${textBegin}(?:nav|menu|menubar|sidebar|side-bar|related|footer|header|banner|links|ads?|sponsors?|widget|tags|tag-list|meta|byline-links|actions|toolbar|tools|genindex|search|dropdown|jumpbox|see-?also-links)${end}`,
)

function isNamedClutter(element: Element, weights: TextWeights): boolean {
  const names = ownNames(element)
  if (names === '') return false
  const free = weights.freeChars(element)
  // The links in a table with named columns are content.
  if (holds(element, 'th') && !PAGER_NAME.test(names)) return false
  const share = weights.linkShare(element)
  // Doxygen's `Macros | Functions`.
  if (SUMMARY.test(names)) return isOwnMenu(element, weights)
  if (CLUTTER.test(names)) return share > 0.3 || free < 400
  return LIKELY_CLUTTER.test(names) && (share > 0.6 || (free < 60 && share > 0.3))
}

const PAGER_NAME = new RegExp(`${textBegin}(?:navheader|navfooter|docnav)${end}`)
const SUMMARY = new RegExp(`${textBegin}summary${end}`)

/** Whether it contains only links within the page. */
function isOwnMenu(element: Element, weights: TextWeights): boolean {
  const { links, ownLinks } = weights.of(element)
  if (links === 0 || ownLinks < links || holds(element, 'h1, h2, h3, h4, table')) return false
  return weights.linkShare(element) > 0.6
}

/** A section's id comes from its heading: a section "Sharing" is not a bar of share buttons. */
function ownNames(element: Element): string {
  const first = element.firstElementChild
  const heading = first !== null && /^H[1-6]$/.test(first.nodeName) ? first.textContent : null
  const classes = element.getAttribute('class') ?? ''
  const isSection =
    element.nodeName === 'SECTION' ||
    SECTION_CLASS.test(classes) ||
    slugOf(heading) === slugOf(element.getAttribute('id'))
  const names = isSection ? classes : namesOf(element)
  return names.toLowerCase().trim()
}

/** DocBook's. */
const SECTION_CLASS = /^(?:(?:ref)?sect\d|refsection|chapter|appendix|preface)$/

function slugOf(text: string | null): string | null {
  return text === null ? null : text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}

const LINKS_OF_A_LIST = 15
const OWN_LINKS_OF_A_LIST = 4

/** Recognizes long lists of bare links, and lists of links within the page. */
function isLinkList(element: Element, weights: TextWeights): boolean {
  if (!/^(?:UL|OL|DL|TABLE|DIV|P|CENTER)$/.test(element.nodeName)) return false
  const { links, ownLinks } = weights.of(element)
  if (isTrail(element, links)) return true
  if (holds(element, 'h1, h2, h3, pre')) return false
  // The links in a table with named columns are content.
  if (element.nodeName === 'TABLE' && holds(element, 'th')) return false
  const share = weights.linkShare(element)
  if (ownLinks >= OWN_LINKS_OF_A_LIST && ownLinks >= links * 0.9) return share > 0.75
  return links >= LINKS_OF_A_LIST && share > 0.85
}

/** Recognizes breadcrumbs such as `Home > Docs > This page`. */
function isTrail(element: Element, links: number): boolean {
  if (links < 2 || links > 8) return false
  const text = oneLine(element.textContent)
  const steps = text.length > 200 ? 0 : text.split(/ [>»›→] /).length
  return steps >= 3 && steps - links <= 1 && steps >= links
}

const EDIT_LINK =
  /^(?:\W{0,3})(?:edit (?:this|on|the|page|me)\b.{0,40}|improve this (?:page|doc\w*)|(?:view|show) (?:page )?source|view on github|suggest (?:an )?(?:edit|change)s?|report (?:a bug|an issue|a problem).{0,30}|page source|back to top|return to top|skip to (?:main )?content|jump to (?:navigation|search|content)|table of contents|copy(?: link| code)?|go to the (?:source code|documentation) of this file\.?|more(?:\.\.\.|…)|print(?: this page)?|permalink|share(?: on \w+)?|tweet|\[?source\]?|\[?edit\]?|previous|next|prev|up|top|home|contents|index|ansicht bearbeiten|diese seite bearbeiten)(?:\W{0,3})$/i

/** Removes paragraphs that consist of a link such as "Edit this page". */
function removeEditLinks(root: Element): void {
  for (const anchor of all(root, 'a')) {
    const text = oneLine(anchor.textContent)
    if (text === '' || text.length > 60 || !EDIT_LINK.test(text)) continue
    let whole: Element = anchor
    while (whole.parentElement !== null && whole.parentElement !== root) {
      if (oneLine(whole.parentElement.textContent) !== text) break
      whole = whole.parentElement
    }
    if (
      whole !== anchor ||
      /^\[?(?:edit|source)\]?$|^edit this|^skip to|^more(?:\.\.\.|…)$/i.test(text)
    )
      whole.remove()
  }
}

const ADMONITION =
  /(?:^|\s)(?:admonition|theme-admonition|alert|callout|note|tip|warning|caution|important|danger|hint|seealso|markdown-alert|sidebar)(?:\s|$)/

/** The word "Note" above a note is not a heading of the page. */
function unwrapAdmonitionTitle(element: Element): void {
  if (
    !ADMONITION.test(namesOf(element)) ||
    !/^(?:DIV|ASIDE|SECTION|BLOCKQUOTE)$/.test(element.nodeName)
  )
    return
  const first = element.firstElementChild
  if (first?.nodeName === 'TABLE') unwrapAdmonitionTable(first)
  if (first === null || oneLine(first.textContent).length > 80) return
  const isTitle = /^H[2-6]$/.test(first.nodeName) || /title|heading/.test(namesOf(first))
  if (!isTitle || holds(first, 'p, ul, pre')) return
  const title = renamed(first, 'p')
  const strong = element.ownerDocument.createElement('strong')
  strong.textContent = oneLine(title.textContent)
  title.textContent = ''
  title.appendChild(strong)
}

/** DocBook formats a note as a table with its icon, kind and text. */
function unwrapAdmonitionTable(table: Element): void {
  const kinds = all(table, 'th')
  const [kind] = kinds
  const cells = all(table, 'td').filter((cell) => oneLine(cell.textContent) !== '')
  const [cell] = cells
  const isNote = kinds.length === 1 && cells.length === 1 && !holds(table, 'table')
  if (kind === undefined || cell === undefined || !isNote) return
  const { ownerDocument: document } = table
  const title = document.createElement('p')
  const strong = document.createElement('strong')
  strong.textContent = oneLine(kind.textContent)
  title.appendChild(strong)
  const text = document.createElement('div')
  for (const child of Array.from(cell.childNodes)) text.appendChild(child)
  table.parentNode?.insertBefore(title, table)
  table.parentNode?.insertBefore(text, table)
  table.remove()
}

/** The amount of text in an element and in its links, in characters without white space. */
export interface TextWeight {
  readonly chars: number
  readonly linkedChars: number
  readonly links: number
  /** Links to a position in the same page. */
  readonly ownLinks: number
  /** The number of first-level headings. */
  readonly titles: number
}

const NOTHING_LEFT: TextWeight = { chars: 0, linkedChars: 0, links: 0, ownLinks: 0, titles: 0 }

export class TextWeights {
  readonly #weights = new Map<Element, TextWeight>()

  constructor(root: Element) {
    this.#count(root, false)
  }

  of(element: Element): TextWeight {
    return this.#weights.get(element) ?? NOTHING_LEFT
  }

  /** The share of the text that is in links, from 0 to 1. */
  linkShare(element: Element): number {
    const { chars, linkedChars } = this.of(element)
    return chars === 0 ? 0 : linkedChars / chars
  }

  freeChars(element: Element): number {
    const { chars, linkedChars } = this.of(element)
    return chars - linkedChars
  }

  #count(element: Element, isLinked: boolean): TextWeight {
    const href = element.nodeName === 'A' ? element.getAttribute('href') : null
    const isLink = isLinked || href !== null
    let chars = 0
    let linkedChars = 0
    let links = href === null ? 0 : 1
    let ownLinks = href?.startsWith('#') ? 1 : 0
    let titles = element.nodeName === 'H1' ? 1 : 0
    for (let child = element.firstChild; child !== null; child = child.nextSibling) {
      if (isElement(child)) {
        const inner = this.#count(child, isLink)
        chars += inner.chars
        linkedChars += inner.linkedChars
        links += inner.links
        ownLinks += inner.ownLinks
        titles += inner.titles
      } else if (child.nodeType === 3) {
        const length = (child.nodeValue ?? '').replace(/\s+/g, '').length
        chars += length
        if (isLink) linkedChars += length
      }
    }
    const weight = { chars, linkedChars, links, ownLinks, titles }
    this.#weights.set(element, weight)
    return weight
  }
}

/** The longest text of a pager, which links to the previous and next page. */

const PAGER_CHARS_MAX = 500
const PAGER_FREE_CHARS_MAX = 120
const PAGER_LINKS_MAX = 8
/** Alone, or before a colon or an arrow: "Next steps" is an ordinary heading. */
const ONWARD =
  /^[\W_]*(?:(?<back>prev(?:ious)?|back)|(?<on>next|forward)|up|home|contents|table of contents|index|top)(?= ?(?:[^\p{L}\p{N} '’-]|$|(?:page|chapter|section|topic|part)\b))/iu
const KEYS: Readonly<Record<string, string>> = { p: 'back', n: 'on', u: 'up', h: 'home' }
const RELATIONS: Readonly<Record<string, string>> = { prev: 'back', previous: 'back', next: 'on' }

/** Recognizes `Prev | Up | Next` with the titles of those pages, in any markup. */
function isPager(element: Element, weights: TextWeights): boolean {
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

/** Removes the last lines of a page if they only name authors and dates. */
function removeClosing(root: Element): void {
  for (let count = 0; count < CLOSINGS_MAX; count += 1) {
    const closing = closingOf(root)
    if (closing === null) return
    closing.remove()
  }
}

const BLOCK =
  /^(?:DIV|P|ADDRESS|FOOTER|SECTION|ARTICLE|MAIN|UL|OL|LI|TABLE|TBODY|TR|TD|CENTER|SMALL|FONT|I|EM|SPAN|HR)$/

/** Returns the outermost block at the end of the page that is not part of its text. */
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

/** Whether it is not just the end of a paragraph with other text. */
function isWholeSentence(element: Element): boolean {
  const paragraph = ancestor(element, (at) => /^(?:P|LI|TD|DD)$/.test(at.nodeName))
  if (paragraph === null || paragraph.nodeName === 'TD') return true
  return oneLine(paragraph.textContent).length <= oneLine(element.textContent).length + 3
}
