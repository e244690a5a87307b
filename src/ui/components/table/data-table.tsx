/**
 * Shows the rows of a statement as a grid. Only visible cells are in the page, so that half a
 * million rows scroll smoothly. Keys move the selected cell, Shift extends the selection, Mod+C
 * copies it, Enter opens the cell.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Cell, Column } from '../../api/sql.ts'
import { CopyButton } from '../button.tsx'
import { Dialog } from '../dialog.tsx'
import { shownCount } from '../numbers.ts'
import { cellText } from './cell-text.ts'
import {
  edgesOf,
  FIRST_CELL,
  HEAD_PX,
  movedTo,
  NUMBERS_PX,
  type Order,
  type Place,
  pressedIn,
  type Range,
  ROW_PX,
  rectangleOf,
  type Selection,
  scrollTopFor,
  seenColumns,
  seenRows,
  suggestedWidths,
} from './table-model.ts'
import { cellId, chosenText, TableBody, TableFoot, TableHead } from './table-parts.tsx'

/** The space for a horizontal scroll bar. */
const BELOW_PX = 18
const WIDTH_PX_MIN = 48

interface DataTableProps {
  readonly label: string
  readonly columns: readonly Column[]
  /** The list may grow. */
  readonly rows: readonly (readonly Cell[])[]
  /** How long the list is now: the same list does not draw the table again. */
  readonly rowCount: number
  readonly order: Order | undefined
  /** If missing, the rows cannot be sorted. */
  readonly onSort?: ((column: number) => void) | undefined
  /** Whether rows are still read, so that sorting them has to wait. */
  readonly isReading: boolean
}

export function DataTable(props: DataTableProps) {
  const { label, columns, rows, rowCount, order, onSort, isReading } = props
  const frame = useRef<HTMLDivElement>(null)
  const [scroll, setScroll] = useState({ top: 0, left: 0 })
  const view = useSize(frame)
  const [selection, setSelection] = useState<Selection>(FIRST_CELL)
  const [isOpen, setIsOpen] = useState(false)
  const { widths, setWidth } = useWidths(columns, rows)
  const edges = useMemo(() => edgesOf(widths), [widths])
  const seen = seenColumns(edges, scroll.left, view.width)
  const viewPx = Math.max(ROW_PX, view.height - HEAD_PX)
  const shown = seenRows(rowCount, scroll.top, viewPx)
  const size = { rowCount, columnCount: columns.length }
  const chosen = rectangleOf(selection)
  const { at } = selection
  const open = () => setIsOpen(true)
  const pressed = (event: KeyboardEvent) => {
    if (event.altKey) return
    const hasMod = event.ctrlKey || event.metaKey
    const keys = { key: event.key, hasMod, hasShift: event.shiftKey }
    const page = { ...size, pageRows: Math.floor(viewPx / ROW_PX) - 1 }
    const next = pressedIn(selection, keys, page)
    if (next !== undefined) {
      setSelection(next)
      if (frame.current) reveal(frame.current, next.at, edges, viewPx)
    } else if (event.key === 'Enter' && !hasMod) open()
    else return
    event.preventDefault()
  }
  const point = (place: Place, isExtended: boolean) => {
    setSelection((before) => movedTo(before, place, size, isExtended))
  }
  const isAtSeen = isIn(shown, at.row) && isIn(seen, at.column)
  const isWide = (edges.at(-1) ?? 0) + NUMBERS_PX > view.width
  const leadPx = edges[seen.first] ?? 0
  const height = rowCount * ROW_PX + HEAD_PX + (isWide ? BELOW_PX : 0)
  return (
    <div class="panel data-frame">
      <div
        ref={frame}
        class="data-table"
        style={{ height: `${height}px` }}
        role="grid"
        aria-label={label}
        aria-rowcount={rowCount + 1}
        aria-colcount={columns.length}
        aria-multiselectable="true"
        aria-activedescendant={isAtSeen ? cellId(at) : undefined}
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollLeft } }) => {
          setScroll({ top: scrollTop, left: scrollLeft })
        }}
        onKeyDown={pressed}
        {...pointing(columns.length, point, open)}
        onCopy={(event) => {
          event.preventDefault()
          event.clipboardData?.setData('text/plain', chosenText(rows, chosen))
        }}
      >
        <TableHead
          {...{ columns, widths, seen, leadPx, order }}
          onSort={isReading ? undefined : onSort}
          onWidth={setWidth}
        />
        <TableBody {...{ columns, rows, edges, seen, shown, chosen, at }} />
      </div>
      {rowCount > 0 && (
        <TableFoot {...{ columns, rows, chosen, onSort, isReading }} onOpen={open} />
      )}
      {isOpen && (
        <WholeCell
          name={columns[at.column]?.name ?? ''}
          type={columns[at.column]?.type ?? ''}
          cell={rows[at.row]?.[at.column]}
          onClose={() => setIsOpen(false)}
        />
      )}
    </div>
  )
}

