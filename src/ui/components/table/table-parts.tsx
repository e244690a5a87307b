/** The head, the visible rows and the foot of a large table. */
import { useMemo } from 'preact/hooks'
import type { Cell, Column } from '../../api/sql.ts'
import { Button, CopyButton } from '../button.tsx'
import { counted, shownCount } from '../numbers.ts'
import { cellText, isNothing, isNumberType, shownCell, tsvOf } from './cell-text.ts'
import {
  cellCount,
  isRightAligned,
  NUMBERS_PX,
  type Order,
  type Place,
  type Range,
  type Rectangle,
  ROW_PX,
} from './table-model.ts'

type Rows = readonly (readonly Cell[])[]

interface TableHeadProps {
  readonly columns: readonly Column[]
  readonly widths: readonly number[]
  readonly seen: Range
  /** The total width of the columns before the first visible one. */
  readonly leadPx: number
  readonly order: Order | undefined
  readonly onSort: ((column: number) => void) | undefined
  readonly onWidth: (column: number, px: number) => void
}

/** Column names and types. A click sorts; dragging the edge between two columns changes a width. */
export function TableHead(props: TableHeadProps) {
  const { columns, widths, seen, leadPx, order, onSort, onWidth } = props
  return (
    <div class="data-row data-head" role="row" aria-rowindex={1}>
      <span class="data-number" role="presentation" />
      <span class="data-lead" style={{ width: `${leadPx}px` }} role="presentation" />
      {columns.slice(seen.first, seen.end).map(({ name, type }, offset) => {
        const column = seen.first + offset
        const width = widths[column] ?? 0
        const isSorted = order?.column === column
        const words = isSorted && order.isDescending ? 'descending' : 'ascending'
        return (
          <span
            key={column}
            class={`data-cell ${isNumberType(type) ? 'number' : ''}`}
            style={{ width: `${width}px` }}
            role="columnheader"
            aria-colindex={column + 1}
            aria-sort={isSorted ? words : 'none'}
          >
            <button
              type="button"
              class="text-button"
              tabIndex={-1}
              disabled={onSort === undefined}
              title={`${name}\n${type}${onSort === undefined ? '' : '\nClick to sort'}`}
              onClick={() => onSort?.(column)}
            >
              <span class="one-line">
                {name}
                {isSorted && <span aria-hidden="true">{order.isDescending ? ' ↓' : ' ↑'}</span>}
              </span>
              <span class="data-type one-line">{type}</span>
            </button>
            <span
              class="data-edge"
              role="presentation"
              onPointerDown={(event) => drag(event, width, (px) => onWidth(column, px))}
            />
          </span>
        )
      })}
    </div>
  )
}

function drag(event: PointerEvent, width: number, onWidth: (px: number) => void): void {
  const { currentTarget: edge, clientX: start, pointerId } = event
  if (!(edge instanceof HTMLElement)) return
  event.preventDefault()
  edge.setPointerCapture(pointerId)
  edge.onpointermove = ({ clientX }) => onWidth(width + clientX - start)
  edge.onlostpointercapture = () => {
    edge.onpointermove = null
  }
}

const SHOWN_CHARS_MAX = 200

interface Shared {
  readonly columns: readonly Column[]
  readonly edges: readonly number[]
  readonly seen: Range
}

