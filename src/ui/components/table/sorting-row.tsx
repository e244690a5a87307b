/** That rows are being sorted, how far it is, and what ends it. */
import type { Column } from '../../api/sql.ts'
import { Button } from '../button.tsx'
import { Progress } from '../progress.tsx'
import type { OrderedRows } from './use-ordered.ts'

export function SortingRow({
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
