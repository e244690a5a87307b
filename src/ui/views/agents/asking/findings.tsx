/** What an answer leans on besides its sources: charts, and the rows of statements. */
import type { Evidence } from '../../../../domain/agents/completion-event.ts'
import { Chart } from '../../../components/chart/chart.tsx'
import { counted } from '../../../format/numbers.ts'
import { drawnChart } from './agent-chart.ts'
import type { Found } from './asked-turn.ts'
import { gistOf, ToolInput } from './step-list.tsx'

interface FindingsProps {
  readonly found: Found
  readonly project: string
}

export function Findings({ found, project }: FindingsProps) {
  const { charts = [], evidence = [], result } = found
  return (
    <>
      {charts.map((chart, index) => {
        const drawn = drawnChart(chart)
        return (
          <section key={index} class="panel stack" aria-label={drawn?.title || 'Chart'}>
            {drawn?.title && <h3 dir="auto">{drawn.title}</h3>}
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
      {evidence.map((rows, index) => (
        <Rows key={index} label="Rows that were read" rows={rows} project={project} />
      ))}
    </>
  )
}

const ROWS_SHOWN_MAX = 100
const CELL_CHARS_MAX = 200

interface RowsProps {
  readonly label: string
  readonly rows: Evidence
  readonly project: string
  readonly isOpen?: boolean
}

function Rows({ label, rows, project, isOpen = false }: RowsProps) {
  const { sql, column_names: columns, data, is_cut: isCut } = rows
  const shown = data.slice(0, ROWS_SHOWN_MAX)
  const hasMore = isCut || shown.length < data.length
  return (
    <details class="agents-rows" open={isOpen}>
      <summary>
        {label}{' '}
        <span class="small quiet">
          {counted(shown.length, 'row')}
          {hasMore && ', the first of more'}
        </span>
        <span class="one-line quiet small mono" dir="auto">
          {gistOf(sql)}
        </span>
      </summary>
      <ToolInput input={sql} project={project} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard */}
      <div class="agents-wide" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((name, index) => (
                <th key={index} scope="col" dir="auto">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, at) => (
              <tr key={at}>
                {row.map((cell, index) => (
                  <td key={index} dir="auto">
                    {cell === null ? <span class="quiet">null</span> : cellText(cell)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

function cellText(cell: unknown): string {
  const text = typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX)} …` : text
}
