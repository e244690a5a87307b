/**
 * The state of the large table: its visible rows and columns, and the selected cells. Pure
 * functions.
 */
import type { Cell, Column } from '../../api/sql.ts'
import { cellText, isNumberType } from './cell-text.ts'

/** The column that rows are sorted by, and the direction. */
export interface Order {
  readonly column: number
  readonly isDescending: boolean
}

export const ROW_PX = 30
export const HEAD_PX = 46
export const NUMBERS_PX = 72
/** How many rows are rendered beyond each edge, so that scrolling one step shows no gap. */
const BEYOND_ROWS = 12
const BEYOND_PX = 300

export interface Range {
  readonly first: number
  /** Exclusive. */
  readonly end: number
}

/** @param viewPx the visible height of the table body */
export function seenRows(rowCount: number, scrollTop: number, viewPx: number): Range {
  const first = Math.max(0, Math.floor(scrollTop / ROW_PX) - BEYOND_ROWS)
  const count = Math.ceil(viewPx / ROW_PX) + 1 + BEYOND_ROWS * 2
  return { first: Math.min(first, rowCount), end: Math.min(rowCount, first + count) }
}

/** The scroll position that makes the whole row visible; `scrollTop` if it already is. */
export function scrollTopFor(row: number, scrollTop: number, viewPx: number): number {
  const y = row * ROW_PX
  if (y < scrollTop) return y
  return Math.max(scrollTop, y + ROW_PX - viewPx)
}

/** The left edges of all columns, then the right edge of the last one. */
export function edgesOf(widths: readonly number[]): readonly number[] {
  const edges = [0]
  for (const width of widths) edges.push((edges.at(-1) ?? 0) + width)
  return edges
}

export function seenColumns(edges: readonly number[], scrollLeft: number, viewPx: number): Range {
  const count = edges.length - 1
  const first = edges.findIndex((edge) => edge > scrollLeft - BEYOND_PX) - 1
  const after = edges.findIndex((edge) => edge > scrollLeft + viewPx + BEYOND_PX)
  return { first: Math.max(0, first), end: after === -1 ? count : Math.min(count, after) }
}

const CHAR_PX = 9
const PADDING_PX = 26
const WIDTH_PX_MIN = 64
const WIDTH_PX_MAX = 360
const LOOKED_AT_ROWS = 50

/** The widths that the first rows need, within limits. */
export function suggestedWidths(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): readonly number[] {
  const looked = rows.slice(0, LOOKED_AT_ROWS)
  return columns.map(({ name, type }, index) => {
    const chars = looked.map((row) => cellText(row[index], WIDTH_PX_MAX / CHAR_PX).length)
    const most = Math.max(name.length + 2, Math.min(type.length, 16), ...chars)
    const px = most * CHAR_PX + PADDING_PX
    return Math.round(Math.max(WIDTH_PX_MIN, Math.min(WIDTH_PX_MAX, px)))
  })
}

export function isRightAligned({ type }: Column, cell: Cell): boolean {
  return isNumberType(type) || typeof cell === 'number'
}

export interface Place {
  readonly row: number
  readonly column: number
}

/** A rectangle of cells, from where the selection started to the cell where keys act. */
export interface Selection {
  readonly from: Place
  readonly at: Place
}

export interface Size {
  readonly rowCount: number
  readonly columnCount: number
}

export interface Rectangle {
  readonly top: number
  readonly bottom: number
  readonly left: number
  readonly right: number
}

export const FIRST_CELL: Selection = { from: { row: 0, column: 0 }, at: { row: 0, column: 0 } }

export function rectangleOf({ from, at }: Selection): Rectangle {
  return {
    top: Math.min(from.row, at.row),
    bottom: Math.max(from.row, at.row),
    left: Math.min(from.column, at.column),
    right: Math.max(from.column, at.column),
  }
}

export function cellCount({ top, bottom, left, right }: Rectangle): number {
  return (bottom - top + 1) * (right - left + 1)
}

/** @param isExtended whether to keep the selection's start, as with Shift */
export function movedTo(before: Selection, to: Place, size: Size, isExtended: boolean): Selection {
  const at = {
    row: Math.max(0, Math.min(size.rowCount - 1, to.row)),
    column: Math.max(0, Math.min(size.columnCount - 1, to.column)),
  }
  return { from: isExtended ? before.from : at, at }
}

/** @returns undefined if the key does nothing in the table */
export function pressedIn(
  selection: Selection,
  props: {
    readonly key: string
    /** Whether Ctrl or Command is pressed. */
    readonly hasMod: boolean
    readonly hasShift: boolean
  },
  size: Size & { readonly pageRows: number },
): Selection | undefined {
  const { key, hasMod, hasShift } = props
  const { row, column } = selection.at
  const [lastRow, lastColumn] = [size.rowCount - 1, size.columnCount - 1]
  if (hasMod && key === 'a') {
    return { from: { row: lastRow, column: lastColumn }, at: { row: 0, column: 0 } }
  }
  const steps: Readonly<Record<string, Place>> = {
    ArrowDown: { row: hasMod ? lastRow : row + 1, column },
    ArrowUp: { row: hasMod ? 0 : row - 1, column },
    ArrowRight: { row, column: hasMod ? lastColumn : column + 1 },
    ArrowLeft: { row, column: hasMod ? 0 : column - 1 },
    PageDown: { row: row + size.pageRows, column },
    PageUp: { row: row - size.pageRows, column },
    Home: { row: hasMod ? 0 : row, column: 0 },
    End: { row: hasMod ? lastRow : row, column: lastColumn },
  }
  const next = steps[key]
  return next && movedTo(selection, next, size, hasShift)
}
