/** The parts of an answer besides its sources: charts, and rows of statements. */
import type {
  Chart as AnswerChart,
  StatementRows,
} from '../../../../core/domain/agents/completion-event.ts'
import type { Cell } from '../../../api/sql.ts'
import { Chart } from '../../../components/chart/chart.tsx'
import type { ChartChoice, ChartKind } from '../../../components/chart/chart-data.ts'
import { counted } from '../../../components/numbers.ts'
import { RecordTable } from '../../../components/record-list.tsx'
import { cellText } from '../../../components/table/cell-text.ts'
import type { Found } from './asked-turn.ts'
import { gistOf, ToolInput } from './step-list.tsx'

export function Findings({ found, project }: { readonly found: Found; readonly project: string }) {
  const { charts = [], statements = [], result } = found
  return (
    <>
      {charts.map((chart, index) => {
        const drawn = drawnChart(chart)
        return (
          <section key={index} class="panel stack" aria-label={drawn?.title || 'Chart'}>
            {drawn?.title && <h3>{drawn.title}</h3>}
            {drawn && (
              <Chart
                choice={drawn.choice}
                columns={drawn.columns.map((name) => ({ name, type: '' }))}
                rows={drawn.rows}
              />
            )}
            <Rows label="Rows of the chart" rows={{ ...chart, is_cut: false }} project={project} />
          </section>
        )
      })}
      {result && <Rows label="Result" rows={result} project={project} isOpen />}
      {statements.map((rows, index) => (
        <Rows key={index} label="Rows read" rows={rows} project={project} />
      ))}
    </>
  )
}

const ROWS_SHOWN_MAX = 100
const CELL_CHARS_MAX = 200

function Rows(props: {
  readonly label: string
  readonly rows: StatementRows
  readonly project: string
  readonly isOpen?: boolean
}) {
  const { label, rows, project, isOpen = false } = props
  const { sql, column_names: columns, data, is_cut: isCut } = rows
  const shown = data.slice(0, ROWS_SHOWN_MAX)
  const hasMore = isCut || shown.length < data.length
  return (
    <details class="agents-rows" open={isOpen}>
      <summary>
        {label}{' '}
        <span class="small quiet">
          {counted(shown.length, 'row')}
          {hasMore && ', not all of them'}
        </span>
        <span class="one-line quiet small mono">{gistOf(sql)}</span>
      </summary>
      <ToolInput input={sql} project={project} />
      <RecordTable
        label={label}
        class="agents-wide"
        look=""
        rows={shown}
        columns={columns.map((title, at) => ({
          title,
          cell: (row: readonly Cell[]) => cellText(row[at], CELL_CHARS_MAX),
        }))}
      />
    </details>
  )
}

interface DrawnChart {
  readonly title: string
  readonly choice: ChartChoice
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

const KINDS: Readonly<Record<string, ChartKind>> = {
  line: 'line',
  bar: 'bar',
  point: 'scatter',
  arc: 'bar',
}

/** @returns undefined for a chart that cannot be drawn; its rows are shown instead */
export function drawnChart({
  spec,
  column_names: columns,
  data,
}: AnswerChart): DrawnChart | undefined {
  const title = typeof spec.title === 'string' ? spec.title : ''
  const kind = KINDS[String(fieldOf(spec.mark, 'type'))]
  const along = (channel: string) => {
    return columns.indexOf(String(fieldOf(fieldOf(spec.encoding, channel), 'title')))
  }
  const isPie = fieldOf(spec.mark, 'type') === 'arc'
  const x = along(isPie ? 'color' : 'x')
  const y = along(isPie ? 'theta' : 'y')
  if (kind === undefined || x < 0) return
  if (fieldOf(fieldOf(spec.encoding, 'x'), 'bin') === true) {
    return { title, choice: { kind: 'histogram', x, y: [] }, columns, rows: data }
  }
  if (y < 0) return
  const series = isPie ? -1 : along('color')
  if (series < 0) return { title, choice: { kind, x, y: [y] }, columns, rows: data }
  return { title, choice: { kind, x, y: [y], by: series }, columns, rows: data }
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return
  return Object.hasOwn(value, field) ? Reflect.get(value, field) : undefined
}
