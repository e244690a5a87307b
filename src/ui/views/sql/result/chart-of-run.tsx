/** The rows of a run as a chart: as they suggest it, or as somebody chose. The choice stays with the tab, and in its link. */
import { Chart } from '../../../components/chart/chart.tsx'
import {
  type ChartChoice,
  type ChartKind,
  chooseChart,
} from '../../../components/chart/chart-choice.ts'
import { EmptyState } from '../../../components/empty-state.tsx'
import { shownCount } from '../../../format/numbers.ts'
import type { Run } from '../runs.ts'
import { changeTab, type SqlTab } from '../sql-tabs.ts'

/** A chart of more rows says no more, and takes long. */
const ROWS_MAX = 50_000
const KINDS: readonly ChartKind[] = ['line', 'bar', 'scatter', 'histogram']

export function ChartOfRun({ tab, run }: { readonly tab: SqlTab; readonly run: Run }) {
  const names = run.columns.map(({ name }) => name)
  const shown = run.rows.length > ROWS_MAX ? run.rows.slice(0, ROWS_MAX) : run.rows
  const chosen = chooseChart(names, shown)
  if (chosen === undefined) {
    return (
      <EmptyState icon="chart" title="Nothing to draw">
        <p>A chart needs a column of numbers, or several rows of words to count.</p>
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
            value={choice.y[0] ?? 0}
            onChange={(y) => set('y', String(y))}
          />
        )}
        {Object.keys(tab.chart).length > 0 && (
          <button
            type="button"
            class="button small"
            onClick={() => changeTab(tab.id, { chart: {} })}
          >
            As suggested
          </button>
        )}
        {run.rows.length > ROWS_MAX && (
          <span class="badge warn">The first {shownCount(ROWS_MAX)} rows</span>
        )}
      </div>
      <Chart choice={choice} columns={names} rows={shown} />
    </div>
  )
}

/** What was chosen, as far as this result has such columns. */
function changed(
  chosen: ChartChoice,
  { kind, x, y }: SqlTab['chart'],
  columnCount: number,
): ChartChoice {
  const isColumn = (index: string | undefined): index is string => {
    return index !== undefined && Number(index) >= 0 && Number(index) < columnCount
  }
  return {
    ...chosen,
    kind: KINDS.find((one) => one === kind) ?? chosen.kind,
    x: isColumn(x) ? Number(x) : chosen.x,
    y: isColumn(y) ? [Number(y)] : chosen.y,
  }
}

function ColumnSelect({
  label,
  columns,
  value,
  onChange,
}: {
  readonly label: string
  readonly columns: readonly string[]
  readonly value: number
  readonly onChange: (index: number) => void
}) {
  return (
    <label class="row small">
      {label}
      <select value={value} onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}>
        {columns.map((name, index) => (
          <option key={`${index} ${name}`} value={index}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
