/**
 * Text of a model, as far as it is Markdown: paragraphs, headings, lists, tables, code, quotes, emphasis, links. It becomes a
 * tree; whatever else it holds, HTML above all, stays text. Takes time in proportion to the text.
 */

export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong'; readonly content: readonly Inline[] }
  | { readonly kind: 'emphasis'; readonly content: readonly Inline[] }
  | { readonly kind: 'link'; readonly href: string; readonly text: string }
  /** The position among the ids that were cited. */
  | { readonly kind: 'citation'; readonly index: number }

export type Block =
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'quote'; readonly text: string }
  | { readonly kind: 'heading'; readonly text: string }
  /** The language as the text names it, perhaps not at all. */
  | { readonly kind: 'code'; readonly text: string; readonly language: string }
  | { readonly kind: 'list'; readonly first: number | null; readonly items: readonly ListItem[] }
  | { readonly kind: 'table'; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: 'rule' }

/** What belongs to an item below its text: lists, code. */
interface ListItem {
  readonly text: string
  readonly blocks: readonly Block[]
}

const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/
const FENCE = /^\s{0,3}(```|~~~)/
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/
const DEPTH_MAX = 5
const HEADING = /^#{1,6}\s+(.*)$/
const TABLE_RULE = /^[\s|:-]*-[\s|:-]*$/

interface ReadText {
  readonly text: string
  readonly blocks: readonly Block[]
  /** Blocks that stay as they are when more text comes, and where those after them begin. */
  readonly keptCount: number
  readonly keptChars: number
}

export const NOTHING_READ: ReadText = { text: '', blocks: [], keptCount: 0, keptChars: 0 }

export function blocksOf(text: string): readonly Block[] {
  return readOn(NOTHING_READ, text).blocks
}

/** Reads a text that has grown: what cannot become something else by that is not read again. */
export function readOn(before: ReadText, text: string): ReadText {
  if (text === before.text) return before
  const isMore = text.startsWith(before.text)
  const start = isMore ? before.keptChars : 0
  const raw = text.slice(start).split('\n')
  const lines = raw.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
  const found = blocksIn(lines, 0)
  // The line that still grows may turn out to belong to the block before it.
  const isOpen = (found.at(-1)?.lineIndex ?? 0) === lines.length - 1
  const openCount = Math.min(found.length, isOpen ? 2 : 1)
  const openLine = found.at(-openCount)?.lineIndex ?? 0
  const kept = isMore ? before.blocks.slice(0, before.keptCount) : []
  return {
    text,
    blocks: [...kept, ...found.map(({ block }) => block)],
    keptCount: kept.length + found.length - openCount,
    keptChars: raw.slice(0, openLine).reduce((sum, line) => sum + line.length + 1, start),
  }
}

function blocksIn(lines: readonly string[], depth: number) {
  const found: { readonly block: Block; readonly lineIndex: number }[] = []
  for (let at = 0; at < lines.length; ) {
    const { block, end } = blockAt(lines, at, depth)
    if (block !== undefined) found.push({ block, lineIndex: at })
    at = end
  }
  return found
}

interface Read {
  readonly block?: Block
  readonly end: number
}

function blockAt(lines: readonly string[], at: number, depth: number): Read {
  const line = lines[at] ?? ''
  if (line.trim() === '') return { end: at + 1 }
  if (FENCE.test(line)) return codeAt(lines, at)
  const heading = HEADING.exec(line)?.[1]
  if (heading !== undefined) return { block: { kind: 'heading', text: heading }, end: at + 1 }
  if (RULE.test(line)) return { block: { kind: 'rule' }, end: at + 1 }
  if (line.includes('|') && TABLE_RULE.test(lines[at + 1] ?? '') && lines[at + 1]?.includes('|')) {
    const end = endOf(lines, at + 2, (one) => one.includes('|'))
    const rows = [line, ...lines.slice(at + 2, end)].map(cellsOf)
    return { block: { kind: 'table', rows }, end }
  }
  if (line.startsWith('>')) {
    const end = endOf(lines, at, (one) => one.startsWith('>'))
    const text = lines.slice(at, end).map((one) => one.replace(/^>\s?/, ''))
    return { block: { kind: 'quote', text: text.join('\n') }, end }
  }
  if (ITEM.test(line) && depth < DEPTH_MAX) return listAt(lines, at, depth)
  const end = endOf(lines, at + 1, (one) => !beginsBlock(one))
  return { block: { kind: 'paragraph', text: lines.slice(at, end).join('\n') }, end }
}

function codeAt(lines: readonly string[], at: number): Read {
  const line = (lines[at] ?? '').trim()
  const fence = line.slice(0, 3)
  const end = endOf(lines, at + 1, (one) => !one.trim().startsWith(fence))
  const language = /^[\w.+#-]{1,30}/.exec(line.replace(/^[`~]+\s*/, ''))?.[0] ?? ''
  const text = lines.slice(at + 1, end).join('\n')
  return { block: { kind: 'code', text, language }, end: end + 1 }
}

