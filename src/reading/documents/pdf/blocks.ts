import { MARKER, withoutSpareColumns } from './aligned-tables.ts'
import { type Headings, isListOfNames } from './headings.ts'
import { joined, type Vocabulary, withoutSoftHyphens } from './joined-lines.ts'
import { type Line, RTL } from './page/fragments.ts'

export interface Block {
  readonly kind: 'text' | 'heading' | 'entry' | 'table' | 'code'
  readonly text: string
  readonly size?: number
}

export interface Surroundings {
  readonly headings: Headings
  readonly vocabulary: Vocabulary
  readonly pageIndex: number
  /** Whether most of the document is in a monospaced font, so that this does not indicate code. */
  readonly isTypewritten: boolean
}

/** A manual's `[Function]` tag moves from the end of a prototype's first line to its start. */
export function withMarginTagFirst(line: Line): Line {
  const tag = line.cells.at(-1)
  if (line.table !== null || line.cells.length !== 2 || tag === undefined) return line
  if (!MARGIN_TAG.test(tag.text)) return line
  const text = [tag, ...line.cells.slice(0, -1)].map((cell) => cell.text).join(' ')
  const whole = { ...line, text, font: tag.font }
  // One cell, so that it is not taken for a table row.
  return { ...whole, cells: [whole] }
}

export function blocksOf(lines: readonly Line[], around: Surroundings): Block[] {
  const column = columnAround(lines)
  const blocks: Block[] = []
  let index = 0
  while (index < lines.length) {
    const line = lines[index]
    if (line === undefined) break
    const end = blockEnd(lines, index, column, around)
    const own = lines.slice(index, end)
    const kind = lineKind(lines, index, column, around)
    const level = kind === 'heading' ? (levelAt(lines, index, column, around) ?? 1) : 0
    const text = blockText(own, kind, column, around)
    blocks.push({ kind, text: level > 0 ? `${'#'.repeat(level)} ${text}` : text, size: line.size })
    index = end
  }
  return blocks
}

interface Column {
  readonly x0: number
  readonly x1: number
  /** The usual distance between two lines. */
  readonly leading: number
  readonly isRtl: boolean
}

function columnAround(lines: readonly Line[]): Column {
  const texts = lines.filter(({ table }) => table === null)
  const leadings = texts
    .flatMap((line, index) => {
      const before = texts[index - 1]
      return before === undefined ? [] : [(line.baseline - before.baseline) / line.size]
    })
    .filter((leading) => leading > 0.8 && leading < 2.5)
    .sort((a, b) => a - b)
  return {
    ...margins(texts.filter((line) => !line.isMonospace)),
    leading: leadings[Math.floor(leadings.length * 0.4)] ?? 1.3,
    isRtl: texts.filter(({ text }) => RTL.test(text)).length > texts.length / 2,
  }
}

/** Returns the outermost edges that several lines share. Single lines may extend beyond them. */
function margins(lines: readonly Line[]): Pick<Column, 'x0' | 'x1'> {
  const left = lines.map(({ x0 }) => x0).sort((a, b) => a - b)
  const right = lines.map(({ x1 }) => x1).sort((a, b) => b - a)
  const edge = (sorted: readonly number[]) =>
    sorted.find((value, index) => Math.abs(value - (sorted[index + 2] ?? Number.NaN)) < 3) ??
    sorted[0] ??
    0
  return { x0: edge(left), x1: edge(right) }
}

type Kind = Block['kind']

function lineKind(
  lines: readonly Line[],
  index: number,
  column: Column,
  around: Surroundings,
): Kind {
  const line = lines[index]
  if (line === undefined) return 'text'
  if (line.table !== null) return 'table'
  if (isCode(lines, index, column, around)) return 'code'
  if (levelAt(lines, index, column, around) !== null) return 'heading'
  return startsEntry(lines, index) ? 'entry' : 'text'
}

