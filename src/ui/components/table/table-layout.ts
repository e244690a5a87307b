/** Where rows and columns of a large table lie, and which of them are seen. Pure. */
import type { Cell, Column } from '../../api/sql.ts'
import { cellText, isNumberType } from './cell-text.ts'

export const ROW_PX = 30
export const HEAD_PX = 46
/** Of the column with the numbers of the rows. */
export const NUMBERS_PX = 72
/** Rows beyond the edge, so that a step of the wheel shows no gap. */
const BEYOND_ROWS = 12
const BEYOND_PX = 300
/** A browser's element is at most so high: beyond it, the scroll position stands for rows by proportion. */
const HEIGHT_PX_MAX = 15_000_000

export interface Range {
  readonly first: number
  /** The one behind the last. */
  readonly end: number
}

export interface RowLayout extends Range {
  /** Of the body that is scrolled over. */
  readonly bodyPx: number
  /** Where the first of them is drawn in it. */
  readonly y: number
}

/** @param viewPx what is seen of the body at a time */
export function rowLayout(rowCount: number, scrollTop: number, viewPx: number): RowLayout {
  const allPx = rowCount * ROW_PX
  const bodyPx = Math.min(allPx, HEIGHT_PX_MAX)
  const top = scrollTop * scaleOf(rowCount, viewPx)
  // Always as many, so that each keeps its place in the page while they are scrolled.
  const count = Math.min(rowCount, Math.ceil(viewPx / ROW_PX) + 1 + BEYOND_ROWS * 2)
  const wanted = Math.floor(top / ROW_PX) - BEYOND_ROWS
  const first = Math.max(0, Math.min(wanted, rowCount - count))
  const end = first + count
  return { first, end, bodyPx, y: scrollTop - (top - first * ROW_PX) }
}

/** Rows that are placed by their distance to the same one: a browser draws what is many millions of pixels away less exactly. */
const PLACED_TOGETHER = 1024

export function baseOf(first: number): number {
  return first - (first % PLACED_TOGETHER)
}

/** Which row stands in each place of the page: one that goes on being seen keeps its own. */
export function slotsOf({ first, end }: Range): readonly number[] {
  const slots: number[] = []
  const count = end - first
  for (let index = first; index < end; index += 1) slots[index % count] = index
  return slots
}

/** How many pixels of rows one pixel of the scroll bar stands for. */
function scaleOf(rowCount: number, viewPx: number): number {
  const allPx = rowCount * ROW_PX
  const bodyPx = Math.min(allPx, HEIGHT_PX_MAX)
  return allPx === bodyPx ? 1 : (allPx - viewPx) / (bodyPx - viewPx)
}

/** Where to scroll so that a row is seen whole; `scrollTop` where it is. */
export function scrollTopFor(
  row: number,
  rowCount: number,
  { scrollTop, viewPx }: { readonly scrollTop: number; readonly viewPx: number },
): number {
  const scale = scaleOf(rowCount, viewPx)
  const top = scrollTop * scale
  const y = row * ROW_PX
  if (y < top) return y / scale
  return y + ROW_PX > top + viewPx ? (y + ROW_PX - viewPx) / scale : scrollTop
}

/** Left edges of the columns, and the right one of the last. */
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

/** As wide as what stands in the first rows, within limits. */
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
