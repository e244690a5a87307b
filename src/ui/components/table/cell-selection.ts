/** Which cells are chosen: a rectangle from where it began to where the keys are. Pure. */

export interface Place {
  readonly row: number
  readonly column: number
}

export interface Selection {
  readonly from: Place
  /** Where keys act. */
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

export function holds({ top, bottom, left, right }: Rectangle, { row, column }: Place): boolean {
  return row >= top && row <= bottom && column >= left && column <= right
}

/** @param isExtended what was chosen stays chosen, as with Shift */
export function movedTo(before: Selection, to: Place, size: Size, isExtended: boolean): Selection {
  const at = {
    row: Math.max(0, Math.min(size.rowCount - 1, to.row)),
    column: Math.max(0, Math.min(size.columnCount - 1, to.column)),
  }
  return { from: isExtended ? before.from : at, at }
}

export interface Pressed {
  readonly key: string
  /** Ctrl, or Command. */
  readonly hasMod: boolean
  readonly hasShift: boolean
}

/** @returns undefined: the key is not for the cells */
export function pressedIn(
  selection: Selection,
  pressed: Pressed,
  size: Size & { readonly pageRows: number },
): Selection | undefined {
  const { key, hasMod, hasShift } = pressed
  const whole = wholeLines(selection, pressed, size)
  if (whole !== undefined) return whole
  const { row, column } = selection.at
  const { rowCount, columnCount, pageRows } = size
  const [lastRow, lastColumn] = [rowCount - 1, columnCount - 1]
  const steps: Readonly<Record<string, Place>> = {
    ArrowDown: { row: hasMod ? lastRow : row + 1, column },
    ArrowUp: { row: hasMod ? 0 : row - 1, column },
    ArrowRight: { row, column: hasMod ? lastColumn : column + 1 },
    ArrowLeft: { row, column: hasMod ? 0 : column - 1 },
    PageDown: { row: row + pageRows, column },
    PageUp: { row: row - pageRows, column },
    Home: { row: hasMod ? 0 : row, column: 0 },
    End: { row: hasMod ? lastRow : row, column: lastColumn },
  }
  const next = steps[key]
  return next && movedTo(selection, next, size, hasShift)
}

/** Mod+A: all; Shift+Space: whole rows; Mod+Space: whole columns. */
function wholeLines(
  { from, at }: Selection,
  { key, hasMod, hasShift }: Pressed,
  { rowCount, columnCount }: Size,
): Selection | undefined {
  const [lastRow, lastColumn] = [rowCount - 1, columnCount - 1]
  if (hasMod && key === 'a') {
    return { from: { row: lastRow, column: lastColumn }, at: { row: 0, column: 0 } }
  }
  if (key !== ' ') return undefined
  if (hasShift) return { from: { ...from, column: lastColumn }, at: { ...at, column: 0 } }
  if (hasMod) return { from: { ...from, row: lastRow }, at: { ...at, row: 0 } }
  return undefined
}
