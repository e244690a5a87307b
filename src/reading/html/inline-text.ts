import {
  all,
  ancestor,
  holds,
  isElement,
  namesOf,
  oneLine,
  renamed,
  replaceWithText,
  unwrap,
} from './elements.ts'

/** Superscripts, subscripts, ruby, pictures, check marks. */
export function writeInlineText(root: Element): void {
  for (const box of all(root, 'li input[type="checkbox"]')) {
    replaceWithText(box, box.getAttribute('checked') === null ? '[ ] ' : '[x] ')
  }
  for (const control of all(root, 'button, input, select, textarea, progress, meter'))
    control.remove()
  for (const anchor of all(root, 'a')) if (isAnchorSign(anchor)) anchor.remove()
  for (const picture of all(root, 'img, area')) replaceWithText(picture, pictureText(picture))
  for (const ruby of all(root, 'ruby')) writeRuby(ruby)
  for (const lowered of all(root, 'sub')) replaceWithText(lowered, loweredText(lowered))
  for (const raised of all(root, 'sup')) replaceWithText(raised, raisedText(raised))
  for (const summary of all(root, 'summary, legend')) renamed(summary, 'p')
  for (const part of all(root, 'details, fieldset, dir'))
    renamed(part, part.nodeName === 'DIR' ? 'ul' : 'div')
  for (const heading of all(root, '[role="heading"]')) {
    const level = Number(heading.getAttribute('aria-level') ?? 2)
    if (/^H[1-6]$/.test(heading.nodeName) || !(level >= 1 && level <= 6)) continue
    renamed(heading, `h${level}`)
  }
  for (const list of all(root, 'ul')) unwrapSections(list)
  // Doxygen's titles.
  for (const title of all(root, '.headertitle > .title').slice(0, 1)) {
    if (!holds(root, 'h1')) renamed(title, 'h1')
  }
  for (const quote of all(root, 'q')) replaceWithText(quote, `“${quote.textContent ?? ''}”`)
  for (const wrapped of all(root, 'wbr')) unwrap(wrapped)
}

/** Javadoc's sections are list items, where a heading would not count as one of the page. */
function unwrapSections(list: Element): void {
  const items = Array.from(list.childNodes).filter((child) => child.nodeName === 'LI')
  const sections = items.filter((item) => {
    const first = isElement(item) ? item.firstElementChild : null
    return first !== null && /^(?:SECTION|H[1-4])$/.test(first.nodeName) && isLong(first)
  })
  if (sections.length === 0 || sections.length < items.length) return
  for (const item of sections) if (isElement(item)) renamed(item, 'div')
  const whole = renamed(list, 'div')
  // Keep the attributes, so that a menu of sections is still recognized as one.
  for (const name of ['class', 'id', 'role', 'aria-label']) {
    const value = list.getAttribute(name)
    if (value !== null) whole.setAttribute(name, value)
  }
}

function isLong(first: Element): boolean {
  if (first.nodeName === 'SECTION') return holds(first, 'h1, h2, h3, h4')
  return first.nextElementSibling !== null
}

const ANCHOR_SIGN = /^(?:¶|#|§|◆|🔗|⚓|∞|\[¶\]|\[source\]|\[edit\]|\[src\]|↩|↑|\^)?$/u
const UNSEEN_CHARS = /[\s\u200B\uFEFF]|\uFE0E|\uFE0F/g
const ANCHOR_CLASS =
  /(?:^|\s)(?:headerlink|anchor|header-anchor|hash-link|anchorjs-link|heading-link|self-link|permalink|footnote-backref(?:erence)?|viewcode-back|mark|srclink|copy-?button|copybtn)(?:\s|$)/

/** Recognizes the pilcrow next to a heading, and similar characters. */
function isAnchorSign(anchor: Element): boolean {
  const text = anchor.textContent ?? ''
  if (text.length > 20) return false
  if (ANCHOR_SIGN.test(text.replace(UNSEEN_CHARS, ''))) return !holds(anchor, 'img')
  const names = anchor.getAttribute('class') ?? ''
  const isMarked = ANCHOR_CLASS.test(names) && (anchor.getAttribute('href') ?? '').includes('#')
  return (
    isMarked && /^(?:\W{0,3}|(?:direct )?link(?: to this.*)?|copy|permalink)$/i.test(text.trim())
  )
}

const FILE_NAME = /\.(?:png|jpe?g|gif|svg|webp|bmp|ico|avif)$/i
/** DocBook names the icon beside a note `[Anmerkung]`. */
const SAYS_NOTHING =
  /^\[[^\]\s]{1,20}\]$|^\[?(?:image|img|icon|logo|photo|picture|pic|spacer|avatar|figure|fig|screenshot|screen ?shot|thumbnail|thumb|bullet|arrow|banner|badge|divider|separator|placeholder|dot|line|blank|pixel|home|next|prev(?:ious)?|up|top|back|menu|search|close|note|tip|warning|caution|important|info|external link|rss|feed|support|languages|available languages|[\p{P}\p{S}\s\d]*|(?:image|figure|fig\.?|photo|picture|img)[\s_-]*\d*)\]?$/iu
