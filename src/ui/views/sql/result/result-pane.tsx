/** The rows of a run: as a table, a chart, or JSON. */
import { useState } from 'preact/hooks'
import { Chart } from '../../components/chart.tsx'
import { type ChartChoice, type ChartKind, chooseChart } from '../../components/chart-choice.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { cellText, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import type { Run } from './use-run.ts'

const FORMS = ['Table', 'Chart', 'JSON'] as const
type Form = (typeof FORMS)[number]

const JSON_ROWS_MAX = 200
/** A chart of more rows says no more, and takes long. */
const CHART_ROWS_MAX = 50_000

export function ResultPane({ run }: { readonly run: Run }) {
  const [form, setForm] = useState<Form>('Table')
  return (
    <section class="stack" aria-label="Result">
      <div class="row">
        <div class="sql-forms" role="group" aria-label="Shown as">
          {FORMS.map((name) => (
            <button
              key={name}
              type="button"
              class="button small"
              aria-pressed={form === name}
              onClick={() => setForm(name)}
            >
              {name}
            </button>
          ))}
        </div>
        <CopyButton label="Copy as TSV" text={() => tsvOf(run)} />
      </div>
      {form === 'Table' && (
        <DataTable label="Rows" columns={run.columns} rows={run.rows} version={run.version} />
      )}
      {form === 'Chart' && <ChartOfRun run={run} />}
      {form === 'JSON' && <JsonOfRun run={run} />}
    </section>
  )
}

function ChartOfRun({ run: { columns, rows } }: { readonly run: Run }) {
  const shown = rows.slice(0, CHART_ROWS_MAX)
  const [changed, setChanged] = useState<Partial<ChartChoice>>({})
  const chosen = chooseChart(columns, shown)
  if (chosen === undefined) {
    return (
      <EmptyState icon="chart" title="Nothing to draw">
        <p>A chart needs a column of numbers, or several rows of words to count.</p>
      </EmptyState>
    )
  }
  const choice = { ...chosen, ...changed }
  const kinds: readonly ChartKind[] = ['line', 'bar', 'scatter', 'histogram']
  return (
    <div class="panel stack">
      <div class="row">
        <span class="row small">
          Kind
          <select
            aria-label="Kind of chart"
            value={choice.kind}
            onChange={({ currentTarget }) => {
              const kind = kinds.find((one) => one === currentTarget.value)
              if (kind) setChanged({ ...changed, kind })
            }}
          >
            {kinds.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </span>
        <span class="row small">
          Along
          <ColumnSelect
            label="Column along the axis"
            columns={columns}
            value={choice.x}
            onChange={(x) => setChanged({ ...changed, x })}
          />
        </span>
        {choice.kind !== 'histogram' && (
          <span class="row small">
            Up
            <ColumnSelect
              label="Column drawn"
              columns={columns}
              value={choice.y[0] ?? 0}
              onChange={(y) => setChanged({ ...changed, y: [y] })}
            />
          </span>
        )}
        {rows.length > CHART_ROWS_MAX && (
          <span class="badge warn">The first {CHART_ROWS_MAX} rows</span>
        )}
      </div>
      <Chart choice={choice} columns={columns} rows={shown} />
    </div>
  )
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
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
    >
      {columns.map((name, index) => (
        <option key={`${index} ${name}`} value={index}>
          {name}
        </option>
      ))}
    </select>
  )
}

function JsonOfRun({ run }: { readonly run: Run }) {
  const objects = run.rows.slice(0, JSON_ROWS_MAX).map((row) => {
    return Object.fromEntries(run.columns.map((name, index) => [name, row[index]]))
  })
  return (
    <div class="stack">
      {run.rows.length > JSON_ROWS_MAX && (
        <p class="small quiet">The first {JSON_ROWS_MAX} rows. An export has all of them.</p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <pre class="data-whole panel" tabIndex={0}>
        {JSON.stringify(objects, withoutLongTexts, 2)}
      </pre>
    </div>
  )
}

function tsvOf({ columns, rows }: Run): string {
  const line = (cells: readonly string[]) => {
    return cells.map((cell) => cell.replaceAll(/[\t\n\r]/g, ' ')).join('\t')
  }
  return [line(columns), ...rows.map((row) => line(row.map((cell) => cellText(cell))))].join('\n')
}

const JSON_TEXT_CHARS_MAX = 2000

/** A text of 50 MB would keep the page busy for long; the table opens it, and an export has all of it. */
function withoutLongTexts(_key: string, value: unknown): unknown {
  const isLong = typeof value === 'string' && value.length > JSON_TEXT_CHARS_MAX
  return isLong ? `${value.slice(0, JSON_TEXT_CHARS_MAX)} … (cut here)` : value
}
