/** The rows that are seen, with the cells that are seen of them. */
import { useMemo } from 'preact/hooks'
import type { Cell, Column } from '../../api/sql.ts'
import { Button, CopyButton } from '../button.tsx'
import { counted, shownCount } from '../numbers.ts'
import { cellCount, type Place, type Rectangle } from './cell-selection.ts'
import { cellText, isNothing, isNumberType, shownCell, tsvOf } from './cell-text.ts'
import type { Order } from './row-order.ts'
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

interface TableHeadProps {
  readonly columns: readonly Column[]
  readonly widths: readonly number[]
  readonly seen: Range
  /** Of what stands before the first that is seen. */
  readonly leadPx: number
  readonly order: Order | undefined
  readonly onSort: (column: number) => void
  readonly onWidth: (column: number, px: number) => void
}

const WIDTH_PX_MIN = 40

/** The names and types of the columns; a click sorts, the edge between two is dragged. */
export function TableHead(props: TableHeadProps) {
  const { columns, widths, seen, leadPx, order, onSort, onWidth } = props
  return (
    <div class="data-row data-head" role="row" aria-rowindex={1}>
      <span class="data-number" role="presentation" />
      <span class="data-lead" style={{ width: `${leadPx}px` }} role="presentation" />
      {columns.slice(seen.first, seen.end).map(({ name, type }, offset) => {
        const column = seen.first + offset
        const width = widths[column] ?? 0
        return (
          <span
            key={column}
            class={`data-cell ${isNumberType(type) ? 'number' : ''}`}
            style={{ width: `${width}px` }}
            role="columnheader"
            aria-colindex={column + 1}
            aria-sort={sortWord(order, column)}
          >
            <button
              type="button"
              tabIndex={-1}
              title={`${name}\n${type}\nClick to sort`}
              onClick={() => onSort(column)}
            >
              <span class="one-line" dir="auto">
                {name}
                {order?.column === column && (
                  <span aria-hidden="true">{order.isDescending ? ' ↓' : ' ↑'}</span>
                )}
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
  edge.onpointermove = ({ clientX }) => onWidth(Math.max(WIDTH_PX_MIN, width + clientX - start))
  edge.onlostpointercapture = () => {
    edge.onpointermove = null
  }
}

function sortWord(order: Order | undefined, column: number): 'ascending' | 'descending' | 'none' {
  if (order?.column !== column) return 'none'
  return order.isDescending ? 'descending' : 'ascending'
}

const SAID_CHARS_MAX = 160
/** A sum over more would make each step of the keys slow. */
const SUMMED_CELLS_MAX = 200_000

interface TableFootProps {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
  readonly chosen: Rectangle
  readonly onOpen: () => void
}

/** What is chosen in the table, and what can be done with it. */
export function TableFoot({ columns, rows, chosen, onOpen }: TableFootProps) {
  const { top, bottom, left, right } = chosen
  const named = columns.slice(left, right + 1)
  const isOne = cellCount(chosen) === 1
  const { name = '', type = '' } = columns[left] ?? {}
  return (
    <div class="data-foot small">
      <span class="one-line grow" dir="auto">
        {isOne ? (
          <>
            <span class="quiet">
              Row {shownCount(top + 1)}, {name}:{' '}
            </span>
            {shownCell(rows[top]?.[left], type, SAID_CHARS_MAX)}
          </>
        ) : (
          saidOf(rows, chosen)
        )}
      </span>
      {isOne && <Button look="small" label="Open" onClick={onOpen} />}
      <CopyButton label="Copy" text={() => chosenText(rows, chosen)} />
      {!isOne && (
        <CopyButton
          label="Copy with headers"
          text={() => {
            const cells = rows.slice(top, bottom + 1).map((row) => row.slice(left, right + 1))
            return tsvOf([named.map((column) => column.name), ...cells])
          }}
        />
      )}
    </div>
  )
}

/** One cell as it is, several as a spreadsheet takes them. */
export function chosenText(rows: readonly (readonly Cell[])[], chosen: Rectangle): string {
  const { top, bottom, left, right } = chosen
  if (cellCount(chosen) === 1) return cellText(rows[top]?.[left])
  return tsvOf(rows.slice(top, bottom + 1).map((row) => row.slice(left, right + 1)))
}

function saidOf(rows: readonly (readonly Cell[])[], chosen: Rectangle): string {
  const { top, bottom, left, right } = chosen
  const cells = cellCount(chosen)
  const said = `${counted(bottom - top + 1, 'row')} × ${counted(right - left + 1, 'column')}`
  if (cells > SUMMED_CELLS_MAX) return said
  let sum = 0
  let numbers = 0
  for (const row of rows.slice(top, bottom + 1)) {
    for (const cell of row.slice(left, right + 1)) {
      if (typeof cell !== 'number') continue
      sum += cell
      numbers += 1
    }
  }
  if (numbers === 0) return said
  const [total, mean] = [sum, sum / numbers].map((one) => Number(one.toPrecision(12)))
  return `${said}; sum ${total}, mean ${mean} of ${counted(numbers, 'number')}`
}
