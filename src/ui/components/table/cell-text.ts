/** Cells as texts: shown, copied, compared. Pure. */
import type { Cell } from '../../api/sql.ts'

/** A cell as text: as it is copied, or as much of it as a line shows. */
export function cellText(cell: Cell, charsMax = Number.POSITIVE_INFINITY): string {
  if (cell === null || cell === undefined) return 'null'
  const text = typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text
}

/** Rows as spreadsheets take them: a cell with a tab, a line break or a quote stands in quotes, nothing is empty. */
export function tsvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(tsvCell).join('\t')).join('\n')
}

function tsvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  const text = cellText(cell)
  return /["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Integers, decimals and floats; a value that a JavaScript number would round is a text of digits. */
const NUMBERS = /^(?:U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL|NUMERIC|FLOAT|DOUBLE|REAL)\b/

export function isNumberType(type: string): boolean {
  return NUMBERS.test(type)
}

/** Two values of a column: numbers by their size, however long, all else by its text. */
export function compareCells(a: Cell, b: Cell, type: string): number {
  if (a === b) return 0
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (isNumberType(type)) return compareNumbers(a, b)
  const [x, y] = [cellText(a), cellText(b)]
  if (x === y) return 0
  return x < y ? -1 : 1
}

function compareNumbers(a: Cell, b: Cell): number {
  const [x, y] = [exact(a), exact(b)]
  if (x === y) return 0
  return x < y ? -1 : 1
}

/** An integer beyond what a number holds comes as its digits. JavaScript compares both kinds with each other. */
function exact(cell: Cell): number | bigint {
  return typeof cell === 'string' && /^-?\d+$/.test(cell) ? BigInt(cell) : Number(cell)
}

export function isNothing(cell: Cell): boolean {
  return cell === null || cell === undefined
}
