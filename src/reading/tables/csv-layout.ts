import { CELL_KINDS, IS_NULL_MARKER } from './cell-kinds.ts'

export interface SampleRow {
  readonly line: number
  readonly cells: readonly string[]
}

export interface CsvLayout {
  /** The first line of the first row with values. Lines before it are not rows. */
  readonly dataLine: number
  /** Null if the file does not name its columns. */
  readonly names: readonly string[] | null
  readonly width: number
  /** Whether lines that start with `#` and do not have the table's width are comments. */
  readonly hasComments: boolean
  /** Lines before the table that are neither names nor comments, unchanged. */
  readonly skipped: readonly SampleRow[]
  readonly commentLines: readonly number[]
}

const ROWS_BEFORE_MAX = 60

/** @param rows the first rows, without blank lines @param hasHeader undefined to find out */
export function layoutOf(rows: readonly SampleRow[], hasHeader: boolean | undefined): CsvLayout {
  const commentLines: number[] = []
  let first = 0
  while (first < rows.length && isComment(rows[first]) && !isNames(rows, first)) {
    commentLines.push(rows[first]?.line ?? 0)
    first += 1
  }
  const hasComments = first > 0 || (rows[first]?.cells[0] ?? '').startsWith('#')
  const table = rows
    .slice(first)
    .filter((row, index) => index === 0 || !hasComments || !isComment(row))
  const mode = commonWidth(table)
  const titles = titleCount(table, mode)
  const skipped = table.slice(0, titles)
  const rest = table.slice(titles)
  const [begin, ...body] = rest
  const end = (rows.at(-1)?.line ?? 0) + 1
  if (begin === undefined) {
    return { dataLine: end, names: null, width: 1, hasComments, skipped, commentLines }
  }
  if (!(hasHeader ?? looksLikeHeader(begin.cells, body))) {
    const width = Math.max(mode, 1)
    return { dataLine: begin.line, names: null, width, hasComments, skipped, commentLines }
  }
  const names = namesOf(begin.cells, body)
  const dataLine = body[0]?.line ?? end
  return { dataLine, names, width: names.length, hasComments, skipped, commentLines }
}

function isComment(row: SampleRow | undefined): boolean {
  return row?.cells[0]?.startsWith('#') ?? false
}

/** Recognizes `#chrom,start,end`: the last line with a `#`, as wide as the rows below it. */
function isNames(rows: readonly SampleRow[], index: number): boolean {
  const row = rows[index]
  const next = rows[index + 1]
  if (row === undefined || next === undefined || isComment(next)) return false
  return row.cells.length > 1 && row.cells.length === commonWidth(rows.slice(index + 1))
}

/** Returns the most frequent width; in a tie, the larger. */
function commonWidth(rows: readonly SampleRow[]): number {
  const counts = new Map<number, number>()
  for (const { cells } of rows) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1)
  let best = 0
  for (const [width, count] of counts) {
    const bestCount = counts.get(best) ?? 0
    if (count > bestCount || (count === bestCount && width > best)) best = width
  }
  return best
}

/** The number of title rows above the table: at least half empty, and followed by a full row. */
function titleCount(rows: readonly SampleRow[], width: number): number {
  if (width < 2) return 0
  const isNarrow = ({ cells }: SampleRow) => {
    const filled = cells.filter((cell) => cell.trim() !== '').length
    return (
      filled <= width / 2 && (cells.length < width || filled <= 1) && (filled <= 1 || width >= 4)
    )
  }
  let count = 0
  while (count < Math.min(rows.length, ROWS_BEFORE_MAX)) {
    const row = rows[count]
    if (row === undefined || !isNarrow(row)) break
    count += 1
  }
  const next = rows[count]
  // In a sparse table such rows occur everywhere, and they belong to it.
  const isFollowed = next !== undefined && next.cells.length >= width - 1
  const narrowBelow = rows.slice(count).filter(isNarrow).length
  return isFollowed && narrowBelow <= rows.length / 10 ? count : 0
}

/** Returns names for all columns, because R writes none for the row names. */
function namesOf(cells: readonly string[], body: readonly SampleRow[]): readonly string[] {
  const names = cells.map((cell, index) => (index === 0 ? cell.replace(/^#\s*/, '') : cell).trim())
  const isShifted =
    body.length > 0 &&
    body.every(
      (row) => row.cells.length === cells.length + 1 && (row.cells.at(-1) ?? '').trim() !== '',
    )
  if (isShifted) return ['', ...names]
  // Delimiters at the end of every row do not make a column.
  let width = names.length
  const isEmptyAt = (index: number) =>
    names[index] === '' && body.every((row) => (row.cells[index] ?? '').trim() === '')
  while (width > 1 && body.length > 0 && isEmptyAt(width - 1)) width -= 1
  return names.slice(0, width)
}

type Kind = 'empty' | 'typed' | 'text'

function cellKind(cell: string): Kind {
  const value = cell.trim()
  if (IS_NULL_MARKER.has(value)) return 'empty'
  return CELL_KINDS.some((kind) => kind.pattern.test(value)) ? 'typed' : 'text'
}

const ROWS_COMPARED = 50

/** Text above values that are not, none empty or repeated. All text: the first row counts. */
function looksLikeHeader(cells: readonly string[], body: readonly SampleRow[]): boolean {
  const kinds = cells.map(cellKind)
  if (body.length === 0) return kinds.every((kind) => kind === 'text')
  let votes = 0
  const compared = body.slice(0, ROWS_COMPARED)
  for (const [index, kind] of kinds.entries()) {
    if (index >= COLUMNS_COMPARED) break
    const below = compared
      .map((row) => cellKind(row.cells[index] ?? ''))
      .filter((one) => one !== 'empty')
    if (below.length === 0) continue
    const isTyped = below.every((one) => one === 'typed')
    if (isTyped && kind === 'text') votes += 1
    else if (kind === 'typed' && !isYear(cells[index] ?? '')) votes -= 1
  }
  if (votes !== 0) return votes > 0
  const isFirstText = kinds.some((kind) => kind === 'text')
  const comesAgain = cells.some(
    (cell, index) => cell.trim() !== '' && compared.some((row) => row.cells[index] === cell),
  )
  return isFirstText && !comesAgain
}

const COLUMNS_COMPARED = 200

/** Years may be column names too. */
function isYear(cell: string): boolean {
  return /^(1[89]|20)\d\d$/.test(cell.trim())
}
