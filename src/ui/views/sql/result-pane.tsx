/** The result of a run: its rows, beside a chart, its plan, or the number of changed rows. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { bodyOf, requestStream } from '../../api/request.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { Chart } from '../../components/chart/chart.tsx'
import { type ChartChoice, type ChartKind, chooseChart } from '../../components/chart/chart-data.ts'
import { Dialog, DialogButton } from '../../components/dialog.tsx'
import { EmptyState, Failure, Progress, Warnings } from '../../components/failure.tsx'
import { SelectField } from '../../components/form/field.tsx'
import { counted, shownBytes, shownCount } from '../../components/numbers.ts'
import { useAction } from '../../components/resource.ts'
import { tsvOf } from '../../components/table/cell-text.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { isSortable, type Run, sentStatement, sortRun } from './runs.ts'
import { changeTab, type SqlTab } from './sql-tabs.ts'

export function ResultPane({ tab, run }: { readonly tab: SqlTab; readonly run: Run }) {
  const { columns, rows, state } = run
  if (columns.length === 0 && state !== 'done') return null
  const names = columns.map(({ name }) => name)
  if (isPlan(names)) return <PlanOfRun run={run} />
  return (
    <section class="stack" aria-label="Result">
      <Warnings of={run.warnings} />
      {columns.length === 0 ? (
        <p class="panel">
          {run.affectedRows === null
            ? 'Done. This statement returns no rows.'
            : `Done: ${counted(run.affectedRows, 'row')} changed.`}
        </p>
      ) : (
        <>
          <div class="row">
            <Button
              look="small"
              icon="chart"
              label="Chart"
              aria-pressed={tab.hasChart}
              onClick={() => changeTab(tab.id, { hasChart: !tab.hasChart })}
            />
            <span class="grow" />
            <CopyButton label="Copy all" text={() => tsvOf([names, ...rows])} />
            <DialogButton look="small" icon="download" label="Export">
              {(onClose) => <ExportDialog name={tab.name} run={run} onClose={onClose} />}
            </DialogButton>
          </div>
          <div class={tab.hasChart ? 'side-by-side' : 'stack'}>
            <DataTable
              label="Rows"
              columns={columns}
              rows={rows}
              rowCount={rows.length}
              order={run.order}
              isReading={run.state === 'running'}
              onSort={isSortable(run) ? (column) => void sortRun(tab.id, column) : undefined}
            />
            {tab.hasChart && <ChartOfRun tab={tab} run={run} />}
          </div>
        </>
      )}
    </section>
  )
}

// How a statement is executed: what the search planner chose, and DuckDB's drawing of it.

const CHOICES: Readonly<Record<string, string>> = {
  search: 'Search',
  source: 'Sent to a remote database',
}

function isPlan(columnNames: readonly string[]): boolean {
  return columnNames.join() === 'explain_key,explain_value'
}

function PlanOfRun({ run }: { readonly run: Run }) {
  const said = run.rows.map(([key, value]) => ({ key: String(key), text: String(value) }))
  const choices = said.filter(({ key }) => Object.hasOwn(CHOICES, key))
  return (
    <section class="stack" aria-label="Result">
      {choices.length > 0 && (
        <ul class="panel list" aria-label="How it runs">
          {choices.map(({ key, text }, index) => (
            <li key={index}>
              <strong class="small">{CHOICES[key]}</strong> <bdi>{text}</bdi>
            </li>
          ))}
        </ul>
      )}
      {said
        .filter((one) => !choices.includes(one))
        .map(({ key, text }) => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
          <pre key={key} class="sql-plan-text" tabIndex={0}>
            {text}
          </pre>
        ))}
    </section>
  )
}

/** More rows do not improve a chart, but take long to draw. */
const CHART_ROWS_MAX = 50_000
const KINDS: readonly ChartKind[] = ['line', 'bar', 'scatter', 'histogram']