export function TableBody(
  props: Shared & {
    readonly rows: Rows
    readonly shown: Range
    readonly chosen: Rectangle
    readonly at: Place
  },
) {
  const { rows, shown, chosen, at, columns, edges, seen } = props
  const width = (edges.at(-1) ?? 0) + NUMBERS_PX
  return (
    <div
      class="data-body"
      role="presentation"
      style={{ height: `${rows.length * ROW_PX}px`, width: `${width}px` }}
    >
      <div
        class="data-rows"
        role="presentation"
        style={{ transform: `translateY(${shown.first * ROW_PX}px)` }}
      >
        {rows.slice(shown.first, shown.end).map((row, offset) => {
          const index = shown.first + offset
          const isChosen = index >= chosen.top && index <= chosen.bottom
          return (
            <ShownRow
              key={index}
              index={index}
              row={row}
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

interface ShownRowProps extends Shared {
  readonly index: number
  readonly row: readonly Cell[]
  readonly chosenFrom: number
  readonly chosenTo: number
  /** The column where keys act; -1 if it is not in this row. */
  readonly atColumn: number
}

function ShownRow(props: ShownRowProps) {
  const { index, row, columns, edges, seen, chosenFrom, chosenTo, atColumn } = props
  const { first, end } = seen
  // Returns the same element as before if nothing changed, so that scrolling does not compare
  // unchanged cells.
  return useMemo(() => {
    return (
      <div class="data-row" role="row" aria-rowindex={index + 2}>
        <span class="data-number" aria-hidden="true">
          {shownCount(index + 1)}
        </span>
        {columns.slice(first, end).map((shown, offset) => {
          const column = first + offset
          const cell = row[column]
          const [left = 0, right = 0] = [edges[column], edges[column + 1]]
          const isChosen = column >= chosenFrom && column <= chosenTo
          const kind = isNothing(cell) ? 'null' : isRightAligned(shown, cell) ? 'number' : ''
          const isAt = column === atColumn
          return (
            <span
              key={column}
              id={isAt ? cellId({ row: index, column }) : undefined}
              class={`data-cell ${kind} ${isChosen ? 'chosen' : ''} ${isAt ? 'at' : ''}`}
              style={{ left: `${NUMBERS_PX + left}px`, width: `${right - left}px` }}
              role="gridcell"
              aria-colindex={column + 1}
              aria-selected={isChosen}
            >
              {shownCell(cell, shown.type, SHOWN_CHARS_MAX)}
            </span>
          )
        })}
      </div>
    )
  }, [index, row, columns, edges, first, end, chosenFrom, chosenTo, atColumn])
}

export function cellId({ row, column }: Place): string {
  return `cell-${row}-${column}`
}

const SAID_CHARS_MAX = 160

export function TableFoot(props: {
  readonly columns: readonly Column[]
  readonly rows: Rows
  readonly chosen: Rectangle
  readonly onOpen: () => void
  readonly onSort: ((column: number) => void) | undefined
  readonly isReading: boolean
}) {
  const { columns, rows, chosen, onOpen, onSort, isReading } = props
  const { top, bottom, left, right } = chosen
  const isOne = cellCount(chosen) === 1
  const { name = '', type = '' } = columns[left] ?? {}
  return (
    <div class="row data-foot small">
      <span class="one-line grow">
        {isOne ? (
          <>
            <span class="quiet">
              Row {shownCount(top + 1)}, {name}:{' '}
            </span>
            {shownCell(rows[top]?.[left], type, SAID_CHARS_MAX)}
          </>
        ) : (
          `${counted(bottom - top + 1, 'row')} × ${counted(right - left + 1, 'column')}`
        )}
      </span>
      {isOne && onSort && (
        <Button
          look="small"
          label="Sort"
          aria-label={`Sort by ${name}`}
          aria-disabled={isReading}
          onClick={() => !isReading && onSort(left)}
        />
      )}
      {isOne && <Button look="small" label="Open" onClick={onOpen} />}
      <CopyButton label="Copy" text={() => chosenText(rows, chosen)} />
    </div>
  )
}

/** A single cell as it is, or several in spreadsheet format. */
export function chosenText(rows: Rows, chosen: Rectangle): string {
  if (cellCount(chosen) === 1) return cellText(rows[chosen.top]?.[chosen.left])
  const { top, bottom, left, right } = chosen
  return tsvOf(rows.slice(top, bottom + 1).map((row) => row.slice(left, right + 1)))
}
