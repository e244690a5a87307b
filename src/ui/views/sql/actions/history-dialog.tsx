import { useState } from 'preact/hooks'
import { Button } from '../../../components/button.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { counted, shownDuration, shownTime } from '../../../format/numbers.ts'
import { forgetRuns, type PastRun, pastRuns } from '../past-runs.ts'
import { openTab } from '../sql-tabs.ts'

const SHOWN_CHARS_MAX = 500

/** What was run in this browser; one is opened again in a tab. */
export function HistoryDialog({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [isForgetting, setIsForgetting] = useState(false)
  const found = pastRuns.value.filter(({ sql }) => sql.toLowerCase().includes(typed.toLowerCase()))
  return (
    <Dialog title="History" size="wide" onClose={onClose}>
      <div class="row">
        <input
          class="grow"
          type="search"
          aria-label="Find a statement"
          placeholder="Find a statement"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        {found.length > 0 && (
          <Button
            icon="trash"
            label={typed === '' ? 'Delete all' : 'Delete these'}
            onClick={() => setIsForgetting(true)}
          />
        )}
      </div>
      {isForgetting && (
        <ConfirmDialog
          title={`Delete ${counted(found.length, 'statement')}?`}
          verb="Delete"
          onConfirm={async () => forgetRuns((run) => isAmong(run, found))}
          onClose={() => setIsForgetting(false)}
        >
          They are deleted from the history in this browser. Open tabs stay.
        </ConfirmDialog>
      )}
      {found.length === 0 && (
        <EmptyState
          icon="sql"
          title={typed === '' ? 'Nothing has been run yet' : 'No such statement'}
        >
          <p>Statements that you run are listed here. They stay in this browser.</p>
        </EmptyState>
      )}
      <ul class="sql-history">
        {found.map((run) => (
          <li key={`${run.atMs} ${run.sql.slice(0, 50)}`}>
            <button
              type="button"
              onClick={() => {
                openTab({ sql: run.sql, project: run.project, params: run.params ?? {} })
                onClose()
              }}
            >
              <code class="sql-past" dir="auto">
                {run.sql.slice(0, SHOWN_CHARS_MAX)}
              </code>
              <span class="small quiet">{saidOf(run)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function saidOf({ atMs, project, rows, ms }: PastRun): string {
  const at = shownTime(new Date(atMs).toISOString().replace('T', ' '))
  const ended = rows === null ? 'failed or cancelled' : counted(rows, 'row')
  return `${at} in ${project}, ${ended}, ${shownDuration(ms)}`
}

function isAmong({ sql, project }: PastRun, runs: readonly PastRun[]): boolean {
  return runs.some((one) => one.sql === sql && one.project === project)
}
