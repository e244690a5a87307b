/** The names and types of the columns; a click sorts, the edge between two is dragged. */
import type { Column } from '../../api/sql.ts'
import { isNumberType } from './cell-text.ts'
import type { Order } from './row-order.ts'
import type { Range } from './table-layout.ts'

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
