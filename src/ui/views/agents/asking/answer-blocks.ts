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
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }
  | { readonly kind: 'table'; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: 'rule' }

const ITEM = /^\s{0,6}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/
const HEADING = /^#{1,6}\s+(.*)$/
const TABLE_RULE = /^[\s|:-]*-[\s|:-]*$/

export function blocksOf(text: string): readonly Block[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; ) {
    const { block, end } = blockAt(lines, at)
    if (block !== undefined) blocks.push(block)
    at = end
  }
  return blocks
}

interface Read {
  readonly block?: Block
  readonly end: number
}

function blockAt(lines: readonly string[], at: number): Read {
  const line = lines[at] ?? ''
  if (line.trim() === '') return { end: at + 1 }
  if (/^\s{0,3}(```|~~~)/.test(line)) return codeAt(lines, at)
  const heading = HEADING.exec(line)?.[1]
  if (heading !== undefined) return { block: { kind: 'heading', text: heading }, end: at + 1 }
  if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return { block: { kind: 'rule' }, end: at + 1 }
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
  if (ITEM.test(line)) return listAt(lines, at)
  const end = endOf(lines, at + 1, (one) => !beginsBlock(one))
  return { block: { kind: 'paragraph', text: lines.slice(at, end).join('\n') }, end }
}

function codeAt(lines: readonly string[], at: number): Read {
  const fence = (lines[at] ?? '').trim().slice(0, 3)
  const end = endOf(lines, at + 1, (one) => !one.trim().startsWith(fence))
  return { block: { kind: 'code', text: lines.slice(at + 1, end).join('\n') }, end: end + 1 }
}

function listAt(lines: readonly string[], at: number): Read {
  const items: string[] = []
  const isOrdered = ITEM.exec(lines[at] ?? '')?.[1] !== undefined
  const end = endOf(lines, at, (one) => {
    const found = ITEM.exec(one)
    if (found !== null) items.push(found[2] ?? '')
    else if (one.trim() === '' || !/^\s/.test(one)) return false
    else items.push(`${items.pop() ?? ''}\n${one.trim()}`)
    return true
  })
  return { block: { kind: 'list', isOrdered, items }, end }
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
  const bare = line.trim().replace(/^\|/, '').replace(/\|$/, '')
  return bare.split('|').map((cell) => cell.trim())
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

interface Inside {
  readonly cited: readonly string[]
  readonly depth: number
}

function inlineAt(
  text: string,
  at: number,
  mark: string,
  { cited, depth }: Inside,
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