function listAt(lines: readonly string[], at: number, depth: number): Read {
  const [, indent = '', number] = ITEM.exec(lines[at] ?? '') ?? []
  const parts: string[][] = []
  let end = at
  for (let next = at; next < lines.length; next += 1) {
    const line = lines[next] ?? ''
    if (line.trim() === '') continue
    const item = itemAt(line, indent.length)
    const isApart = next > end
    if (item !== undefined) {
      if (item.isOrdered !== (number !== undefined) || RULE.test(line)) break
      parts.push([item.text])
    } else if (!/^\s/.test(line) || (isApart && !/^\s{2}/.test(line))) break
    else parts.at(-1)?.push(...(isApart ? ['', line] : [line]))
    end = next + 1
  }
  const items = parts.map((part) => itemOf(part, depth))
  return {
    block: { kind: 'list', first: number === undefined ? null : Number(number), items },
    end,
  }
}

/** An item of a list that begins so far from the edge; undefined: none, or one of a list within it. */
function itemAt(line: string, indent: number) {
  const [, spaces = '', number, text = ''] = ITEM.exec(line) ?? []
  if (!ITEM.test(line) || spaces.length >= indent + 2) return
  return { isOrdered: number !== undefined, text }
}

function itemOf([first = '', ...rest]: readonly string[], depth: number): ListItem {
  const textEnd = endOf(rest, 0, (line) => !beginsBlock(line.trimStart()))
  const text = [first, ...rest.slice(0, textEnd).map((line) => line.trim())].join('\n')
  const inner = rest.slice(textEnd)
  const indents = inner.filter((line) => line !== '').map((line) => /^\s*/.exec(line)?.[0].length)
  const indent = indents.reduce<number>((least, one = 0) => Math.min(least, one), 1000)
  const bare = inner.map((line) => line.slice(indent))
  return { text, blocks: blocksIn(bare, depth + 1).map(({ block }) => block) }
}

function beginsBlock(line: string): boolean {
  return line.trim() === '' || /^\s{0,3}(```|~~~|>|#{1,6}\s)/.test(line) || ITEM.test(line)
}

function endOf(lines: readonly string[], from: number, belongs: (line: string) => boolean): number {
  let end = from
  while (end < lines.length && belongs(lines[end] ?? '')) end += 1
  return end
}

function cellsOf(line: string): readonly string[] {
  const bare = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return bare.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim())
}

const MARKS = /`|\*\*|\*|\[|https?:\/\//g
const LINK = /\[([^\][\n]{1,500})\]\((https?:\/\/[^\s()<>]{1,2000})\)/y
const ADDRESS = /https?:\/\/[^\s<>"'`|)\]]{1,2000}/y
/** Longer than any emphasis: a text of stars is read once, not once for each star. */
const SPAN_CHARS_MAX = 2000

/** @param cited ids that stand in the text as `[id]` */
export function inlinesOf(text: string, cited: readonly string[], depth = 0): readonly Inline[] {
  const found: Inline[] = []
  let done = 0
  const marks = new RegExp(MARKS)
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const read = inlineAt(text, mark.index, mark[0], { cited, depth })
    if (read === undefined) continue
    if (mark.index > done) found.push({ kind: 'text', text: text.slice(done, mark.index) })
    found.push(read.inline)
    done = read.end
    marks.lastIndex = done
  }
  if (done < text.length) found.push({ kind: 'text', text: text.slice(done) })
  return found
}

function inlineAt(
  text: string,
  at: number,
  mark: string,
  { cited, depth }: { readonly cited: readonly string[]; readonly depth: number },
): { readonly inline: Inline; readonly end: number } | undefined {
  if (mark === '[') {
    const index = cited.findIndex((id) => text.startsWith(`[${id}]`, at))
    const id = cited[index]
    if (id !== undefined) return { inline: { kind: 'citation', index }, end: at + id.length + 2 }
    const [whole = '', words = '', href = ''] = matchAt(LINK, text, at)
    if (whole === '') return undefined
    return { inline: { kind: 'link', href, text: words }, end: at + whole.length }
  }
  if (mark.startsWith('http')) {
    const [href = ''] = matchAt(ADDRESS, text, at)
    const clean = href.replace(/[.,;:!?]+$/, '')
    if (!URL.canParse(clean)) return undefined
    return { inline: { kind: 'link', href: clean, text: clean }, end: at + clean.length }
  }
  const start = at + mark.length
  const length = text.slice(start, start + SPAN_CHARS_MAX).indexOf(mark)
  const inner = text.slice(start, start + length)
  if (length <= 0 || /^\s|\s$/.test(inner)) return undefined
  const end = start + length + mark.length
  if (mark === '`') return { inline: { kind: 'code', text: inner }, end }
  if (depth > 2) return undefined
  const content = inlinesOf(inner, cited, depth + 1)
  return { inline: { kind: mark === '**' ? 'strong' : 'emphasis', content }, end }
}

function matchAt(pattern: RegExp, text: string, at: number): readonly string[] {
  const sticky = new RegExp(pattern)
  sticky.lastIndex = at
  return sticky.exec(text) ?? []
}
