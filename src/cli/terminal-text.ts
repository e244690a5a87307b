/** Foreign text on a terminal: measured as displayed, and without control sequences. */

/** What moves a cursor, colours or renames a window; line ends and tabs stay. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROL_SIGNS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/** Several lines: what a terminal would obey is shown as text. */
export function safeText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(CONTROL_SIGNS, escaped)
}

/** One line: line ends too. */
export function safeLine(text: string): string {
  return safeText(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t')
}

function escaped(char: string): string {
  const code = char.charCodeAt(0)
  if (char === '\r') return '\\r'
  return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
}

/** In terminal columns. */
export function widthOf(text: string): number {
  return Bun.stringWidth(text)
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The text if it fits; else the part of its beginning that fits with `…`. */
export function truncated(text: string, columns: number): string {
  // Nothing is wider than two columns a code unit.
  if (text.length * 2 <= columns || (text.length <= columns * 20 && widthOf(text) <= columns))
    return text
  let kept = ''
  let width = 0
  for (const { segment } of graphemes.segment(text.slice(0, columns * 20))) {
    width += widthOf(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

export function padded(text: string, columns: number, isRight = false): string {
  const space = ' '.repeat(Math.max(0, columns - widthOf(text)))
  return isRight ? space + text : text + space
}

/** Lines of at most this many columns, broken between words where possible. */
export function wrapped(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap((line) => wrappedLine(line, columns))
}

function wrappedLine(line: string, columns: number): readonly string[] {
  if (widthOf(line) <= columns) return [line]
  const lines: string[] = []
  let current = ''
  let width = 0
  for (const word of line.split(/(?<=\s)/)) {
    for (const piece of linePieces(word, columns)) {
      const pieceWidth = widthOf(piece.trimEnd())
      if (width + pieceWidth > columns && current !== '') {
        lines.push(current.trimEnd())
        current = ''
        width = 0
      }
      current += piece
      width += widthOf(piece)
    }
  }
  return [...lines, current.trimEnd()]
}

/** Splits a word wider than a line, such as a sentence in Japanese, where it may be broken. */
function linePieces(word: string, columns: number): readonly string[] {
  if (widthOf(word.trimEnd()) <= columns) return [word]
  return [...graphemes.segment(word)].map(({ segment }) => segment)
}

/** Streamed text, in lines of at most this many columns that break between words. */
export class FlowingText {
  readonly #columns: number | null
  #column = 0
  /** Blanks written only if a word follows them on the line. */
  #blanks = ''
  /** The start of a word whose rest may follow. */
  #word = ''

  /** @param columns null: lines are left as they are */
  constructor(columns: number | null) {
    this.#columns = columns
  }

  /** @returns what can be written now */
  add(text: string): string {
    if (this.#columns === null) return text
    const parts = (this.#word + text).split(/(\n|[^\S\n]+)/)
    this.#word = parts.pop() ?? ''
    return parts.map((part) => this.#part(part)).join('')
  }

  /** @returns the last word */
  end(): string {
    const word = this.#word
    this.#word = ''
    return this.#part(word)
  }

  #part(part: string): string {
    if (part === '') return ''
    if (part === '\n') {
      this.#blanks = ''
      this.#column = 0
      return part
    }
    if (part.trim() === '') {
      this.#blanks += part
      return ''
    }
    const columns = this.#columns ?? Infinity
    const blanks = this.#blanks
    this.#blanks = ''
    const width = widthOf(part)
    const isBreak = this.#column > 0 && this.#column + widthOf(blanks) + width > columns
    // The terminal wraps a word wider than a line.
    this.#column = (isBreak ? width : this.#column + widthOf(blanks) + width) % columns
    return isBreak ? `\n${part}` : `${blanks}${part}`
  }
}
