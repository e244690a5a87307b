import { useState } from 'preact/hooks'
import { runSql, type Statement } from '../../../api/sql.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { PlanOfRun } from '../result/plan-of-run.tsx'

interface PlanDialogProps {
  readonly statement: Statement
  readonly onClose: () => void
}

/** How the statement would be done; or, run once more, where its time goes. */
export function PlanDialog({ statement, onClose }: PlanDialogProps) {
  const { sql, project, params } = statement
  const [isMeasured, setIsMeasured] = useState(false)
  const explain = isMeasured ? 'EXPLAIN (ANALYZE, FORMAT JSON)' : 'EXPLAIN (FORMAT JSON)'
  const plan = useResource(
    (signal) => runSql({ ...statement, sql: `${explain} ${sql}`, signal }),
    ['plan', explain, sql, project, params],
  )
  return (
    <Dialog title="Plan" size="wide" onClose={onClose}>
      <div class="row">
        <p class="small quiet grow">
          {isMeasured
            ? 'It ran, and this is where its time went. Times of several threads are added up.'
            : 'Nothing ran. Row counts are what the database expects.'}
        </p>
        {!isMeasured && (
          <Button icon="play" label="Run it and measure" onClick={() => setIsMeasured(true)} />
        )}
      </div>
      {plan.failure && <Failure error={plan.failure} onRetry={plan.reload} />}
      {plan.isLoading && <Loading what="the plan" />}
      {plan.data && <PlanOfRun rows={plan.data.rows} />}
    </Dialog>
  )
}
