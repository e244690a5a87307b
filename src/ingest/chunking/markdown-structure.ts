import { lineEnd } from './chunk-text.ts'

/** Consecutive lines of Markdown that belong together. */
export interface MarkdownBlock {
  readonly kind: 'heading' | 'text' | 'table' | 'code'
  readonly start: number
  readonly end: number
  /** The level of a heading, from 1 to 6. */
  readonly level: number
  /** For a table, where the first row after the header starts. */
  readonly rowsStart: number
}

const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/
const FENCE = /^ {0,3}(`{3,}|~{3,})/
/** Look for a heading or code fence only at the start of a line, because lines may be long. */
const LINE_START_CHARS = 64
/** Longer lines are neither underlines nor table rulers. */
const RULER_CHARS_MAX = 1_000_000

/** Yields the blocks of a text without gaps. A blank line belongs to the block before it. */
export function* markdownBlocks(text: string): Generator<MarkdownBlock> {
  let textStart = -1
  for (let line = 0; line < text.length; ) {
    const end = lineEnd(text, line)
    const block = structureAt(text, line, end) ?? underlinedHeading(text, line, end)
    if (block === null) {
      if (textStart === -1) textStart = line
      line = end
      if (isBlankLine(text, line)) {
        line = afterBlankLines(text, line)
        yield { kind: 'text', start: textStart, end: line, level: 0, rowsStart: 0 }
        textStart = -1
      }
      continue
    }
    if (textStart !== -1)
      yield { kind: 'text', start: textStart, end: line, level: 0, rowsStart: 0 }
    textStart = -1
    const whole = { ...block, end: afterBlankLines(text, block.end) }
    yield whole
    line = whole.end
  }
  if (textStart !== -1) {
    yield { kind: 'text', start: textStart, end: text.length, level: 0, rowsStart: 0 }
  }
}

/** Returns the text of a heading, truncated to this many characters. */
export function headingText(text: string, { start, end }: MarkdownBlock): string {
  const line = text.slice(start, Math.min(lineEnd(text, start), end, start + HEADING_CHARS_MAX))
  return line
    .replace(/^ {0,3}#{1,6}[ \t]*/, '')
    .replace(/[ \t]+#+[ \t]*$/, '')
    .replace(/[*_`]{1,3}(\S(?:[^*_`]*\S)?)[*_`]{1,3}/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()
}

const HEADING_CHARS_MAX = 300

function structureAt(text: string, start: number, end: number): MarkdownBlock | null {
  const begin = text.slice(start, Math.min(end, start + LINE_START_CHARS))
  const heading = HEADING.exec(begin)
  if (heading !== null) {
    return { kind: 'heading', start, end, level: heading[1]?.length ?? 1, rowsStart: 0 }
  }
  const fence = FENCE.exec(begin)?.[1]
  if (fence !== undefined) {
    return { kind: 'code', start, end: fenceEnd(text, end, fence), level: 0, rowsStart: 0 }
  }
  return tableAt(text, start, end)
}

/** Returns the position after the line that closes the fence, or the end of the text. */
function fenceEnd(text: string, from: number, fence: string): number {
  for (let line = from; line < text.length; ) {
    const end = lineEnd(text, line)
    const begin = text.slice(line, Math.min(end, line + LINE_START_CHARS)).trim()
    const isClosing = begin.startsWith(fence) && begin === begin.charAt(0).repeat(begin.length)
    line = end
    if (isClosing) return line
  }
  return text.length
}

/** A line with a bar, a line of bars and dashes, and the lines with a bar after them. */
function tableAt(text: string, start: number, end: number): MarkdownBlock | null {
  const bar = text.indexOf('|', start)
  if (bar === -1 || bar >= end || end >= text.length) return null
  const rowsStart = lineEnd(text, end)
  if (!isRuler(text, end, rowsStart)) return null
  let line = rowsStart
  while (line < text.length && !isBlankLine(text, line)) {
    const next = lineEnd(text, line)
    const at = text.indexOf('|', line)
    if (at === -1 || at >= next) break
    line = next
  }
  return { kind: 'table', start, end: line, level: 0, rowsStart }
}

function isRuler(text: string, start: number, end: number): boolean {
  if (end - start > RULER_CHARS_MAX) return false
  const line = text.slice(start, end)
  return /^[ \t|:-]*\r?\n?$/.test(line) && line.includes('-') && line.includes('|')
}

/** Recognizes a one-line paragraph underlined with `===` or `---`. */
function underlinedHeading(text: string, start: number, end: number): MarkdownBlock | null {
  if (end >= text.length || end - start > HEADING_CHARS_MAX || isBlankLine(text, start)) return null
  if (start > 0 && !isBlankLine(text, previousLine(text, start))) return null
  const next = lineEnd(text, end)
  if (next - end > HEADING_CHARS_MAX) return null
  const under = text.slice(end, next).trim()
  if (
    !/^(?:={2,}|-{3,})$/.test(under) ||
    /^[ \t]*(?:[-*>|]|\d+[.)])/.test(text.slice(start, end))
  ) {
    return null
  }
  const level = under.startsWith('=') ? 1 : 2
  return { kind: 'heading', start, end: next, level, rowsStart: 0 }
}

function previousLine(text: string, start: number): number {
  return start < 2 ? 0 : text.lastIndexOf('\n', start - 2) + 1
}

/** Examine at most this much white space at the start of a line. */
const BLANK_CHARS_MAX = 200

/** Whether the line that starts there is blank; false after the last line. */
function isBlankLine(text: string, start: number): boolean {
  if (start >= text.length) return false
  for (let at = start; at < start + BLANK_CHARS_MAX; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 10 || Number.isNaN(code)) return true
    if (code !== 32 && code !== 9 && code !== 13) return false
  }
  return false
}

function afterBlankLines(text: string, start: number): number {
  let line = start
  while (isBlankLine(text, line)) line = lineEnd(text, line)
  return line
}
