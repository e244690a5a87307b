/** Formats cells as text for display, copying and comparison. Pure functions. */
import type { Cell } from '../../api/sql.ts'

/** A cell as text, for copying, or as much of it as fits on a line. */
export function cellText(cell: Cell, charsMax = Number.POSITIVE_INFINITY): string {
  if (isNothing(cell)) return 'null'
  const text = typeof cell === 'object' ? jsonText(cell, charsMax) : String(cell)
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text
}

export function isNothing(cell: Cell): cell is null | undefined {
  return cell === null || cell === undefined
}

/** Only the start: each part takes at least one character of the limit. */
function jsonText(value: object | null, charsMax: number): string {
  if (charsMax === Number.POSITIVE_INFINITY || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return JSON.stringify(value.slice(0, charsMax))
  return JSON.stringify(Object.fromEntries(Object.entries(value).slice(0, charsMax)))
}

/** Formats a cell for one line. A zero fraction of a second is left out. */
export function shownCell(cell: Cell, type: string, charsMax: number): string {
  const text = cellText(cell, charsMax)
  return type.startsWith('TIME') ? text.replace(/\.0+(?=$|[+-])/, '') : text
}

/** Formats rows for spreadsheets. Cells with tabs, line breaks or quotes are quoted. */
export function tsvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(tsvCell).join('\t')).join('\n')
}

function tsvCell(cell: Cell): string {
  if (isNothing(cell)) return ''
  const text = cellText(cell)
  return /["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Numbers that JavaScript would round arrive as a string of digits. */
const NUMBERS =
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|DECIMAL|NUMERIC|FLOAT|DOUBLE|REAL)(?!.*\])/

export function isNumberType(type: string): boolean {
  return NUMBERS.test(type)
}
