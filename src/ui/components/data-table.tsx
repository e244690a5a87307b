/**
 * Rows of a statement as a grid. Only what is seen is in the page, so that 200,000 rows scroll as ten do. Keys move a
 * cell; Mod+C copies it.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Cell, Column } from '../api/sql.ts'
import { shownCount } from '../format/numbers.ts'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { cellText, compareCells, isNothing } from './table/cell-text.ts'

const ROW_PX = 30
/** Rows beyond the edge, so that a step of the wheel shows no gap. */
const BEYOND = 12
const SHOWN_CHARS_MAX = 200
/** A browser's element is at most so high: beyond it, the scroll position stands for rows by proportion. */
const HEIGHT_PX_MAX = 8_000_000

export interface DataTableProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
  /** Rises when rows were added to the same list. */
  readonly version: number
}

interface Place {
  readonly row: number
  readonly column: number
}

export function DataTable({ label, columns, rows, version }: DataTableProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(400)
  const [at, setAt] = useState<Place>({ row: 0, column: 0 })
  const [open, setOpen] = useState<Place>()
  const [order, setOrder] = useState<Order>()
  const sorted = useSorted({ rows, columns, version }, order)
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const whole = Math.min(rows.length * ROW_PX, HEIGHT_PX_MAX)
  const scale = rows.length === 0 ? 1 : (rows.length * ROW_PX) / Math.max(whole, 1)
  const first = Math.max(0, Math.floor((top * scale) / ROW_PX) - BEYOND)
  const count = Math.ceil(height / ROW_PX) + 2 * BEYOND
  const seen = sorted.slice(first, first + count)
  const move = (next: Place) => {
    const row = Math.max(0, Math.min(rows.length - 1, next.row))
    const column = Math.max(0, Math.min(columns.length - 1, next.column))
    setAt({ row, column })
    const element = frame.current
    if (element === null) return
    const y = (row * ROW_PX) / scale
    if (y < element.scrollTop) element.scrollTop = y
    else if (y > element.scrollTop + height - 2 * ROW_PX)
      element.scrollTop = y - height + 3 * ROW_PX
  }
  const pressed = (event: KeyboardEvent) => {
    const next = steppedTo(event.key, at, Math.floor(height / ROW_PX) - 2, columns.length)
    if (next !== undefined) move(next)
    else if (event.key === 'Enter') setOpen(at)
    else if (event.key === 'c' && (event.ctrlKey || event.metaKey)) {
      void navigator.clipboard.writeText(cellText(sorted[at.row]?.[at.column]))
    } else return
    event.preventDefault()
  }
  const sortBy = (column: number) => setOrder((before) => nextOrder(before, column))
  return (
    <>
      <div
        ref={frame}
        class="data-table"
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        aria-activedescendant={`cell-${at.row}-${at.column}`}
        tabIndex={0}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={pressed}
      >
        <HeadRow columns={columns} order={order} onSort={sortBy} />
        <div class="data-body" style={{ height: `${whole}px` }} role="presentation">
          <div
            style={{ transform: `translateY(${(first * ROW_PX) / scale}px)` }}
            role="presentation"
          >
            {seen.map((row, index) => (
              <div
                key={first + index}
                class="data-row"
                role="row"
                aria-rowindex={first + index + 2}
              >
                <span class="data-number" aria-hidden="true">
                  {shownCount(first + index + 1)}
                </span>
                {columns.map(({ name }, column) => (
                  <ShownCell
                    key={`${column} ${name}`}
                    place={{ row: first + index, column }}
                    cell={row[column]}
                    isAt={at.row === first + index && at.column === column}
                    onAt={setAt}
                    onOpen={setOpen}
                  />
                ))}
              </div>
            ))}
          </div>
        </div>
      </div>
      {open && (
        <WholeCell
          name={columns[open.column]?.name ?? ''}
          cell={sorted[open.row]?.[open.column]}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}

interface Order {
  readonly column: number
  readonly descending: boolean
}

/** Up, down, and as the rows came. */
function nextOrder(before: Order | undefined, column: number): Order | undefined {
  if (before?.column !== column) return { column, descending: false }
  return before.descending ? undefined : { column, descending: true }
}

function steppedTo(key: string, { row, column }: Place, page: number, columnCount: number) {
  const steps: Readonly<Record<string, Place>> = {
    ArrowDown: { row: row + 1, column },
    ArrowUp: { row: row - 1, column },
    ArrowRight: { row, column: column + 1 },
    ArrowLeft: { row, column: column - 1 },
    PageDown: { row: row + page, column },
    PageUp: { row: row - page, column },
    Home: { row, column: 0 },
    End: { row, column: columnCount - 1 },
  }
  return steps[key]
}

function HeadRow({
  columns,
  order,
  onSort,
}: {
  readonly columns: readonly Column[]
  readonly order: Order | undefined
  readonly onSort: (column: number) => void
}) {
  return (
    <div class="data-row data-head" role="row" aria-rowindex={1}>
      <span class="data-number" role="presentation" />
      {columns.map(({ name }, index) => (
        <span
          key={`${index} ${name}`}
          class="data-cell"
          role="columnheader"
          aria-sort={sortWord(order, index)}
        >
          <button
            type="button"
            tabIndex={-1}
            title={`Sort by ${name}`}
            onClick={() => onSort(index)}
          >
            <span dir="auto">{name}</span>
            {order?.column === index && (
              <span aria-hidden="true">{order.descending ? '↓' : '↑'}</span>
            )}
          </button>
        </span>
      ))}
    </div>
  )
}

interface ShownCellProps {
  readonly place: Place
  readonly cell: Cell
  readonly isAt: boolean
  readonly onAt: (place: Place) => void
  readonly onOpen: (place: Place) => void
}

function ShownCell({ place, cell, isAt, onAt, onOpen }: ShownCellProps) {
  const kind = cell === null || cell === undefined ? 'null' : typeof cell
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys
    <span
      id={`cell-${place.row}-${place.column}`}
      class={`data-cell ${kind} ${isAt ? 'at' : ''}`}
      role="gridcell"
      aria-selected={isAt}
      dir="auto"
      onClick={() => onAt(place)}
      onDblClick={() => onOpen(place)}
    >
      {cellText(cell, SHOWN_CHARS_MAX)}
    </span>
  )
}

/** What is shown of a cell that somebody opened: a text of 50 MB would stop the browser. */
const WHOLE_CHARS_MAX = 100_000

function WholeCell({
  name,
  cell,
  onClose,
}: {
  readonly name: string
  readonly cell: Cell
  readonly onClose: () => void
}) {
  const text =
    typeof cell === 'object' && cell !== null ? JSON.stringify(cell, null, 2) : cellText(cell)
  const isCut = text.length > WHOLE_CHARS_MAX
  return (
    <Dialog title={name} size="wide" onClose={onClose}>
      <div class="row">
        <CopyButton text={text} />
        <span class="small quiet">{shownCount(text.length)} characters</span>
        {isCut && <span class="badge warn">The first {shownCount(WHOLE_CHARS_MAX)} are shown</span>}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <pre class="data-whole" dir="auto" tabIndex={0}>
        {text.slice(0, WHOLE_CHARS_MAX)}
      </pre>
    </Dialog>
  )
}

function sortWord(order: Order | undefined, column: number): 'ascending' | 'descending' | 'none' {
  if (order?.column !== column) return 'none'
  return order.descending ? 'descending' : 'ascending'
}

interface Sorted {
  readonly key: string
  readonly rows: unknown
  readonly sorted: readonly (readonly Cell[])[]
}

/** The rows in the order that was asked for; sorted again when more have come. Nothing comes last. */
function useSorted(
  { rows, columns, version }: Pick<DataTableProps, 'rows' | 'columns' | 'version'>,
  order: Order | undefined,
): readonly (readonly Cell[])[] {
  const memory = useRef<Sorted | undefined>(undefined)
  if (order === undefined) return rows
  const key = `${version} ${order.column} ${order.descending}`
  if (memory.current?.key !== key || memory.current.rows !== rows) {
    const { column } = order
    const sign = order.descending ? -1 : 1
    const type = columns[column]?.type ?? ''
    const sorted = rows.toSorted((a, b) => {
      const [x, y] = [a[column], b[column]]
      if (isNothing(x) || isNothing(y)) return Number(isNothing(x)) - Number(isNothing(y))
      return sign * compareCells(x, y, type)
    })
    memory.current = { key, rows, sorted }
  }
  return memory.current.sorted
}
