/** Prepares untrusted text for a terminal: measures its width and removes control sequences. */

/** Matches sequences that move the cursor, change colours or rename the window. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const CONTROL_SIGNS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/** Keeps several lines, but makes control characters visible and harmless. */
export function safeText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(CONTROL_SIGNS, escaped)
}

/** Makes one line: line breaks become visible too. */
export function safeLine(text: string): string {
  return safeText(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t')
}

function escaped(char: string): string {
  const code = char.charCodeAt(0)
  if (char === '\r') return '\\r'
  return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
}

export function widthOf(text: string): number {
  return Bun.stringWidth(text)
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The text if it fits, otherwise as much of it as fits before a `…`. */
export function truncated(text: string, columns: number): string {
  // A code unit is at most two columns wide.
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

/** Lines of at most this many columns, broken between words if possible. */
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

/** Splits a word wider than a line, such as a Japanese sentence, where breaks are allowed. */
function linePieces(word: string, columns: number): readonly string[] {
  if (widthOf(word.trimEnd()) <= columns) return [word]
  return [...graphemes.segment(word)].map(({ segment }) => segment)
}

/** Wraps streamed text between words, to at most this many columns. */
export class FlowingText {
  readonly #columns: number | null
  #column = 0
  /** White space that is written only if a word follows on the same line. */
  #blanks = ''
  #word = ''

  /** @param columns the width; null to leave lines unchanged */
  constructor(columns: number | null) {
    this.#columns = columns
  }

  /** @returns the text that can already be written */
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
    // The terminal wraps a word that is wider than a line.
    this.#column = (isBreak ? width : this.#column + widthOf(blanks) + width) % columns
    return isBreak ? `\n${part}` : `${blanks}${part}`
  }
}
