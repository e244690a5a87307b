/** Cells as texts: shown, copied, compared. Pure. */
import type { Cell } from '../../api/sql.ts'

/** A cell as text: for copying, or as much of it as a line shows. */
export function cellText(cell: Cell, charsMax = Number.POSITIVE_INFINITY): string {
  if (isNothing(cell)) return 'null'
  const text = typeof cell === 'object' ? jsonText(cell, charsMax) : String(cell)
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text
}

export function isNothing(cell: Cell): cell is null | undefined {
  return cell === null || cell === undefined
}

/** Does not write out a list of a million to show its start: each part takes at least one character. */
function jsonText(value: object | null, charsMax: number): string {
  if (charsMax === Number.POSITIVE_INFINITY || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return JSON.stringify(value.slice(0, charsMax))
  return JSON.stringify(Object.fromEntries(Object.entries(value).slice(0, charsMax)))
}

/** How a line shows a cell: without zero fractions of a second. */
export function shownCell(cell: Cell, type: string, charsMax: number): string {
  const text = cellText(cell, charsMax)
  return type.startsWith('TIME') ? text.replace(/\.0+(?=$|[+-])/, '') : text
}

/** Rows in the form of spreadsheets: a cell with a tab, a line break or a quote is quoted, null is empty. */
export function tsvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(tsvCell).join('\t')).join('\n')
}

function tsvCell(cell: Cell): string {
  if (isNothing(cell)) return ''
  const text = cellText(cell)
  return /["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Integers, decimals and floats; a value that a JavaScript number would round is a text of digits. */
const NUMBERS =
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|DECIMAL|NUMERIC|FLOAT|DOUBLE|REAL)(?!.*\])/

export function isNumberType(type: string): boolean {
  return NUMBERS.test(type)
}
