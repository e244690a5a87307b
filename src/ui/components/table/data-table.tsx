/**
 * Rows of a statement as a grid. Only what is seen is in the page, so that a million rows or a thousand columns scroll as
 * ten do. Keys move a cell, with Shift they choose more; Mod+C copies, Enter opens.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Cell, Column } from '../../api/sql.ts'
import { Button, CopyButton } from '../button.tsx'
import { Dialog } from '../dialog.tsx'
import { Progress } from '../failure.tsx'
import { shownCount } from '../numbers.ts'
import {
  FIRST_CELL,
  movedTo,
  type Place,
  pressedIn,
  rectangleOf,
  type Selection,
} from './cell-selection.ts'
import { cellText } from './cell-text.ts'
import { cellId, chosenText, TableBody, TableFoot, TableHead } from './table-body.tsx'
import {
  edgesOf,
  HEAD_PX,
  NUMBERS_PX,
  type Range,
  ROW_PX,
  rowLayout,
  scrollTopFor,
  seenColumns,
  suggestedWidths,
} from './table-layout.ts'
import { type OrderedRows, useOrdered } from './use-ordered.ts'

/** Below the rows, where the bar to scroll sideways may lie. */
const BELOW_PX = 18
const WIDTH_STEP_PX = 24

interface DataTableProps {
  readonly label: string
  readonly columns: readonly Column[]
  /** A list that may grow. */
  readonly rows: readonly (readonly Cell[])[]
  /** More rows come: they are not sorted before all are there. */
  readonly isGrowing: boolean
}

export function DataTable({ label, columns, rows: given, isGrowing }: DataTableProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [scroll, setScroll] = useState({ top: 0, left: 0 })
  const [view, setView] = useState({ width: 1200, height: 600 })
  const [selection, setSelection] = useState<Selection>(FIRST_CELL)
  const [isOpen, setIsOpen] = useState(false)
  const ordered = useOrdered(columns, given, isGrowing)
  const { rows, order } = ordered
  const { widths, setWidth } = useWidths(columns, given)
  useSize(frame, setView)
  const edges = useMemo(() => edgesOf(widths), [widths])
  const seen = seenColumns(edges, scroll.left, view.width)
  const viewPx = Math.max(ROW_PX, view.height - HEAD_PX)
  const layout = rowLayout(rows.length, scroll.top, viewPx)
  const size = { rowCount: rows.length, columnCount: columns.length }
  const chosen = rectangleOf(selection)
  const { at } = selection
  const choose = (next: Selection) => {
    setSelection(next)
    if (frame.current) reveal(frame.current, next.at, { edges, viewPx, rowCount: rows.length })
  }
  const pressed = (event: KeyboardEvent) => {
    const hasMod = event.ctrlKey || event.metaKey
    const keys = { key: event.key, hasMod, hasShift: event.shiftKey }
    const page = { ...size, pageRows: Math.floor(viewPx / ROW_PX) - 1 }
    const next = event.altKey ? undefined : pressedIn(selection, keys, page)
    if (next !== undefined) choose(next)
    else if (event.key === 'Enter' && !hasMod) setIsOpen(true)
    else if (event.altKey && widening(event.key) !== 0)
      setWidth(at.column, (widths[at.column] ?? 0) + widening(event.key))
    else return
    event.preventDefault()
  }
  const point = (place: Place, isExtended: boolean) => {
    setSelection((before) => movedTo(before, place, size, isExtended))
  }
  const isAtSeen = isIn(layout, at.row) && isIn(seen, at.column)
  const isWide = (edges.at(-1) ?? 0) + NUMBERS_PX > view.width
  // Neither changes while rows are scrolled.
  const head = useMemo(() => {
    const leadPx = edges[seen.first] ?? 0
    const { sortBy } = ordered
    return (
      <TableHead {...{ columns, widths, seen, leadPx, order }} onSort={sortBy} onWidth={setWidth} />
    )
  }, [columns, widths, seen.first, seen.end, order])
  const { top, bottom, left, right } = chosen
  const foot = useMemo(() => {
    if (rows.length === 0) return null
    return <TableFoot {...{ columns, rows, chosen }} onOpen={() => setIsOpen(true)} />
  }, [columns, rows, rows.length, top, bottom, left, right])
  const height = layout.bodyPx + HEAD_PX + (isWide ? BELOW_PX : 0)
  return (
    <div class="data-frame">
      <SortingRow columns={columns} ordered={ordered} />
      <div
        ref={frame}
        class="data-table"
        style={{ height: `${height}px` }}
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        aria-multiselectable="true"
        aria-activedescendant={isAtSeen ? cellId(at) : undefined}
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollLeft } }) => {
          setScroll({ top: scrollTop, left: scrollLeft })
        }}
        onKeyDown={pressed}
        {...pointing(columns.length, { onPoint: point, onOpen: () => setIsOpen(true) })}
        onCopy={(event) => {
          event.preventDefault()
          event.clipboardData?.setData('text/plain', chosenText(rows, chosen))
        }}
      >
        {head}
        <TableBody {...{ columns, rows, edges, seen, layout, chosen, at }} />
      </div>
      {foot}
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

