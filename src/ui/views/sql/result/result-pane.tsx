/** What came of a run: its rows as a table, a chart or JSON, or how many it changed. */
import { useState } from 'preact/hooks'
import { Button } from '../../../components/button.tsx'
import { CopyButton } from '../../../components/copy-button.tsx'
import { tsvOf } from '../../../components/table/cell-text.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { counted } from '../../../format/numbers.ts'
import { ExportDialog } from '../actions/export-dialog.tsx'
import type { Run } from '../runs.ts'
import { changeTab, type ResultForm, type SqlTab } from '../sql-tabs.ts'
import { ChartOfRun } from './chart-of-run.tsx'
import { JsonOfRun } from './json-of-run.tsx'
import { isPlan, PlanOfRun } from './plan-of-run.tsx'

const FORMS: readonly ResultForm[] = ['Table', 'Chart', 'JSON']

export function ResultPane({ tab, run }: { readonly tab: SqlTab; readonly run: Run }) {
  const [isExporting, setIsExporting] = useState(false)
  const { columns, rows, state } = run
  if (columns.length === 0) return state === 'done' ? <Changed run={run} /> : null
  if (isPlan(columns.map(({ name }) => name))) {
    return (
      <section class="stack" aria-label="Result">
        <PlanOfRun rows={rows} />
      </section>
    )
  }
  return (
    <section class="stack sql-result" aria-label="Result">
      <Warnings of={run} />
      <div class="row">
        <div class="sql-forms" role="group" aria-label="Shown as">
          {FORMS.map((name) => (
            <Button
              look="small"
              label={name}
              key={name}
              aria-pressed={tab.form === name}
              onClick={() => changeTab(tab.id, { form: name })}
            />
          ))}
        </div>
        <span class="grow" />
        <CopyButton
          label="Copy all"
          text={() => tsvOf([columns.map(({ name }) => name), ...rows])}
        />
        <Button look="small" icon="download" label="Export" onClick={() => setIsExporting(true)} />
      </div>
      {isExporting && (
        <ExportDialog name={tab.name} run={run} onClose={() => setIsExporting(false)} />
      )}
      {tab.form === 'Table' && (
        <DataTable label="Rows" columns={columns} rows={rows} isGrowing={state === 'running'} />
      )}
      {tab.form === 'Chart' && <ChartOfRun tab={tab} run={run} />}
      {tab.form === 'JSON' && <JsonOfRun run={run} />}
    </section>
  )
}

function Changed({ run }: { readonly run: Run }) {
  return (
    <section class="stack" aria-label="Result">
      <Warnings of={run} />
      <p class="panel">
        {run.affectedRows === null
          ? 'Done. This statement has no rows.'
          : `Done: ${counted(run.affectedRows, 'row')} changed.`}
      </p>
    </section>
  )
}

/** What is amiss although the statement was answered. */
function Warnings({ of: { warnings } }: { readonly of: Run }) {
  if (warnings.length === 0) return null
  return (
    <ul class="sql-warnings small">
      {warnings.map((warning) => (
        <li key={warning} dir="auto">
          {warning}
        </li>
      ))}
    </ul>
  )
}
