import { runSql, type Statement } from '../../../api/sql.ts'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'

interface PlanDialogProps {
  readonly statement: Statement
  readonly onClose: () => void
}

export function PlanDialog({ statement, onClose }: PlanDialogProps) {
  const { sql, project, params } = statement
  const plan = useResource(
    (signal) => runSql({ ...statement, sql: `EXPLAIN ${sql}`, signal }),
    ['plan', sql, project, params],
  )
  return (
    <Dialog title="Plan" size="wide" onClose={onClose}>
      {plan.failure && <Failure error={plan.failure} onRetry={plan.reload} />}
      {plan.isLoading && <Loading what="the plan" />}
      {plan.data && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
        <pre class="data-whole" tabIndex={0}>
          {plan.data.rows.map((row) => row.map(String).join('\n')).join('\n')}
        </pre>
      )}
    </Dialog>
  )
}