/** Returns the index after the block that starts here. */
function blockEnd(
  lines: readonly Line[],
  start: number,
  column: Column,
  around: Surroundings,
): number {
  const kind = lineKind(lines, start, column, around)
  let end = start + 1
  if (kind === 'table') return end
  if (kind === 'heading') {
    while (
      end < lines.length &&
      end - start < HEADING_LINES_MAX &&
      isSameHeading(lines, end, column, around)
    )
      end += 1
    return end
  }
  if (kind === 'code') {
    while (end < lines.length && isCode(lines, end, column, around)) end += 1
    return end
  }
  while (end < lines.length) {
    const next = lineKind(lines, end, column, around)
    if (next !== 'text' || startsParagraph(lines, end, column)) break
    end += 1
  }
  return end
}

function isSameHeading(
  lines: readonly Line[],
  index: number,
  column: Column,
  around: Surroundings,
): boolean {
  const [before, line] = [lines[index - 1], lines[index]]
  if (before === undefined || line === undefined) return false
  const level = levelAt(lines, index, column, around)
  if (level === null || level !== levelAt(lines, index - 1, column, around)) return false
  return (
    Math.abs(line.size - before.size) < 0.6 &&
    line.baseline - before.baseline < line.size * 1.8 &&
    !NUMBERED.test(line.text)
  )
}

function levelAt(
  lines: readonly Line[],
  index: number,
  column: Column,
  around: Surroundings,
): number | null {
  const line = lines[index]
  if (line === undefined || line.table !== null || CAPTION.test(line.text)) return null
  if (BULLET_START.test(line.text)) return null
  const level = around.headings.levelOf(line, around.pageIndex)
  if (level !== null) return level
  const { headings } = around
  const isBold = line.font.bold && line.cells.every(({ font }) => font.bold)
  if (!isBold || line.size < headings.bodySize * 0.88 || line.text.length > BOLD_CHARS_MAX)
    return null
  if (around.pageIndex === 0 && isListOfNames(line)) return null
  if (/[.,;:]$/.test(line.text) || !/\p{L}{2}|[\u3040-\u9fff\uac00-\ud7af]/u.test(line.text))
    return null
  const [before, after] = [lines[index - 1], lines[index + 1]]
  const gap = before === undefined ? Number.POSITIVE_INFINITY : line.baseline - before.baseline
  if (gap < line.size * column.leading * 1.2 || after === undefined || after.font.bold) return null
  return after.table === null ? headings.boldLevel : null
}

function isCode(
  lines: readonly Line[],
  index: number,
  column: Column,
  around: Surroundings,
): boolean {
  const line = lines[index]
  if (around.isTypewritten || line === undefined || !isMonospace(line)) return false
  const [before, after] = [lines[index - 1], lines[index + 1]]
  if (isInPrototype(lines, index)) return false
  if (isMonospace(before) || isMonospace(after)) return true
  if (line.text.length < CODE_CHARS_MIN && !CODE_SIGNS.test(line.text)) return false
  const usual = line.size * column.leading * 1.25
  const isStacked =
    (before === undefined || line.baseline - before.baseline > usual) &&
    (after === undefined || after.baseline - line.baseline > usual)
  return isStacked || line.x0 > column.x0 + line.size * 1.5
}

/** Whether the line is inside the brackets of a prototype with a tag in the margin. */
function isInPrototype(lines: readonly Line[], index: number): boolean {
  const before = lines.slice(Math.max(0, index - PROTOTYPE_LINES_MAX), index)
  const from = before.findLastIndex(({ text }) => MARGIN_TAG.test(text.replace(/(?<=\]).*/s, '')))
  if (from === -1) return false
  const text = before
    .slice(from)
    .map((line) => line.text)
    .join(' ')
  return text.split('(').length > text.split(')').length
}

function isMonospace(line: Line | undefined): boolean {
  return line !== undefined && line.table === null && line.isMonospace
}

