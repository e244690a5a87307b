/** The rows that are seen, with the cells that are seen of them. */
import { useMemo } from 'preact/hooks'
import type { Cell, Column } from '../../api/sql.ts'
import { shownCount } from '../numbers.ts'
import type { Place, Rectangle } from './cell-selection.ts'
import { isNothing, shownCell } from './cell-text.ts'
import {
  baseOf,
  isRightAligned,
  NUMBERS_PX,
  type Range,
  ROW_PX,
  type RowLayout,
  slotsOf,
} from './table-layout.ts'

const SHOWN_CHARS_MAX = 200
/** Of the narrowest letters: more of them do not fit in. */
const CHAR_PX_MIN = 3

interface Shared {
  readonly columns: readonly Column[]
  readonly edges: readonly number[]
  readonly seen: Range
}

interface TableBodyProps extends Shared {
  readonly rows: readonly (readonly Cell[])[]
  readonly layout: RowLayout
  readonly chosen: Rectangle
  readonly at: Place
}

/**
 * A row that is scrolled out of sight becomes the next one that comes: only what it says changes. So its place in the page
 * is none among the others, and each stands where its number puts it.
 */
export function TableBody(props: TableBodyProps) {
  const { rows, layout, chosen, at, columns, edges, seen } = props
  const base = baseOf(layout.first)
  return (
    <div
      class="data-body"
      role="presentation"
      style={{ height: `${layout.bodyPx}px`, width: `${(edges.at(-1) ?? 0) + NUMBERS_PX}px` }}
    >
      <div
        class="data-rows"
        role="presentation"
        style={{ transform: `translateY(${layout.y - (layout.first - base) * ROW_PX}px)` }}
      >
        {slotsOf(layout).map((index, slot) => {
          const isChosen = index >= chosen.top && index <= chosen.bottom
          return (
            <ShownRow
              key={slot}
              index={index}
              y={(index - base) * ROW_PX}
              row={rows[index] ?? NO_CELLS}
              chosenFrom={isChosen ? chosen.left : 0}
              chosenTo={isChosen ? chosen.right : -1}
              atColumn={at.row === index ? at.column : -1}
              {...{ columns, edges, seen }}
            />
          )
        })}
      </div>
    </div>
  )
}

const NO_CELLS: readonly Cell[] = []

interface ShownRowProps extends Shared {
  readonly index: number
  readonly y: number
  readonly row: readonly Cell[]
  readonly chosenFrom: number
  readonly chosenTo: number
  /** Where keys act; -1: not in this row. */
  readonly atColumn: number
}

function ShownRow(props: ShownRowProps) {
  const { index, y, row, columns, edges, seen, chosenFrom, chosenTo, atColumn } = props
  const { first, end } = seen
  // The same as before, for a row that nothing has happened to: then nothing of it is looked at.
  return useMemo(() => {
    return (
      <div
        class="data-row"
        role="row"
        aria-rowindex={index + 2}
        style={{ transform: `translateY(${y}px)` }}
      >
        <span class="data-number" aria-hidden="true">
          {shownCount(index + 1)}
        </span>
        {columns.slice(first, end).map((shown, offset) => {
          const column = first + offset
          const [left = 0, right = 0] = [edges[column], edges[column + 1]]
          const isAt = column === atColumn
          const isChosen = column >= chosenFrom && column <= chosenTo
          const charsMax = Math.min(SHOWN_CHARS_MAX, Math.ceil((right - left) / CHAR_PX_MIN))
          return (
            <span
              key={column}
              id={isAt ? cellId({ row: index, column }) : undefined}
              class={classOf(shown, row[column], { isAt, isChosen })}
              style={{ left: `${NUMBERS_PX + left}px`, width: `${right - left}px` }}
              role="gridcell"
              aria-colindex={column + 1}
              aria-selected={isChosen}
              dir="auto"
            >
              {shownCell(row[column], shown.type, charsMax)}
            </span>
          )
        })}
      </div>
    )
  }, [index, y, row, columns, edges, first, end, chosenFrom, chosenTo, atColumn])
}

function classOf(
  column: Column,
  cell: Cell,
  { isAt, isChosen }: { readonly isAt: boolean; readonly isChosen: boolean },
): string {
  const kind = isNothing(cell) ? 'null' : isRightAligned(column, cell) ? 'number' : ''
  return `data-cell ${kind} ${isChosen ? 'chosen' : ''} ${isAt ? 'at' : ''}`
}

export function cellId({ row, column }: Place): string {
  return `cell-${row}-${column}`
}
