/** The rows that are seen, with the cells that are seen of them. */
import type { Cell, Column } from '../../api/sql.ts'
import { shownCount } from '../../format/numbers.ts'
import { holds, type Place, type Rectangle } from './cell-selection.ts'
import { isNothing, shownCell } from './cell-text.ts'
import { isRightAligned, NUMBERS_PX, type Range, type RowLayout } from './table-layout.ts'

const SHOWN_CHARS_MAX = 200

interface Shared {
  readonly columns: readonly Column[]
  readonly widths: readonly number[]
  readonly seen: Range
  readonly chosen: Rectangle
  readonly at: Place
  readonly onPoint: (place: Place, isExtended: boolean) => void
  readonly onOpen: () => void
}

interface TableBodyProps extends Shared {
  readonly rows: readonly (readonly Cell[])[]
  readonly edges: readonly number[]
  readonly layout: RowLayout
}

export function TableBody({ rows, edges, layout, ...shared }: TableBodyProps) {
  const { first, end, bodyPx, y } = layout
  return (
    <div
      class="data-body"
      role="presentation"
      style={{ height: `${bodyPx}px`, width: `${(edges.at(-1) ?? 0) + NUMBERS_PX}px` }}
    >
      <div style={{ transform: `translateY(${y}px)` }} role="presentation">
        {rows.slice(first, end).map((row, offset) => (
          <ShownRow
            key={first + offset}
            index={first + offset}
            row={row}
            leadPx={edges[shared.seen.first] ?? 0}
            {...shared}
          />
        ))}
      </div>
    </div>
  )
}

interface ShownRowProps extends Shared {
  readonly index: number
  readonly row: readonly Cell[]
  readonly leadPx: number
}

function ShownRow(props: ShownRowProps) {
  const { index, row, columns, widths, seen, leadPx, chosen, at, onPoint, onOpen } = props
  return (
    <div class="data-row" role="row" aria-rowindex={index + 2}>
      <span
        class="data-number"
        aria-hidden="true"
        onClick={({ shiftKey }) => {
          onPoint({ row: index, column: columns.length - 1 }, shiftKey)
          onPoint({ row: index, column: 0 }, true)
        }}
      >
        {shownCount(index + 1)}
      </span>
      <span class="data-lead" style={{ width: `${leadPx}px` }} role="presentation" />
      {columns.slice(seen.first, seen.end).map((shown, offset) => {
        const place = { row: index, column: seen.first + offset }
        const isAt = at.row === index && at.column === place.column
        const isChosen = holds(chosen, place)
        return (
          <span
            key={place.column}
            id={cellId(place)}
            class={classOf(shown, row[place.column], { isAt, isChosen })}
            style={{ width: `${widths[place.column] ?? 0}px` }}
            role="gridcell"
            aria-colindex={place.column + 1}
            aria-selected={isChosen}
            dir="auto"
            onPointerDown={({ button, shiftKey }) => {
              if (button === 0) onPoint(place, shiftKey)
            }}
            onPointerEnter={({ buttons, pointerType }) => {
              if (buttons === 1 && pointerType === 'mouse') onPoint(place, true)
            }}
            onDblClick={onOpen}
          >
            {shownCell(row[place.column], shown.type, SHOWN_CHARS_MAX)}
          </span>
        )
      })}
    </div>
  )
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
