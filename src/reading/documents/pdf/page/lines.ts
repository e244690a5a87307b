import type { Fragment } from './fragments.ts'

/** A line of a column, or a table that stands in its place. */
export interface Line extends Fragment {
  /** The pieces that wide gaps part, as read. */
  readonly cells: readonly Fragment[]
  /** Rows of cells; null: a line of text. */
  readonly table: readonly (readonly string[])[] | null
}

/** Pieces of one column → its lines from top to bottom. */
export function linesOf(fragments: readonly Fragment[]): Line[] {
  const sorted = [...fragments].sort((a, b) => a.baseline - b.baseline)
  const lines: Line[] = []
  let cells: Fragment[] = []
  for (const fragment of sorted) {
    const first = cells[0]
    if (first !== undefined && !isBeside(first, fragment, cells)) {
      lines.push(lineOf(cells))
      cells = []
    }
    cells.push(fragment)
  }
  if (cells.length > 0) lines.push(lineOf(cells))
  return lines
}

function isBeside(first: Fragment, next: Fragment, cells: readonly Fragment[]): boolean {
  if (isTable(first) || isTable(next)) return false
  if (next.baseline - first.baseline > Math.min(first.size, next.size) * 0.45) return false
  return cells.every(
    ({ x0, x1 }) => next.x0 > x1 - next.size * 0.5 || next.x1 < x0 + next.size * 0.5,
  )
}

function isTable(fragment: Fragment): boolean {
  return 'table' in fragment && fragment.table !== null
}

function lineOf(found: readonly Fragment[]): Line {
  const [only] = found
  if (found.length === 1 && only !== undefined && isLine(only)) return only
  const isRtl =
    found.some(({ text }) => RTL.test(text)) && found.every(({ text }) => !LATIN.test(text))
  const cells = [...found].sort((a, b) => (isRtl ? b.x0 - a.x0 : a.x0 - b.x0))
  const longest = cells.reduce((a, b) => (b.text.length > a.text.length ? b : a))
  return {
    text: cells.map(({ text }) => text).join(' '),
    x0: Math.min(...cells.map(({ x0 }) => x0)),
    x1: Math.max(...cells.map(({ x1 }) => x1)),
    top: Math.min(...cells.map(({ top }) => top)),
    bottom: Math.max(...cells.map(({ bottom }) => bottom)),
    baseline: longest.baseline,
    size: longest.size,
    font: longest.font,
    isMonospace: cells.every((cell) => cell.isMonospace),
    order: Math.min(...cells.map(({ order }) => order)),
    cells,
    table: null,
  }
}

function isLine(fragment: Fragment): fragment is Line {
  return 'cells' in fragment
}

const RTL = /[\u0590-\u08ff]/
const LATIN = /\p{Script=Latin}/u
