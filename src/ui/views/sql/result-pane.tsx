/** What came of a run: its rows as a table, a chart or JSON, or how many it changed. */
import { useMemo, useState } from 'preact/hooks'
import { Button, CopyButton } from '../../components/button.tsx'
import { Chart } from '../../components/chart/chart.tsx'
import {
  type ChartChoice,
  type ChartKind,
  chooseChart,
} from '../../components/chart/chart-choice.ts'
import { EmptyState } from '../../components/failure.tsx'
import { counted, shownCount } from '../../components/numbers.ts'
import { tsvOf } from '../../components/table/cell-text.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { ExportDialog } from './export-dialog.tsx'
import { JsonOfRun } from './json-of-run.tsx'
import { isPlan, PlanOfRun } from './plan-of-run.tsx'
import type { Run } from './runs.ts'
import { changeTab, type ResultForm, type SqlTab } from './sql-tabs.ts'

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

/** A chart of more rows says no more, and takes long. */
const ROWS_MAX = 50_000
const KINDS: readonly ChartKind[] = ['line', 'bar', 'scatter', 'histogram']

/** The rows of a run as a chart: as they suggest it, or as somebody chose. The choice stays with the tab, and in its link. */
function ChartOfRun({ tab, run }: { readonly tab: SqlTab; readonly run: Run }) {
  const { columns } = run
  const names = columns.map(({ name }) => name)
  // The list grows while it runs: another number of rows is another chart.
  const shown = useMemo(() => run.rows.slice(0, ROWS_MAX), [run.rows, run.rows.length])
  const chosen = chooseChart(columns, shown)
  if (chosen === undefined) {
    return (
      <EmptyState icon="chart" title="Nothing to draw">
        <p>A chart needs two rows or more, with a column of numbers or words to count.</p>
      </EmptyState>
    )
  }
  const choice = changed(chosen, tab.chart, names.length)
  const set = (name: string, value: string) => {
    changeTab(tab.id, { chart: { ...tab.chart, [name]: value } })
  }
  return (
    <div class="panel stack">
      <div class="row">
        <label class="row small">
          Kind
          <select value={choice.kind} onChange={(event) => set('kind', event.currentTarget.value)}>
            {KINDS.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </label>
        <ColumnSelect
          label={choice.kind === 'histogram' ? 'Of' : 'Along'}
          columns={names}
          value={choice.x}
          onChange={(x) => set('x', String(x))}
        />
        {choice.kind !== 'histogram' && (
          <ColumnSelect
            label="Up"
            columns={names}
            several={choice.y.length > 1 ? choice.y : undefined}
            value={choice.y[0] ?? 0}
            onChange={(y) => set('y', String(y))}
          />
        )}
        {choice.kind !== 'histogram' && (
          <label class="row small">
            For each
            <select
              value={choice.by ?? ''}
              onChange={({ currentTarget }) => set('by', currentTarget.value || 'none')}
            >
              <option value="">all together</option>
              {names.map((name, index) => (
                <option key={`${index} ${name}`} value={index}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        {Object.keys(tab.chart).length > 0 && (
          <Button
            look="small"
            label="As suggested"
            onClick={() => changeTab(tab.id, { chart: {} })}
          />
        )}
        {run.rows.length > ROWS_MAX && (
          <span class="badge warn">The first {shownCount(ROWS_MAX)} rows</span>
        )}
      </div>
      <Chart choice={choice} columns={columns} rows={shown} />
    </div>
  )
}

/** What was chosen, as far as this result has such columns. */
function changed(
  chosen: ChartChoice,
  { kind, x, y, by }: SqlTab['chart'],
  columnCount: number,
): ChartChoice {
  const column = (index: string | undefined) => {
    const isOne = index !== undefined && Number(index) >= 0 && Number(index) < columnCount
    return isOne ? Number(index) : undefined
  }
  const [chosenY, chosenBy] = [column(y), column(by)]
  const { by: suggested, ...others } = chosen
  // A column chosen by hand is drawn as it is, unless groups are asked for.
  const group =
    chosenBy ?? (by === 'none' || y !== undefined || x !== undefined ? undefined : suggested)
  return {
    ...others,
    kind: KINDS.find((one) => one === kind) ?? chosen.kind,
    x: column(x) ?? chosen.x,
    y: chosenY === undefined ? fallbackOf(chosen, columnCount) : [chosenY],
    ...(group === undefined ? {} : { by: group }),
  }
}

/** A histogram draws no column: where it becomes a line, the one that it counted. */
function fallbackOf({ x, y }: ChartChoice, columnCount: number): readonly number[] {
  return y.length > 0 ? y : [columnCount > x ? x : 0]
}

function ColumnSelect({
  label,
  columns,
  several,
  value,
  onChange,
}: {
  readonly label: string
  readonly columns: readonly string[]
  /** These are drawn together. */
  readonly several?: readonly number[] | undefined
  readonly value: number
  readonly onChange: (index: number) => void
}) {
  return (
    <label class="row small">
      {label}
      <select
        value={several ? '' : value}
        onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
      >
        {several && <option value="">{several.map((one) => columns[one]).join(', ')}</option>}
        {columns.map((name, index) => (
          <option key={`${index} ${name}`} value={index}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
