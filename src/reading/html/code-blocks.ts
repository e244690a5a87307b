import { all, ancestor, holds, isElement, MARKS, namesOf, oneLine } from './elements.ts'

/** Code taken out of a page's tree, with a mark in its place. */
export interface CodeBlock {
  readonly code: string
  readonly language: string
}

const BLOCKS = 'pre, listing, xmp, plaintext, div.fragment'

/** Replaces every block of code by a mark, so that its characters stay unchanged. */
export function takeCodeBlocks(root: Element): readonly CodeBlock[] {
  const blocks: CodeBlock[] = []
  for (const element of [...all(root, BLOCKS), ...codeOfLines(root)]) {
    if (ancestor(element, isBlock, root) !== null || !isInElement(element, root)) continue
    const code = codeOf(element)
    if (code.trim() === '') {
      element.remove()
      continue
    }
    const mark = element.ownerDocument.createElement('div')
    mark.textContent = `${MARKS.open}${blocks.length}${MARKS.close}`
    const place = listingTable(element) ?? element
    blocks.push({ code, language: languageOf(element) })
    place.parentNode?.replaceChild(mark, place)
  }
  return blocks
}

/** Finds `<code>` with several lines, or with significant white space. */
function codeOfLines(root: Element): readonly Element[] {
  const spans = all(root, 'code, samp').filter((code) => holds(code, 'br'))
  const styled = all(root, 'div[style], code[style], p[style]').filter((element) => {
    const style = element.getAttribute('style') ?? ''
    return /white-space\s*:\s*pre\b/i.test(style) && !holds(element, BLOCKS)
  })
  return [...new Set([...spans, ...styled])]
}

function isBlock(element: Element): boolean {
  return /^(?:PRE|LISTING|XMP|PLAINTEXT)$/.test(element.nodeName) || isFragment(element)
}

function isFragment(element: Element): boolean {
  return element.nodeName === 'DIV' && /(?:^|\s)fragment(?:\s|$)/.test(namesOf(element))
}

function isInElement(element: Element, root: Element): boolean {
  let at: Element | null = element
  while (at !== null && at !== root) at = at.parentElement
  return at === root
}

const LINE_NUMBERS =
  /(?:^|\s)(?:linenos?|linenodiv|line-?numbers?(?:-rows)?|hljs-ln-numbers|gutter|rouge-gutter|blob-num|lnt?|code-?line-?number|line-number-span|react-syntax-highlighter-line-number|src-line-numbers)(?:\s|$)/
const NO_CODE = /^(?:BUTTON|SCRIPT|STYLE|TEMPLATE|SVG)$/i
const COPY = /(?:^|[\s_-])(?:copy|copybtn|clipboard|copybutton)(?:$|[\s_-])/

/** Pygments, Sphinx, Rouge and others put line numbers next to code, in a table of two cells. */
function listingTable(block: Element): Element | null {
  const cell = ancestor(block, (at) => at.nodeName === 'TD')
  const table = cell === null ? null : ancestor(cell, (at) => at.nodeName === 'TABLE')
  if (cell === null || table === null) return null
  const others = all(table, 'td').filter((other) => other !== cell && !isIn(other, block))
  const isListing = others.every((other) => {
    return LINE_NUMBERS.test(namesOf(other)) || /^[\s\d]*$/.test(other.textContent ?? '')
  })
  return isListing && oneLine(cell.textContent) === oneLine(block.textContent) ? table : null
}

function isIn(element: Element, outer: Element): boolean {
  return ancestor(element, (at) => at === outer) !== null
}

const OWN_LINE = /^(?:DIV|P|LI|TR|TABLE|OL|UL)$/

/** Returns the text as a browser shows it, without line numbers and buttons. */
function codeOf(element: Element): string {
  const parts: string[] = []
  let isLineStart = true
  const add = (text: string): void => {
    if (text === '') return
    parts.push(text)
    isLineStart = text.endsWith('\n')
  }
  const visit = (node: Node): void => {
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (!isElement(child)) {
        // White space between Doxygen's lines, which are blocks, is not shown.
        const isShown = node !== element || !isFragment(element)
        if (child.nodeType === 3 && isShown) add(child.nodeValue ?? '')
        continue
      }
      if (isNoCode(child)) continue
      if (child.nodeName === 'BR') add('\n')
      else if (OWN_LINE.test(child.nodeName) || isLineSpan(child)) {
        if (!isLineStart) add('\n')
        visit(child)
        if (!isLineStart && child.nextSibling !== null) add('\n')
      } else visit(child)
    }
  }
  visit(element)
  return withoutOuterLines(parts.join(''))
}

function isNoCode(element: Element): boolean {
  const names = namesOf(element)
  if (NO_CODE.test(element.nodeName) || LINE_NUMBERS.test(names)) return true
  return COPY.test(names) && (element.textContent ?? '').length <= 30
}

function isLineSpan(element: Element): boolean {
  return /display\s*:\s*block/i.test(element.getAttribute('style') ?? '')
}

function withoutOuterLines(code: string): string {
  return code.replace(/^(?:[ \t]*\n)+/, '').replace(/(?:\n[ \t]*)+$/, '')
}

const NO_LANGUAGE =
  /^(?:default|none|text|txt|plain|plaintext|nohighlight|no-highlight|console-output|notranslate|guess)$/
const LANGUAGE_CLASS =
  /(?:^|\s)(?:language|lang|highlight-source|highlight|brush|src)[-:]\s?([\w+#.-]{1,30})/
const LANGUAGE_WORD =
  /^(?:c|cpp|c\+\+|csharp|css|go|html|java|javascript|js|jsx|json|kotlin|php|perl|python3?|py|r|ruby|rust|scala|shell|sh|bash|console|powershell|sql|swift|toml|ts|tsx|typescript|xml|yaml|yml|ini|diff|makefile|dockerfile|lua|haskell|cmake)$/

function languageOf(block: Element): string {
  const own = [block, ...all(block, 'code').slice(0, 1)]
  const around: Element[] = []
  for (let at = block.parentElement; at !== null && around.length < 6; at = at.parentElement) {
    around.push(at)
  }
  for (const element of [...own, ...around]) {
    const data = element.getAttribute('data-lang') ?? element.getAttribute('data-language')
    const named = LANGUAGE_CLASS.exec(namesOf(element))?.[1]
    const language = (data ?? named ?? '').toLowerCase()
    if (/^[\w+#.-]{1,30}$/.test(language)) return NO_LANGUAGE.test(language) ? '' : language
    if (/^(?:BODY|MAIN|ARTICLE)$/.test(element.nodeName)) return ''
  }
  for (const element of [...own, ...around.slice(0, 1)]) {
    const names = (element.getAttribute('class') ?? '').toLowerCase().split(/\s+/)
    if (!names.some((name) => /^(?:hljs|sourcecode|highlight|prettyprint|rust|code)$/.test(name)))
      continue
    const word = names.find((name) => LANGUAGE_WORD.test(name))
    if (word !== undefined) return word
  }
  return ''
}

/** Writes the block as Markdown, in a fence longer than any run of backticks in it. */
export function fenced({ code, language }: CodeBlock): string {
  const longest = Math.max(2, ...(code.match(/`{3,}/g) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${code}\n${fence}`
}
