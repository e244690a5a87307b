/** What runs a statement, in which project, how it goes, and what else can be done with it. */
import { projects } from '../../api/catalog.ts'
import { Button } from '../../components/button.tsx'
import type { Span } from '../../components/editor/sql-code.ts'
import { counted, shownDuration } from '../../format/numbers.ts'
import { SqlActions } from './actions/sql-actions.tsx'
import { cancelRuns, type Run } from './runs.ts'
import { changeTab, type SqlTab } from './sql-tabs.ts'

interface RunRowProps {
  readonly tab: SqlTab
  readonly run: Run | undefined
  /** Why nothing was started. */
  readonly refused: string
  /** Where the cursor is, or what is selected. */
  readonly selection: () => Span
  readonly onRun: () => void
  /** Not given: there is one statement. */
  readonly onRunAll?: () => void
}

export function RunRow({ tab, run, refused, selection, onRun, onRunAll }: RunRowProps) {
  const names = [...new Set([tab.project, ...(projects.value ?? []).map(({ name }) => name)])]
  return (
    <div class="row">
      {run?.state === 'running' ? (
        <Button look="danger" icon="stop" label="Cancel" onClick={() => cancelRuns(tab.id)} />
      ) : (
        <Button look="primary" icon="play" label="Run" title="Ctrl+Enter" onClick={onRun} />
      )}
      {onRunAll && run?.state !== 'running' && (
        <Button label="Run all" title="Ctrl+Shift+Enter" onClick={onRunAll} />
      )}
      <label class="row">
        <span class="small quiet">in</span>
        <select
          value={tab.project}
          onChange={(event) => changeTab(tab.id, { project: event.currentTarget.value })}
        >
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <span class="visually-hidden">project where plain names are looked up</span>
      </label>
      <span class="small quiet" role="status">
        {refused || saidOf(run)}
      </span>
      <span class="grow" />
      <SqlActions tab={tab} run={run} selection={selection} />
    </div>
  )
}

function saidOf(run: Run | undefined): string {
  if (run === undefined) return ''
  const took = shownDuration(run.ms)
  const rows = counted(run.rows.length, 'row')
  if (run.state === 'running') return `Running for ${took}, ${rows} so far`
  if (run.state === 'failed') return `Failed after ${took}`
  if (run.state === 'cancelled') return `Cancelled after ${took}, ${rows} received`
  if (run.isCut) return `The first ${rows}. Export it to get all`
  return run.columns.length === 0 ? `Done in ${took}` : `${rows} in ${took}`
}
