import TurndownService from 'turndown'
import { all, ancestor, holds, isElement, MARKS, namesOf, oneLine } from './elements.ts'
import { markdownTables } from './markdown-tables.ts'

/** Converts a tree without clutter to Markdown. Changes the tree. */
export function markdownOf(root: Element): string {
  const blocks = takeCodeBlocks(root)
  const turndown = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
    br: '',
  })
  // Text is not escaped, because escapes would be read, embedded and searched as text.
  turndown.escape = (text) => text
  turndown.use([plainRules, listRules, definitionLists, markdownTables])
  return withBlocks(tidied(turndown.turndown(asNode(root))), blocks)
    .trim()
    .toWellFormed()
}

/** turndown's types only allow the browser's nodes. */
function asNode(root: Element): TurndownService.Node {
  return root as TurndownService.Node
}

/** Leaves out addresses of links and pictures, and anything that does not fit on one line. */
function plainRules(turndown: TurndownService): void {
  turndown.addRule('link', { filter: 'a', replacement: (content) => content })
  turndown.addRule('rule', { filter: 'hr', replacement: () => '\n\n' })
  turndown.addRule('heading', {
    filter: ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'],
    replacement: (content, node) => {
      const text = oneLine(isElement(node) ? node.textContent : content)
      if (text === '') return ''
      // A block of code in a heading stays a block.
      if (text.includes(MARKS.open)) return `\n\n${content}\n\n`
      return `\n\n${'#'.repeat(Number(node.nodeName.charAt(1)))} ${text}\n\n`
    },
  })
  turndown.addRule('code', {
    // The types do not include obsolete HTML tags.
    filter: ['code', 'kbd', 'samp', 'tt'] as TurndownService.Filter,
    replacement: (content, node) => {
      if (content.includes(MARKS.open)) return content
      return codeSpan(isElement(node) ? (node.textContent ?? '') : content)
    },
  })
  turndown.addRule('emphasis', {
    filter: ['em', 'i', 'cite', 'dfn'],
    replacement: (content, node) => surrounded(content, '*', node),
  })
  turndown.addRule('strong', {
    filter: ['strong', 'b'],
    replacement: (content, node) => surrounded(content, '**', node),
  })
  turndown.addRule('strikethrough', {
    // As above.
    filter: ['del', 's', 'strike'] as TurndownService.Filter,
    replacement: (content, node) => surrounded(content, '~~', node),
  })
}

function codeSpan(text: string): string {
  const line = text.replace(/\s*\n\s*/g, ' ')
  if (line.trim() === '') return line
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  const space = /^`|`$/.test(line) ? ' ' : ''
  return `${fence}${space}${line}${space}${fence}`
}

/** Several paragraphs, or empty text, cannot be emphasized, and `<b><b>` is no more than `<b>`. */
function surrounded(content: string, sign: string, node: TurndownService.Node): string {
  const isSame = (outer: Element) => outer.nodeName === node.nodeName
  const isInSame = isElement(node) && ancestor(node, isSame) !== null
  const isPlain = isInSame || content.trim() === '' || /\n|\uFDD0/.test(content)
  return isPlain ? content : `${sign}${content}${sign}`
}

function listRules(turndown: TurndownService): void {
  const numbers = new WeakMap<Element, number>()
  turndown.addRule('list', {
    filter: ['ul', 'ol', 'menu'],
    replacement: (content, node) => {
      const isInItem = isElement(node) && ancestor(node, (at) => at.nodeName === 'LI') !== null
      return isInItem ? `\n${content.trimEnd()}\n` : `\n\n${content.trim()}\n\n`
    },
  })
  turndown.addRule('listItem', {
    filter: 'li',
    replacement: (content, node) => {
      const text = content.trim()
      if (text === '' || !isElement(node)) return ''
      const prefix = `${node.parentElement?.nodeName === 'OL' ? `${itemNumber(node, numbers)}.` : '-'} `
      return `${prefix}${text.replace(/\n(?=[^\n])/g, `\n${' '.repeat(prefix.length)}`)}\n`
    },
  })
}

/** Counts from one item to the next, because the items of a list are converted in order. */
function itemNumber(item: Element, numbers: WeakMap<Element, number>): number {
  const own = Number.parseInt(item.getAttribute('value') ?? '', 10)
  const list = item.parentElement
  const start = Number.parseInt(list?.getAttribute('start') ?? '1', 10)
  const last = list === null ? undefined : numbers.get(list)
  const number = Number.isNaN(own) ? (last ?? (Number.isNaN(start) ? 1 : start) - 1) + 1 : own
  if (list !== null) numbers.set(list, number)
  return number
}

