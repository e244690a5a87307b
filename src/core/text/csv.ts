/** CSV in the Excel dialect (RFC 4180): rows end with `\r\n`, inner quotes are doubled. */

/** With its line end. A null becomes an empty cell; an empty string is quoted. */
export function csvRow(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

export function csvCell(text: string | null): string {
  if (text === null) return ''
  const isPlain = text !== '' && !/[",\r\n]/.test(text)
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`
}

/** Rows may end with `\n`, an unclosed quote with the text. Text after a quote is kept. */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = []
  let row: string[] = []
  let start = 0
  while (start < text.length) {
    const cell = cellAt(text, start)
    row.push(cell.value)
    start = cell.end + 1
    if (text[cell.end] === ',') {
      // A comma at the very end is followed by an empty cell.
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
  /** The index after the cell: of the comma, the line end or the end of the text. */
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