const BADGE = /\b(?:badge|status|build|coverage|logo|icon|avatar)\b/i

function pictureText(image: Element): string {
  const alt = oneLine(image.getAttribute('alt'))
  const isEmoji =
    /^\p{Extended_Pictographic}(?:\p{Extended_Pictographic}|\u200D|\uFE0F|\p{M}){0,8}$/u.test(alt)
  if (isEmoji) return alt
  if (isButton(image)) return ''
  if (SAYS_NOTHING.test(alt) || FILE_NAME.test(alt) || /^https?:/i.test(alt)) return ''
  if (alt.length < 5 || (BADGE.test(alt) && alt.length < 30)) return ''
  const figure = ancestor(image, (at) => {
    return at.nodeName === 'FIGURE' || at.getAttribute('class') === 'figure'
  })
  const around = figure ?? ancestor(image, (at) => /^(?:A|P|TD|DIV|LI)$/.test(at.nodeName))
  return oneLine(around?.textContent).includes(alt) ? '' : ` ${alt} `
}

/** Writes 漢字(かんじ), even if the page leaves the brackets to the browser. */
function writeRuby(ruby: Element): void {
  const hasBrackets = holds(ruby, 'rp')
  for (const reading of all(ruby, 'rt')) {
    const text = reading.textContent ?? ''
    if (!hasBrackets && text.trim() !== '') reading.textContent = `(${text.trim()})`
  }
  replaceWithText(ruby, ruby.textContent ?? '')
}

function loweredText(lowered: Element): string {
  const text = lowered.textContent ?? ''
  return text.length > 20 || /^\s*\d*\s*$/.test(text) ? text : `_${text.trim()}`
}

const ORDINAL = /^(?:st|nd|rd|th|[ºª™®©*†‡§]|tm|er|re|e|o|a)$/i

function raisedText(raised: Element): string {
  const text = raised.textContent ?? ''
  const bare = text.trim()
  const isNote = holds(raised, 'a') || /^\[.*\]$/.test(bare)
  if (isNote) return /^[\d*]{1,4}$/.test(bare) ? `[${bare}]` : text
  const isFollowing = /[\p{L}\p{N})\]]$/u.test(raised.previousSibling?.textContent ?? '')
  if (!isFollowing || ORDINAL.test(bare) || bare.length > 12 || bare === '') return text
  return /^[\p{L}\p{N}+−-]+$/u.test(bare) ? `^${bare}` : `^(${bare})`
}

