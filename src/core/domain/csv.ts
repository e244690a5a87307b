/** CSV in the excel dialect (RFC 4180): rows end with `\r\n`, quotes are doubled in quotes. */

/** One row with its end. A null is an empty cell; an empty string is quoted, so that the two differ. */
export function csvRow(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** One cell. */
export function csvCell(text: string | null): string {
  if (text === null) return ''
  const isPlain = text !== '' && !/[",\r\n]/.test(text)
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`
}

/**
 * The rows of a text. Rows may also end with `\n`. Lenient: an unclosed quote lasts to the end, and text after a closed one
 * belongs to the cell.
 */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = []
  let row: string[] = []
  let start = 0
  while (start < text.length) {
    const cell = cellAt(text, start)
    row.push(cell.value)
    start = cell.end + 1
    if (text[cell.end] === ',') {
      // A comma at the very end still promises an empty cell.
      if (start >= text.length) row.push('')
      continue
    }
    if (text[cell.end] === '\r' && text[start] === '\n') start += 1
    rows.push(row)
    row = []
  }
  if (row.length > 0) rows.push(row)
  return rows
}

interface Cell {
  readonly value: string
  /** Index of what ends it: a comma, the end of a line or of the text. */
  readonly end: number
}

function cellAt(text: string, start: number): Cell {
  if (text[start] !== '"') {
    const end = plainEnd(text, start)
    return { value: text.slice(start, end), end }
  }
  let value = ''
  let from = start + 1
  for (;;) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return { value: value + text.slice(from), end: text.length }
    value += text.slice(from, quote)
    if (text[quote + 1] !== '"') {
      const end = plainEnd(text, quote + 1)
      return { value: value + text.slice(quote + 1, end), end }
    }
    value += '"'
    from = quote + 2
  }
}

const CELL_END = /[,\r\n]/g

function plainEnd(text: string, start: number): number {
  const end = new RegExp(CELL_END)
  end.lastIndex = start
  return end.exec(text)?.index ?? text.length
}
