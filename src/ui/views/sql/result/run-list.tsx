/** The statements that were run together, each with how it went; the one that is chosen is shown below. */
import { shownCount, shownDuration } from '../../../format/numbers.ts'
import { type Run, showRun, type TabRuns } from '../runs.ts'

const STATES: Readonly<Record<Run['state'], string>> = {
  waiting: 'waits',
  running: 'runs',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
}

export function RunList({ tabId, of }: { readonly tabId: string; readonly of: TabRuns }) {
  return (
    <div class="sql-runs" role="group" aria-label="Statements that were run">
      {of.runs.map((run, index) => (
        <button
          key={`${run.offset}`}
          type="button"
          class={`sql-run ${run.state}`}
          aria-pressed={index === of.shown}
          disabled={run.state === 'waiting'}
          onClick={() => showRun(tabId, index)}
        >
          <span class="sql-run-number">{index + 1}</span>
          <code class="one-line" dir="auto">
            {run.statement.sql.slice(0, 200)}
          </code>
          <span class="small quiet">{saidShort(run)}</span>
        </button>
      ))}
    </div>
  )
}

function saidShort(run: Run): string {
  if (run.state !== 'done') return STATES[run.state]
  const rows = run.columns.length === 0 ? 'done' : `${shownCount(run.rows.length)} rows`
  return `${rows}, ${shownDuration(run.ms)}`
}
