import { oneLine } from '../../../core/short-text.ts'

/** The parts of a document, in a form that all formats share. */
export type Block =
  | {
      readonly kind: 'heading'
      readonly level: number
      readonly text: string
      /** Whether it is a line of the document's title. Consecutive ones form one title. */
      readonly isTitle?: boolean
    }
  | { readonly kind: 'paragraph'; readonly text: string }
  | {
      readonly kind: 'item'
      /** Counted from 0. */
      readonly depth: number
      /** For example `-`, `3.` or `(b)`. */
      readonly marker: string
      readonly text: string
    }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'table'; readonly rows: readonly Cells[] }

/** The cells of a row, each as its blocks. Cells covered by a merged one are empty. */
type Cells = readonly (readonly Block[])[]

const TABLE_COLUMNS_SHOWN = 200
/** A cell longer than this is a column of a page layout, not a value. */
const CELL_CHARS_MAX = 2000

/** Writes blocks as Markdown, with blank lines in between except within a list. */
export function markdownOfBlocks(blocks: readonly Block[]): string {
  const written: string[] = []
  let before: Block['kind'] | null = null
  for (let at = 0; at < blocks.length; at += 1) {
    const block = blocks[at]
    if (block === undefined) continue
    const isCode = block.kind === 'code'
    const end = isCode ? endOfCode(blocks, at) : at + 1
    const text = isCode ? fenced(blocks.slice(at, end), '') : markdownOfBlock(block)
    at = end - 1
    if (text === '') continue
    if (written.length > 0) written.push(block.kind === 'item' && before === 'item' ? '\n' : '\n\n')
    written.push(text)
    before = block.kind
  }
  return written.join('').toWellFormed()
}

function markdownOfBlock(block: Block): string {
  if (block.kind === 'table') return markdownOfTable(block.rows)
  const text = block.text
    .replaceAll('\u00ad', '')
    .replace(/[ \t]+$/gm, '')
    .trim()
  if (text === '') return ''
  if (block.kind === 'heading') {
    return `${'#'.repeat(Math.min(Math.max(block.level, 1), 6))} ${oneLine(text)}`
  }
  if (block.kind !== 'item') return text
  const indent = '  '.repeat(Math.min(block.depth, 8))
  return `${indent}${block.marker} ${text.replaceAll('\n', `\n${indent}  `)}`
}

function endOfCode(blocks: readonly Block[], start: number): number {
  let end = start
  while (blocks[end]?.kind === 'code') end += 1
  return end
}

function fenced(blocks: readonly Block[], language: string): string {
  const lines = blocks.map((block) => ('text' in block ? block.text.trimEnd() : ''))
  return fence(lines.join('\n'), language)
}

/** Puts code in a fence that is longer than any fence inside it. */
export function fence(code: string, language: string): string {
  const text = code.replace(/^\n+|\s+$/g, '')
  if (text === '') return ''
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length))
  const marks = '`'.repeat(longest + 1)
  return `${marks}${language}\n${text}\n${marks}`
}

/** Writes a pipe table. A table that is only layout becomes its blocks. */
function markdownOfTable(rows: readonly Cells[]): string {
  const filled = rows.filter((cells) => cells.length > 0)
  const texts = filled.map((cells) => cells.slice(0, TABLE_COLUMNS_SHOWN).map(flatText))
  const width = Math.max(0, ...texts.map((cells) => cells.findLastIndex((cell) => cell !== '') + 1))
  const isLayout =
    width < 2 ||
    texts.some((cells) => cells.some((cell) => cell.length > CELL_CHARS_MAX)) ||
    filled.some((cells) => cells.length > TABLE_COLUMNS_SHOWN)
  if (isLayout) return markdownOfBlocks(filled.flat(2))
  const shown = texts.filter((cells) => cells.some((cell) => cell !== ''))
  const lines = shown.map((cells) => {
    const padded = Array.from({ length: width }, (_, column) => cells[column] ?? '')
    return `| ${padded.join(' | ')} |`
  })
  lines.splice(1, 0, `|${' --- |'.repeat(width)}`)
  return lines.join('\n')
}

function flatText(blocks: readonly Block[]): string {
  const texts = blocks.map((block) => {
    if (block.kind === 'table') return block.rows.flat().map(flatText).join(' ')
    return block.kind === 'item' ? `${block.marker} ${block.text}` : block.text
  })
  const text = oneLine(texts.filter((one) => one.trim() !== '').join(' '))
  return text.replaceAll('\u00ad', '').replaceAll('|', '\\|')
}

/** Joins the lines of a title to one heading. */
export function withWholeTitle(blocks: readonly Block[]): readonly Block[] {
  const whole: Block[] = []
  for (const block of blocks) {
    const before = whole.at(-1)
    const isLine = block.kind === 'heading' && block.isTitle === true && block.text.trim() !== ''
    if (isLine && before?.kind === 'heading' && before.isTitle === true) {
      whole[whole.length - 1] = { ...before, text: `${before.text} ${block.text}` }
    } else if (!('text' in block) || block.text.trim() !== '' || block.kind === 'code') {
      whole.push(block)
    }
  }
  return whole
}

/** The text of the heading styled as title, or else of the first heading at the highest level. */
export function titleOfBlocks(blocks: readonly Block[]): string | null {
  const headings = blocks.filter((block) => block.kind === 'heading')
  const highest = Math.min(...headings.map((heading) => heading.level))
  const own = headings.find((one) => one.isTitle === true)
  const first = own ?? headings.find((one) => one.level === highest && one.text.trim() !== '')
  return first === undefined ? null : oneLine(first.text)
}