/** Alt with an arrow makes a column wider or narrower. */
function widening(key: string): number {
  if (key === 'ArrowRight') return WIDTH_STEP_PX
  return key === 'ArrowLeft' ? -WIDTH_STEP_PX : 0
}

interface Reach {
  readonly edges: readonly number[]
  readonly viewPx: number
  readonly rowCount: number
}

/** Scrolls as far as needed. */
function reveal(element: HTMLElement, { row, column }: Place, reach: Reach): void {
  const { edges, viewPx, rowCount } = reach
  const { scrollTop, scrollLeft, clientWidth } = element
  element.scrollTop = scrollTopFor(row, rowCount, { scrollTop, viewPx })
  const [left = 0, right = 0] = edges.slice(column, column + 2)
  if (left < scrollLeft) element.scrollLeft = left
  else if (right > scrollLeft + clientWidth - NUMBERS_PX)
    element.scrollLeft = Math.min(left, right - clientWidth + NUMBERS_PX)
}

/** As the first rows suggest, and as somebody dragged them. */
function useWidths(columns: readonly Column[], rows: readonly (readonly Cell[])[]) {
  const isKnown = rows.length > 0
  const suggested = useMemo(() => suggestedWidths(columns, rows), [columns, isKnown])
  const [dragged, setDragged] = useState<readonly (number | undefined)[]>([])
  const widths = useMemo(() => {
    return suggested.map((px, column) => dragged[column] ?? px)
  }, [suggested, dragged])
  const setWidth = (column: number, px: number) => {
    setDragged((before) =>
      Object.assign([...before], { [column]: Math.max(px, WIDTH_STEP_PX * 2) }),
    )
  }
  return { widths, setWidth }
}

function useSize(
  frame: { readonly current: HTMLElement | null },
  setView: (size: { width: number; height: number }) => void,
): void {
  const known = useRef({ width: 0, height: 0 })
  const look = () => {
    const { clientWidth: width = 0, clientHeight: height = 0 } = frame.current ?? {}
    if (known.current.width === width && known.current.height === height) return
    known.current = { width, height }
    setView(known.current)
  }
  // Before the first frame is drawn, so that nothing is drawn twice.
  useLayoutEffect(look)
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
}

interface Pointing {
  readonly onPoint: (place: Place, isExtended: boolean) => void
  readonly onOpen: () => void
}

/** Heard of by the whole table, which has a thousand cells. A cell is chosen, those that are drawn over are too; a click on its number chooses a row, two open a cell. */
function pointing(columnCount: number, { onPoint, onOpen }: Pointing) {
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

/** That rows are being sorted, how far it is, and what ends it. */
function SortingRow({
  columns,
  ordered: { sorting, cancel },
}: {
  readonly columns: readonly Column[]
  readonly ordered: OrderedRows
}) {
  if (sorting === undefined) return null
  const { share, order } = sorting
  const name = columns[order.column]?.name ?? ''
  const isWaiting = share === undefined
  return (
    <div class="data-sorting small">
      <Progress
        label={isWaiting ? `Sorted by ${name} once all rows are there` : `Sorting by ${name}`}
        {...(isWaiting ? {} : { done: share, total: 1 })}
      />
      <Button look="small" label="Cancel" onClick={cancel} />
    </div>
  )
}

/** What is shown of a cell that somebody opened: a text of 50 MB would stop the browser. */
const CHARS_MAX = 100_000

interface WholeCellProps {
  readonly name: string
  readonly type: string
  readonly cell: Cell
  readonly onClose: () => void
}

/** One cell with all that it holds. */
function WholeCell({ name, type, cell, onClose }: WholeCellProps) {
  const text = useMemo(() => {
    return typeof cell === 'object' && cell !== null
      ? JSON.stringify(cell, null, 2)
      : cellText(cell)
  }, [cell])
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
      <pre class="data-whole" dir="auto" tabIndex={0}>
        {text.slice(0, CHARS_MAX)}
      </pre>
    </Dialog>
  )
}