function startsEntry(lines: readonly Line[], index: number): boolean {
  const line = lines[index]
  if (line === undefined || isInPrototype(lines, index)) return false
  const [mark = ''] = line.text.split(/\s/, 1)
  if (BULLET.test(mark)) {
    return line.text.length > mark.length && !(DASH.test(mark) && goesOn(lines, index))
  }
  if (!MARKER.test(mark) || !ENTRY_NUMBER.test(mark)) return false
  const before = lines[index - 1]
  // A line that starts with a number by chance is aligned with the previous line.
  return (
    before === undefined ||
    (Math.abs(before.x0 - line.x0) > line.size * 0.5 && !isBelowIndent(lines, index)) ||
    ENDS.test(before.text) ||
    startsEntry(lines, index - 1)
  )
}

/** Whether the line above is the indented first line of a paragraph. */
function isBelowIndent(lines: readonly Line[], index: number): boolean {
  const [above, before, line] = lines.slice(Math.max(0, index - 2), index + 1)
  if (above === undefined || before === undefined || line === undefined) return false
  const isAligned = Math.abs(above.x0 - line.x0) < line.size * 0.5
  return isAligned && before.x0 > line.x0 && !startsEntry(lines, index - 2)
}

/** Whether the sentence continues in the next line. */
function goesOn(lines: readonly Line[], index: number): boolean {
  const [before, line] = [lines[index - 1], lines[index]]
  if (before === undefined || line === undefined || before.table !== null) return false
  return (
    Math.abs(before.x0 - line.x0) < line.size * 0.5 &&
    line.baseline - before.baseline < line.size * 1.6 &&
    !ENDS.test(before.text) &&
    !startsEntry(lines, index - 1)
  )
}

function startsParagraph(lines: readonly Line[], index: number, column: Column): boolean {
  const [before, line] = [lines[index - 1], lines[index]]
  if (before === undefined || line === undefined) return true
  if (isInPrototype(lines, index)) return false
  const distance = line.baseline - before.baseline
  if (distance > line.size * Math.max(column.leading, 1) * 1.35 || distance < 0) return true
  if (Math.abs(line.size - before.size) > line.size * 0.12) return true
  const indent = indentOf(line, column) - indentOf(before, column)
  const isEntry = startsEntry(lines, index - 1)
  const isEnd = ENDS.test(before.text)
  const isShorter = isShort(before, line, column)
  if (indent > line.size * 0.8 && !isEntry && indentOf(before, column) < line.size * 0.8) {
    // In a bibliography, all lines of an entry except the first are indented.
    return indent < line.size * 6 && (isEnd || isShorter)
  }
  const isBack = indent < -line.size * 0.8 && !isEntry
  if (isBack && isEnd && index > 1 && !startsParagraph(lines, index - 1, column)) return true
  return isShorter && isEnd
}

/** The distance from the edge where reading starts to the start of the line. */
function indentOf(line: Line, { x0, x1, isRtl }: Column): number {
  return isRtl ? x1 - line.x1 : line.x0 - x0
}

/** Whether the first word of the next line would have fitted on this line. */
function isShort(line: Line, next: Line, { x0, x1, isRtl }: Column): boolean {
  const room = isRtl ? line.x0 - x0 : x1 - line.x1
  const [word = ''] = next.text.split(/\s/, 1)
  const charWidth = (next.x1 - next.x0) / (next.text.length || 1)
  return room > Math.min(word.length, 12) * charWidth + line.size
}

function blockText(
  lines: readonly Line[],
  kind: Kind,
  column: Column,
  { vocabulary }: Surroundings,
): string {
  switch (kind) {
    case 'table':
      return withoutLeaders(markdownTable(lines[0]?.table ?? [], vocabulary))
    case 'code':
      return fenced(lines)
    case 'heading':
      return joinedLines(
        lines.map(({ text }) => text),
        vocabulary,
      )
    case 'entry':
      return withoutLeaders(paragraph(lines, column, vocabulary)).replace(BULLET_START, '- ')
    case 'text':
      return unmarked(withoutLeaders(paragraph(lines, column, vocabulary)))
  }
}

/** Removes leader dots before a number. */
function withoutLeaders(text: string): string {
  return text.replace(LEADERS, ' … ').replace(/ … $/gm, '')
}