function isIn({ first, end }: Range, index: number): boolean {
  return index >= first && index < end
}

/** Scrolls only as far as needed. */
function reveal(
  element: HTMLElement,
  { row, column }: Place,
  edges: readonly number[],
  viewPx: number,
): void {
  const { scrollTop, scrollLeft, clientWidth } = element
  element.scrollTop = scrollTopFor(row, scrollTop, viewPx)
  const [left = 0, right = 0] = edges.slice(column, column + 2)
  if (left < scrollLeft) element.scrollLeft = left
  else if (right > scrollLeft + clientWidth - NUMBERS_PX)
    element.scrollLeft = Math.min(left, right - clientWidth + NUMBERS_PX)
}

/** Column widths that fit the first rows, unless the user dragged a column's edge. */
function useWidths(columns: readonly Column[], rows: readonly (readonly Cell[])[]) {
  const isKnown = rows.length > 0
  const suggested = useMemo(() => suggestedWidths(columns, rows), [columns, isKnown])
  const [dragged, setDragged] = useState<Readonly<Record<number, number>>>({})
  const widths = useMemo(
    () => suggested.map((px, column) => dragged[column] ?? px),
    [suggested, dragged],
  )
  const setWidth = (column: number, px: number) => {
    setDragged((before) => ({ ...before, [column]: Math.max(px, WIDTH_PX_MIN) }))
  }
  return { widths, setWidth }
}

function useSize(frame: { readonly current: HTMLElement | null }) {
  const [size, setSize] = useState({ width: 1200, height: 600 })
  const look = () => {
    const { clientWidth: width = 0, clientHeight: height = 0 } = frame.current ?? {}
    setSize((before) =>
      before.width === width && before.height === height ? before : { width, height },
    )
  }
  useLayoutEffect(look)
  useEffect(() => {
    if (frame.current === null) return
    const observer = new ResizeObserver(look)
    observer.observe(frame.current)
    return () => observer.disconnect()
  }, [])
  return size
}

/** For the whole table: dragging, clicking row numbers, double-clicking cells. */
function pointing(
  columnCount: number,
  onPoint: (place: Place, isExtended: boolean) => void,
  onOpen: () => void,
) {
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
    onClick({ target, shiftKey }: MouseEvent) {
      const number = target instanceof Element ? target.closest('.data-rows .data-number') : null
      if (number === null) return
      const row = rowOf(number)
      onPoint({ row, column: columnCount - 1 }, shiftKey)
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

/** The head is the first row of the grid. */
function rowOf(part: Element): number {
  return Number(part.closest('[role="row"]')?.getAttribute('aria-rowindex')) - 2
}

/** A text of 50 MB would freeze the browser. */
const CHARS_MAX = 100_000

function WholeCell(props: Column & { readonly cell: Cell; readonly onClose: () => void }) {
  const { name, type, cell, onClose } = props
  const text =
    typeof cell === 'object' && cell !== null ? JSON.stringify(cell, null, 2) : cellText(cell)
  return (
    <Dialog title={name} size="wide" onClose={onClose}>
      <div class="row">
        <CopyButton text={text} />
        <span class="small quiet">
          {type && `${type}, `}
          {shownCount(text.length)} characters
        </span>
        {text.length > CHARS_MAX && (
          <span class="badge warn">The first {shownCount(CHARS_MAX)} are shown</span>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <pre class="pre data-whole" tabIndex={0}>
        {text.slice(0, CHARS_MAX)}
      </pre>
    </Dialog>
  )
}
