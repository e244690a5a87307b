import type { LimitsUnder } from './chunk-markdown.ts'
import { chunkLines, fits, lineEnd, type TextPiece, trimmedSpan } from './chunk-text.ts'

/** The lines of a code text, counted from 0. */
interface CodeLines {
  /** Offsets of the start of each line, followed by the length of the text. */
  readonly starts: readonly number[]
  /** The width of each line's indentation; -1 for a blank line. */
  readonly indents: readonly number[]
}

/** The lines from `from` up to but not including `to`, inside definitions that were too long. */
interface CodeRange {
  readonly from: number
  readonly to: number
  readonly within: readonly string[]
}

/** Nested definitions are searched to this depth. */
const NESTING_MAX = 24
const TAB_WIDTH = 4
const SIGNATURE_CHARS_MAX = 120

/** Lines that belong to the text above them. */
const CONTINUES =
  /^\s*(?:[)\]}>]|end\b|else\b|elif\b|elsif\b|except\b|finally\b|catch\b|rescue\b|ensure\b|then\b|do\b|fi\b|done\b|esac\b|begin\b|\{)/i
/** Comments, decorators and attributes, which belong to the definition below them. */
const INTRODUCES = /^\s*(?:\/\/|#|\/?\*|--|;;|@|\[|'''|"""|%)/

/**
 * At the least indented lines. A definition that does not fit repeats its first line as context.
 */
export function* chunkCode(text: string, limitsUnder: LimitsUnder): Generator<TextPiece> {
  const lines = codeLines(text)
  const all = { from: 0, to: lines.indents.length, within: [] }
  yield* rangePieces({ text, lines, limitsUnder }, all, 0)
}

interface Code {
  readonly text: string
  readonly lines: CodeLines
  readonly limitsUnder: LimitsUnder
}

function* rangePieces(code: Code, range: CodeRange, depth: number): Generator<TextPiece> {
  const { text, limitsUnder } = code
  const limits = limitsUnder(range.within)
  let open: CodeRange | null = null
  for (const unit of unitsOf(code, range, depth)) {
    const joint: CodeRange = open === null ? unit : { ...open, to: unit.to }
    const span = trimmedSpan(text, spanOf(code, joint))
    if (span === null || fits(text, span.startChar, span.endChar, limits)) {
      open = joint
      continue
    }
    if (open !== null) yield* wholePiece(code, open)
    open = null
    const own = trimmedSpan(text, spanOf(code, unit))
    if (own === null || fits(text, own.startChar, own.endChar, limits)) open = unit
    else yield* longUnit(code, unit, depth)
  }
  if (open !== null) yield* wholePiece(code, open)
}

function* wholePiece(code: Code, range: CodeRange): Generator<TextPiece> {
  const span = trimmedSpan(code.text, spanOf(code, withoutBlankStart(code.lines, range)))
  if (span === null) return
  yield { ...span, above: range.within, headings: range.within, repeated: '' }
}

function withoutBlankStart({ indents }: CodeLines, range: CodeRange): CodeRange {
  let { from } = range
  while (from < range.to && indents[from] === -1) from += 1
  return { ...range, from }
}

function* longUnit(code: Code, range: CodeRange, depth: number): Generator<TextPiece> {
  const { text, lines, limitsUnder } = code
  const unit = withoutBlankStart(lines, range)
  if (depth < NESTING_MAX && hasParts(code, unit, depth + 1)) {
    const first = firstCodeLine(code, unit)
    const within = [...unit.within, signatureOf(text, lines.starts[first] ?? 0)]
    let isFirst = true
    for (const piece of rangePieces(code, { ...unit, within }, depth + 1)) {
      yield isFirst ? { ...piece, above: unit.within } : piece
      isFirst = false
    }
    return
  }
  const limits = limitsUnder(unit.within)
  for (const span of chunkLines(text, spanOf(code, unit), () => limits)) {
    yield { ...span, above: unit.within, headings: unit.within, repeated: '' }
  }
}

function hasParts(code: Code, range: CodeRange, depth: number): boolean {
  let count = 0
  for (const _ of unitsOf(code, range, depth)) {
    count += 1
    if (count > 1) return true
  }
  return false
}

/** Returns the first line that is not a comment, unless it is the last line. */
function firstCodeLine(
  { text, lines }: Pick<Code, 'text' | 'lines'>,
  { from, to }: CodeRange,
): number {
  for (let line = from; line < to; line += 1) {
    if (lines.indents[line] !== -1 && !INTRODUCES.test(lineStart(text, lines, line))) return line
  }
  return from
}

/** Inside a definition, the first part is its first line with what belongs to it. */
function* unitsOf(
  { text, lines }: Pick<Code, 'text' | 'lines'>,
  range: CodeRange,
  depth: number,
): Generator<CodeRange> {
  const { from, to, within } = range
  const { indents } = lines
  const first = depth === 0 ? from : firstCodeLine({ text, lines }, range) + 1
  let least = Number.POSITIVE_INFINITY
  for (let line = first; line < to; line += 1) {
    const indent = indents[line] ?? -1
    if (indent === -1 || CONTINUES.test(lineStart(text, lines, line))) continue
    least = Math.min(least, indent)
  }
  let start = from
  let introduced = -1
  for (let line = first; line < to; line += 1) {
    const indent = indents[line] ?? -1
    const begin = lineStart(text, lines, line)
    if (indent === -1) introduced = -1
    if (indent !== least || CONTINUES.test(begin)) continue
    if (INTRODUCES.test(begin)) {
      if (introduced === -1) introduced = line
      continue
    }
    const cut = introduced === -1 ? line : introduced
    introduced = -1
    if (cut > start) yield { from: start, to: cut, within }
    start = Math.max(start, cut)
  }
  if (start < to) yield { from: start, to, within }
}

function spanOf({ lines }: Code, { from, to }: CodeRange) {
  return { startChar: lines.starts[from] ?? 0, endChar: lines.starts[to] ?? 0 }
}

/** Returns only as much of a line as is needed to tell how it starts. */
function lineStart(text: string, { starts, indents }: CodeLines, line: number): string {
  const start = starts[line] ?? 0
  const chars = Math.max(0, indents[line] ?? 0) + 16
  return text.slice(start, Math.min(start + chars, starts[line + 1] ?? start))
}

function codeLines(text: string): CodeLines {
  const starts: number[] = []
  const indents: number[] = []
  for (let start = 0; start < text.length; ) {
    const end = lineEnd(text, start)
    starts.push(start)
    indents.push(indentOf(text, start, end))
    start = end
  }
  starts.push(text.length)
  return { starts, indents }
}

function indentOf(text: string, start: number, end: number): number {
  let indent = 0
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 32) indent += 1
    else if (code === 9) indent += TAB_WIDTH
    else return code === 10 || code === 13 ? -1 : indent
  }
  return -1
}

/** Shortens `def area(self, width):` to `def area(self, width)`. */
function signatureOf(text: string, start: number): string {
  const line = text.slice(start, Math.min(lineEnd(text, start), start + SIGNATURE_CHARS_MAX))
  return line.trim().replace(/\s*[{:(]?\s*$/, '')
}