function ChartOfRun({ tab, run }: { readonly tab: SqlTab; readonly run: Run }) {
  const { columns } = run
  const names = columns.map(({ name }) => name)
  // The list grows during the run, so its length is a dependency too.
  const shown = useMemo(() => run.rows.slice(0, CHART_ROWS_MAX), [run.rows, run.rows.length])
  const chosen = useMemo(() => chooseChart(columns, shown), [columns, shown])
  if (chosen === undefined) {
    return (
      <EmptyState icon="chart" title="Nothing to draw">
        <p>A chart needs at least two rows, and a column of numbers or words.</p>
      </EmptyState>
    )
  }
  const choice = changed(chosen, tab.chart, names.length)
  const set = (name: string) => (value: string) => {
    changeTab(tab.id, { chart: { ...tab.chart, [name]: value } })
  }
  const isCount = choice.kind === 'histogram'
  const several = choice.y.length > 1 ? choice.y.map((one) => names[one]).join(', ') : undefined
  return (
    <div class="panel stack">
      <div class="operations-filters">
        <SelectField label="Chart" value={choice.kind} options={KINDS} onChoose={set('kind')} />
        <SelectField
          label={isCount ? 'Column' : 'X axis'}
          value={String(choice.x)}
          options={indexed(names)}
          onChoose={set('x')}
        />
        {!isCount && (
          <>
            <SelectField
              label="Y axis"
              value={several === undefined ? String(choice.y[0] ?? 0) : ''}
              options={[
                ...(several === undefined ? [] : [['', several] as const]),
                ...indexed(names),
              ]}
              onChoose={set('y')}
            />
            <SelectField
              label="Series"
              value={choice.by === undefined ? 'none' : String(choice.by)}
              options={['none', ...indexed(names)]}
              onChoose={set('by')}
            />
          </>
        )}
        {Object.keys(tab.chart).length > 0 && (
          <Button look="small" label="Reset" onClick={() => changeTab(tab.id, { chart: {} })} />
        )}
        {run.rows.length > CHART_ROWS_MAX && (
          <span class="badge warn">The first {shownCount(CHART_ROWS_MAX)} rows</span>
        )}
      </div>
      <Chart choice={choice} columns={columns} rows={shown} />
    </div>
  )
}

function indexed(names: readonly string[]) {
  return names.map((name, index) => [String(index), name] as const)
}

/** The suggested chart with the user's choices, if this result has those columns. */
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
  // Columns that the user chose are drawn as they are, unless series are chosen too.
  const isByHand = by === 'none' || y !== undefined || x !== undefined
  const group = chosenBy ?? (isByHand ? undefined : suggested)
  // A histogram has no Y column, so other kinds of charts draw the column that it counted.
  const suggestedY = chosen.y.length > 0 ? chosen.y : [Math.min(chosen.x, columnCount - 1)]
  return {
    ...others,
    kind: KINDS.find((one) => one === kind) ?? chosen.kind,
    x: column(x) ?? chosen.x,
    y: chosenY === undefined ? suggestedY : [chosenY],
    ...(group === undefined ? {} : { by: group }),
  }
}

// Exports all rows of a statement to a file.

const EXPORTS = [
  { name: 'CSV', type: 'text/csv', ending: 'csv' },
  { name: 'JSON lines', type: 'application/x-ndjson', ending: 'ndjson' },
  { name: 'Parquet', type: 'application/vnd.apache.parquet', ending: 'parquet' },
] as const

/** The statement runs again. The server refuses it if it changes something or asks an agent. */
function ExportDialog(props: {
  readonly name: string
  readonly run: Run
  readonly onClose: () => void
}) {
  const { name, run, onClose } = props
  const { act, failure, isBusy } = useAction()
  const [bytes, setBytes] = useState(0)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const save = async ({ type, ending }: (typeof EXPORTS)[number]) => {
    abort.current = new AbortController()
    setBytes(0)
    const isSaved = await act(async () => {
      const blob = await exported(run, type, abort.current.signal, setBytes)
      saveAs(blob, `${name.replaceAll(/[^\p{L}\p{N}._ -]+/gu, '_') || 'result'}.${ending}`)
    })
    if (isSaved) onClose()
  }
  const isCancelled = failure instanceof DOMException && failure.name === 'AbortError'
  return (
    <Dialog title="Export all rows" onClose={onClose}>
      <p class="quiet">
        The statement runs again on the server, and every row is saved, including those that the
        page does not show.
      </p>
      {failure && !isCancelled && <Failure error={failure} />}
      <div class="row">
        {EXPORTS.map((form) => (
          <Button
            key={form.name}
            icon="download"
            label={form.name}
            aria-disabled={isBusy}
            onClick={() => save(form)}
          />
        ))}
      </div>
      {isBusy && (
        <div class="row">
          <Progress label={`${shownBytes(bytes)} received`} />
          <Button label="Cancel" onClick={() => abort.current.abort()} />
        </div>
      )}
    </Dialog>
  )
}

async function exported(
  run: Run,
  type: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<Blob> {
  const { sql, project, params, session } = sentStatement(run)
  const json = { query: sql, context: { db: project }, params, read_only: true, exact: true }
  const headers = { accept: type, ...(session === undefined ? {} : { 'x-session': session }) }
  const answer = await requestStream('/api/sql/query', { method: 'POST', json, headers, signal })
  const pieces: Uint8Array<ArrayBuffer>[] = []
  await bodyOf(answer, async () => {
    const reader = answer.body?.getReader()
    let bytes = 0
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      bytes += next.value.length
      pieces.push(next.value)
      onBytes(bytes)
    }
  })
  return new Blob(pieces, { type })
}

function saveAs(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // Some browsers read the file only after the click was handled.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
