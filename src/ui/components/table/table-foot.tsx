/** What is chosen in the table, and what can be done with it. */
import type { Cell, Column } from '../../api/sql.ts'
import { Button } from '../button.tsx'
import { CopyButton } from '../copy-button.tsx'
import { counted, shownCount } from '../numbers.ts'
import { cellCount, type Rectangle } from './cell-selection.ts'
import { cellText, shownCell, tsvOf } from './cell-text.ts'

const SHOWN_CHARS_MAX = 160
/** A sum over more would make each step of the keys slow. */
const SUMMED_CELLS_MAX = 200_000

interface TableFootProps {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
  readonly chosen: Rectangle
  readonly onOpen: () => void
}

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
            {shownCell(rows[top]?.[left], type, SHOWN_CHARS_MAX)}
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