/** A logo, a badge or an arrow links to something other than its large version. */
function isButton(image: Element): boolean {
  const anchor = ancestor(image, (at) => at.nodeName === 'A')
  const href = anchor?.getAttribute('href') ?? null
  if (anchor === null || href === null || oneLine(anchor.textContent) !== '') return false
  const path = href.split(/[?#]/, 1)[0] ?? ''
  return !FILE_NAME.test(path) && all(anchor, 'img').length === 1
}

/** As TeX if the page contains it, otherwise as text. Before hidden parts are removed. */
export function writeFormulas(root: Element): void {
  for (const script of all(root, 'script[type^="math/tex"]')) {
    const isDisplay = (script.getAttribute('type') ?? '').includes('display')
    replaceWithText(script, texOf(script.textContent ?? '', isDisplay))
  }
  for (const drawn of all(root, '.MathJax, .MathJax_Preview, .MathJax_Display, .katex-html'))
    drawn.remove()
  for (const math of all(root, 'math')) {
    const tex = math.querySelector('annotation[encoding="application/x-tex"]')?.textContent
    const text = tex ?? math.getAttribute('alttext')
    const isDisplay = math.getAttribute('display') === 'block'
    replaceWithText(
      math,
      text === null || text === undefined ? lineOf(math) : texOf(text, isDisplay),
    )
  }
  for (const image of all(root, 'img.math, img.latex, img.tex, img[class*="mwe-math"]')) {
    const tex = image.getAttribute('alt') ?? ''
    if (tex.trim() !== '') replaceWithText(image, texOf(tex, false))
  }
  for (const element of all(root, 'span.math, div.math')) writeDelimited(element)
}

/** Sphinx and pandoc leave `\(…\)` for a script to render. */
function writeDelimited(element: Element): void {
  const found = /^\s*\\([([])([\s\S]*)\\[)\]]\s*$/.exec(element.textContent ?? '')
  if (found !== null) element.textContent = texOf(found[2] ?? '', found[1] === '[')
}

function texOf(tex: string, isDisplay: boolean): string {
  const line = oneLine(tex).replace(/^\{\\(?:displaystyle|textstyle)\s+([\s\S]*)\}$/, '$1')
  return isDisplay ? `$$${line}$$` : `$${line}$`
}

/** Writes MathML without TeX on one line, with fractions and scripts. */
function lineOf(math: Element): string {
  return oneLine(rowAround(math))
}

function rowAround(element: Element): string {
  const children = Array.from(element.childNodes).filter(
    (node) => isElement(node) || node.nodeType === 3,
  )
  const parts = children.map((node) => (isElement(node) ? partOf(node) : (node.nodeValue ?? '')))
  return parts.join('')
}

function partOf(element: Element): string {
  // Only where needed: reading parts twice would double the time at each level.
  const part = (index: number) => {
    const child = element.children[index]
    return child === undefined ? '' : partOf(child)
  }
  switch (element.nodeName.toLowerCase()) {
    case 'annotation':
    case 'annotation-xml':
      return ''
    case 'mfrac':
      return `${grouped(part(0))}/${grouped(part(1))}`
    case 'msup':
      return `${part(0)}^${grouped(part(1))}`
    case 'msub':
      return `${part(0)}_${grouped(part(1))}`
    case 'msubsup':
      return `${part(0)}_${grouped(part(1))}^${grouped(part(2))}`
    case 'msqrt':
      return `sqrt(${rowAround(element)})`
    case 'mo':
      return operator(element.textContent ?? '')
    default:
      return rowAround(element)
  }
}

function operator(text: string): string {
  const sign = text.trim()
  return /^[=<>+−≤≥≠≈→∈-]$/.test(sign) ? ` ${sign} ` : sign
}

function grouped(text: string): string {
  const bare = text.trim()
  return /^[\p{L}\p{N}.]*$/u.test(bare) ? bare : `(${bare})`
}

/** `ttc` is Doxygen's tooltip. */
const NO_TEXT =
  'script, style, noscript, template, iframe, frame, object, embed, applet, svg, canvas, audio, video, map, link, meta, title, base, dialog, datalist, noembed, div.ttc'

/** Removes what readers of the page never see. */
export function removeUnseen(root: Element): void {
  for (const element of all(root, NO_TEXT)) element.remove()
  const length = textLength(root)
  for (const element of all(root, '[hidden], [aria-hidden="true"], [style]')) {
    if (element === root || /^(?:HTML|BODY|MAIN)$/.test(element.nodeName)) continue
    // If most of the page is hidden, a script reveals it, so keep it.
    if (isHidden(element) && textLength(element) * 2 <= length) element.remove()
  }
  for (const element of all(root, '[class]')) if (isForScreenReaders(element)) element.remove()
  removeComments(root)
}

function isHidden(element: Element): boolean {
  // Tabs and collapsed parts are shown on demand, so they are part of the text.
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
