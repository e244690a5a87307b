import type { Fragment, Line } from './page/fragments.ts'

/** Replaces rows of aligned cells by tables. */
export function withAlignedTables(lines: readonly Line[]): Line[] {
  const result: Line[] = []
  let index = 0
  while (index < lines.length) {
    const end = hasCells(lines[index]) ? tableEnd(lines, index) : index
    const rows = lines.slice(index, end)
    const table = rows.length >= ROWS_MIN ? tableFrom(rows) : null
    const line = lines[index]
    if (rows.length >= ROWS_MIN && !saysSomething(rows.flatMap(textsOf))) {
      // Part of a formula is not a table either.
      result.push(...rows)
      index = end
    } else if (table !== null) {
      result.push(table)
      index = end
    } else {
      if (line !== undefined) result.push(line)
      index += 1
    }
  }
  return result
}

function hasCells(line: Line | undefined): boolean {
  return line !== undefined && line.table === null && line.cells.length >= 2 && !line.isMonospace
}

/** Returns the index after the last line that leaves the gaps between the columns free. */
function tableEnd(lines: readonly Line[], start: number): number {
  let gaps = ANYWHERE
  let end = start
  let columns = 0
  for (let at = start; at < lines.length; at += 1) {
    const line = lines[at]
    const before = lines[at - 1]
    // One cell may be the name of a part of a program.
    const isCode = line?.isMonospace === true && (at === start || line.cells.length > 1)
    if (line === undefined || line.table !== null || isCode) break
    const isFar = before !== undefined && at > start && line.top - before.bottom > line.size * 1.6
    if (isFar && line.cells.length < 2) break
    const next = freeGaps(gaps, line.cells)
    const inner = next.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b)).length
    if (at > start && inner < Math.max(1, Math.ceil(columns * 0.6))) break
    // A single cell may continue a cell above, or be the line after the table.
    if (line.cells.length >= 2) {
      columns = Math.max(columns, inner)
      end = at + 1
    } else if (at - end >= CONTINUED_LINES_MAX) break
    gaps = next
  }
  return end
}

/** Null if it is a list, or text next to other text. */
function tableFrom(lines: readonly Line[]): Line | null {
  const borders = bordersBetween(lines)
  if (borders.length === 0) return null
  const rows: string[][] = []
  for (const line of lines) {
    const row = Array.from({ length: borders.length + 1 }, () => '')
    for (const { text, x0, x1 } of line.cells) {
      const column = borders.filter((border) => border < (x0 + x1) / 2).length
      row[column] = `${row[column] ?? ''} ${text}`.trim()
    }
    const before = rows[rows.length - 1]
    // A row with an empty first column continues the row above.
    const goesOn =
      row[0] === '' && before !== undefined && row.filter((cell) => cell !== '').length < 2
    if (goesOn)
      for (const [at, cell] of row.entries()) before[at] = `${before[at] ?? ''}\n${cell}`.trim()
    else rows.push(row)
  }
  return isPlain(rows) ? tableLine(rows, boxOf(lines), lines) : null
}

function isPlain(rows: readonly (readonly string[])[]): boolean {
  if (rows.length < ROWS_MIN) return false
  const filled = rows.filter((row) => row.filter((cell) => cell !== '').length >= 2).length
  if (filled < rows.length * 0.7) return false
  const firsts = rows.map(([cell]) => cell ?? '').filter((cell) => cell !== '')
  if (firsts.filter((cell) => MARKER.test(cell)).length > firsts.length / 2) return false
  const cells = rows.flat().filter((cell) => cell !== '')
  const long = cells.filter(({ length }) => length > CELL_CHARS_USUAL).length
  return long < cells.length * 0.4
}

/** Whether there are words or long numbers, which matrices and formulas do not have. */
function saysSomething(cells: readonly string[]): boolean {
  const telling = cells.filter((cell) => TELLING.test(cell) && !FORMULA.test(cell)).length
  return telling >= cells.length * 0.4
}

function textsOf({ cells }: Line): string[] {
  return cells.map(({ text }) => text)
}