/** Removes white space at line ends, repeated empty lines, and invisible characters. */
function tidied(markdown: string): string {
  return markdown
    .replace(/\u00A0/g, ' ')
    .replace(/[\u200B\uFEFF\u00AD\u2060]/g, '')
    .replace(/(?<=\S)\*{4}(?=\S)/g, '')
    .replace(/[^\S\n]+$/gm, '')
    .replace(/^(?:- )?-$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
}

const MARKED_PLACE = /^(.*)\uFDD0(\d+)\uFDD1(.*)$/gm

/** Starts blocks at the beginning of a line, even in lists and quotes, to keep their text exact. */
function withBlocks(markdown: string, blocks: readonly CodeBlock[]): string {
  const parts: string[] = []
  let end = 0
  for (const found of markdown.matchAll(MARKED_PLACE)) {
    const [line, before = '', index = '', after = ''] = found
    const block = blocks[Number(index)]
    const lead = before.replace(/^[\s>]*(?:-\s*)*$/, '').trimEnd()
    parts.push(markdown.slice(end, found.index).replace(/(?:\n[ \t>]*)+$/, ''))
    if (lead !== '') parts.push(lead)
    if (block !== undefined) parts.push(fenced(block))
    end = found.index + line.length
    if (after.trim() !== '') parts.push(after.trim())
    const rest = /^(?:\n[ \t>]*(?=\n|$))*\n?/.exec(markdown.slice(end))?.[0].length ?? 0
    end += rest
  }
  parts.push(markdown.slice(end))
  return parts.filter((part, index) => part !== '' || index === 0).join('\n\n')
}

const BLOCKS = 'ul, ol, dl, table, blockquote, h1, h2, h3, h4, h5, h6, p + p, div + div, p + div'

/** A list if no definition is longer than a paragraph, otherwise paragraphs. */
function definitionLists(turndown: TurndownService): void {
  const known = new WeakMap<Element, boolean>()
  const isShort = (item: Element): boolean => {
    const list = listOf(item)
    if (list === null) return false
    const answer = known.get(list) ?? hasShortItems(list)
    known.set(list, answer)
    return answer
  }
  turndown.addRule('definitionTerm', {
    filter: 'dt',
    replacement: (content, node) => {
      if (!isElement(node)) return content
      const isItem = isShort(node)
      const term = termOf(node, isItem ? content.trim().replace(/\s*:$/, '') : content)
      if (term === '') return ''
      if (!isItem) return `\n\n${term}\n\n`
      const next = node.nextElementSibling
      const mark = node.previousElementSibling?.nodeName === 'DT' ? '' : '- '
      const end = next === null ? '\n' : next.nodeName === 'DT' ? ', ' : ': '
      return `${mark}${term}${end}`
    },
  })
  turndown.addRule('definition', {
    filter: 'dd',
    replacement: (content, node) => {
      const text = content.trim()
      if (!isElement(node) || !isShort(node)) return `\n\n${text}\n\n`
      const isSecond = node.previousElementSibling?.nodeName !== 'DT'
      const line = text.replace(/\s*\n\s*/g, ' ')
      if (line === '') return '\n'
      return isSecond ? `- ${line}\n` : `${line}\n`
    },
  })
  turndown.addRule('definitionList', {
    filter: 'dl',
    replacement: (content) => `\n\n${content.trim()}\n\n`,
  })
}

/** Each item may be in a `div`. */
function listOf(item: Element): Element | null {
  const parent = item.parentElement
  return parent?.nodeName === 'DIV' ? parent.parentElement : parent
}

function hasShortItems(list: Element): boolean {
  // Entries of a reference manual keep the same form at any length.
  if (holds(list, 'dt.sig, dt.descname')) return false
  return all(list, 'dd').every((definition) => {
    const isBlock = holds(definition, BLOCKS)
    return !isBlock && !(definition.textContent ?? '').includes('\uFDD0')
  })
}

/** A signature is code, where stars and underscores are not emphasis. */
function termOf(term: Element, content: string): string {
  const text = oneLine(term.textContent)
  if (text === '') return ''
  if (/(?:^|\s)(?:sig|descname|sig-object)(?:\s|$)/.test(namesOf(term))) return `\`${text}\``
  const line = oneLine(content)
  return /[*`]/.test(line) ? line : `**${line}**`
}

/** Code taken out of a page's tree, with a mark in its place. */
interface CodeBlock {
  readonly code: string
  readonly language: string
}

const CODE_BLOCKS = 'pre, listing, xmp, plaintext, div.fragment'

/** Replaces every block of code by a mark, so that its characters stay unchanged. */
function takeCodeBlocks(root: Element): readonly CodeBlock[] {
  const blocks: CodeBlock[] = []
  for (const element of [...all(root, CODE_BLOCKS), ...codeOfLines(root)]) {
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
    return /white-space\s*:\s*pre\b/i.test(style) && !holds(element, CODE_BLOCKS)
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
  const others = all(table, 'td').filter(
    (other) => other !== cell && ancestor(other, (at) => at === block) === null,
  )
  const isListing = others.every((other) => {
    return LINE_NUMBERS.test(namesOf(other)) || /^[\s\d]*$/.test(other.textContent ?? '')
  })
  return isListing && oneLine(cell.textContent) === oneLine(block.textContent) ? table : null
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
function fenced({ code, language }: CodeBlock): string {
  const longest = Math.max(2, ...(code.match(/`{3,}/g) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${code}\n${fence}`
}
