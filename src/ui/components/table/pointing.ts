/** Which cells somebody points at: heard of by the whole table, which has a thousand of them. */
import type { Place } from './cell-selection.ts'

interface Pointing {
  readonly onPoint: (place: Place, isExtended: boolean) => void
  readonly onOpen: () => void
}

/** A cell is chosen, those that are drawn over are too; a click on its number chooses a row, two open a cell. */
export function pointing(columnCount: number, { onPoint, onOpen }: Pointing) {
  return {
    onPointerDown(event: PointerEvent) {
      const place = placeOf(event)
      if (event.button === 0 && place !== undefined) onPoint(place, event.shiftKey)
    },
    onPointerOver(event: PointerEvent) {
      const place = placeOf(event)
      const isDrawn = event.buttons === 1 && event.pointerType === 'mouse'
      if (isDrawn && place !== undefined) onPoint(place, true)
    },
    onClick(event: MouseEvent) {
      const row = numberedRow(event)
      if (row === undefined) return
      onPoint({ row, column: columnCount - 1 }, event.shiftKey)
      onPoint({ row, column: 0 }, true)
    },
    onDblClick(event: MouseEvent) {
      if (placeOf(event) !== undefined) onOpen()
    },
  }
}

function placeOf({ target }: Event): Place | undefined {
  const cell = target instanceof Element ? target.closest('[role="gridcell"]') : null
  if (cell === null) return undefined
  return { row: rowOf(cell), column: Number(cell.getAttribute('aria-colindex')) - 1 }
}

function numberedRow({ target }: Event): number | undefined {
  const number = target instanceof Element ? target.closest('.data-rows .data-number') : null
  return number === null ? undefined : rowOf(number)
}

/** The head is the first row of the grid. */
function rowOf(part: Element): number {
  return Number(part.closest('[role="row"]')?.getAttribute('aria-rowindex')) - 2
}