function boxOf(lines: readonly Line[]): Pick<Fragment, 'x0' | 'x1' | 'top' | 'bottom'> {
  return {
    x0: Math.min(...lines.map(({ x0 }) => x0)),
    x1: Math.max(...lines.map(({ x1 }) => x1)),
    top: Math.min(...lines.map(({ top }) => top)),
    bottom: Math.max(...lines.map(({ bottom }) => bottom)),
  }
}

/** The marker of a list item or a numbered heading. */
export const MARKER =
  /^([•◦▪●○■□–—*·‣-]|\(?(\d{1,3}|[a-z]|[ivx]{1,5})[.)]|\[\d{1,3}\]|\d+(\.\d+)+\.?)$/i
const TELLING = /\p{L}{3}|\p{N}{2}|\p{N}[.,]\p{N}|[\u3040-\u9fff\uac00-\ud7af]|\p{N}\s?[%€$]/u
const FORMULA = /[∑∏∫√∂∇≤≥≈≡∈∀∃⊤⊗⊕]|^[-−+]?\p{L}?[=≈]|[=≈]\s*$/u
const ROWS_MIN = 3
const CONTINUED_LINES_MAX = 3
const CELL_CHARS_USUAL = 45

/** An empty strip from top to bottom. */
type Gap = readonly [number, number]

const ANYWHERE: readonly Gap[] = [[Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]]

function freeGaps(gaps: readonly Gap[], cells: readonly Fragment[]): readonly Gap[] {
  let free = [...gaps]
  for (const { x0, x1, size } of cells) {
    free = free.flatMap(([a, b]): Gap[] => {
      if (x1 <= a || x0 >= b) return [[a, b]]
      const parts: Gap[] = [
        [a, x0],
        [x1, b],
      ]
      return parts.filter(([from, to]) => to - from > size * 0.7)
    })
  }
  return free
}

/** Returns the middle of each gap that all lines leave free. */
export function bordersBetween(lines: readonly Line[]): number[] {
  let gaps = ANYWHERE
  for (const { cells } of lines) gaps = freeGaps(gaps, cells)
  return gaps
    .filter(([from, to]) => Number.isFinite(from) && Number.isFinite(to))
    .map(([from, to]) => (from + to) / 2)
    .sort((a, b) => a - b)
}

/** Returns a line with rows of cells, to replace their lines. */
export function tableLine(
  table: readonly (readonly string[])[],
  box: Pick<Fragment, 'x0' | 'x1' | 'top' | 'bottom'>,
  parts: readonly Pick<Fragment, 'order' | 'size' | 'font'>[],
): Line {
  const [one] = parts
  return {
    ...box,
    text: '',
    baseline: box.top,
    size: one?.size ?? 0,
    font: one?.font ?? { name: '', bold: false, monospace: false },
    isMonospace: false,
    order: parts.reduce((least, { order }) => Math.min(least, order), Number.POSITIVE_INFINITY),
    cells: [],
    table,
  }
}

type Rows = readonly (readonly string[])[]

/** If header lines do not match the rows', a header cell and its values are joined. */
export function withoutSpareColumns(rows: Rows): Rows {
  const width = Math.max(...rows.map(({ length }) => length))
  const columns: string[][] = []
  for (let at = 0; at < width; at += 1) {
    const column = rows.map((row) => row[at] ?? '')
    if (column.every((cell) => cell === '')) continue
    const before = columns.at(-1)
    if (before !== undefined && (isHeadOf(before, column) || isHeadOf(column, before))) {
      for (const [row, cell] of column.entries()) if (cell !== '') before[row] = cell
    } else columns.push(column)
  }
  return rows.map((_, row) => columns.map((column) => column[row] ?? ''))
}

/** Whether one row has only its first cell, which is missing in the other. */
function isHeadOf([head, ...empty]: readonly string[], [missing, ...cells]: readonly string[]) {
  return (
    head !== '' &&
    missing === '' &&
    empty.every((cell) => cell === '') &&
    cells.some((cell) => cell !== '')
  )
}