/** Escapes characters that Markdown would interpret at the start of a paragraph. */
function unmarked(text: string): string {
  return text.replace(/^#+(?=\s)/, '＃')
}

function paragraph(lines: readonly Line[], column: Column, vocabulary: Vocabulary): string {
  const text = lines.slice(1).reduce((before, line, index) => {
    const last = lines[index]
    const isBroken =
      last !== undefined &&
      isShort(last, line, column) &&
      last.x1 - last.x0 < (column.x1 - column.x0) * 0.75 &&
      !HYPHEN_END.test(last.text)
    return isBroken ? `${before}\n${line.text}` : joined(before, line.text, vocabulary)
  }, lines[0]?.text ?? '')
  return withoutSoftHyphens(text)
}

function fenced(lines: readonly Line[]): string {
  const left = Math.min(...lines.map(({ x0 }) => x0))
  const widths = lines
    .map(({ x0, x1, text }) => (x1 - x0) / (text.length || 1))
    .sort((a, b) => a - b)
  const width = widths[widths.length >> 1] || 1
  const code = lines.map((line, index) => {
    const before = lines[index - 1]
    const isParted = before !== undefined && line.baseline - before.baseline > line.size * 2.2
    return (isParted ? '\n' : '') + codeLine(line, left, width)
  })
  const text = withoutSoftHyphens(code.join('\n'))
  const fence = text.includes('```') ? '````' : '```'
  return `${fence}\n${text}\n${fence}`
}

function codeLine({ cells }: Line, left: number, width: number): string {
  let text = ''
  for (const cell of [...cells].sort((a, b) => a.x0 - b.x0)) {
    const column = Math.min(Math.round((cell.x0 - left) / width), INDENT_MAX)
    text = text.padEnd(Math.max(column, text === '' ? 0 : text.length + 1)) + cell.text
  }
  return text
}

function joinedLines(texts: readonly string[], vocabulary: Vocabulary): string {
  return withoutSoftHyphens(texts.reduce((a, b) => joined(a, b, vocabulary)))
}

/** @param table each cell with line breaks */
function markdownTable(table: readonly (readonly string[])[], vocabulary: Vocabulary): string {
  const rows = withoutSpareColumns(table)
  const columns = Math.max(...rows.map(({ length }) => length))
  const lines = rows.map((row) => {
    const cells = Array.from({ length: columns }, (_, index) =>
      joinedLines((row[index] ?? '').split('\n'), vocabulary),
    )
    return `| ${cells.join(' | ')} |`
  })
  lines.splice(1, 0, `|${' --- |'.repeat(columns)}`)
  return lines.join('\n')
}

const BULLET = /^[•◦▪●○■□◆◇►▶➢✓‣·–—*∙-]$/
const DASH = /^[–—-]$/
const BULLET_START = /^[•◦▪●○■□◆◇►▶➢‣·–—*∙-]\s+/
const ENTRY_NUMBER = /^(\(?(\d{1,3}|[a-z]|[ivx]{1,5})[.)]|\[\d{1,3}\])$/i
const NUMBERED = /^\d+(\.\d+)*\.?\s/
const ENDS = /[.!?:;。！？：；؟。…”"')\]）」]$/
const HYPHEN_END = /[-\u00ad\u2010]$/
const CAPTION =
  /^(table|figure|fig\.|tab\.|表|図|图|圖|abb(ildung|\.)|tabelle|рис(унок|\.)|таблица|figura|tableau|cuadro|tabla|그림|표)\s*\.?\s*[\dA-Z]/iu
const MARGIN_TAG =
  /^\[(?:\p{Lu}[\p{L} ]{0,30})?(?:Function|Macro|Command|Variable|Option|Type|Method|Operation|Constant|Form|Procedure|Keyword)\]$/u
const PROTOTYPE_LINES_MAX = 4
const CODE_CHARS_MIN = 12
const CODE_SIGNS = /[=(){};$|<>/]/
const LEADERS = /\s*(?:\.\s?){5,}|\s*(?:…\s?){3,}/g
const HEADING_LINES_MAX = 4
const BOLD_CHARS_MAX = 100
const INDENT_MAX = 120
