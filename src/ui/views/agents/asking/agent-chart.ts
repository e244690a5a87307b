/** A chart of an agent, which it describes in Vega-Lite, as our charts draw it. Pure. */
import type { Chart } from '../../../../core/domain/agents/completion-event.ts'
import type { Cell } from '../../../api/sql.ts'
import type { ChartChoice, ChartKind } from '../../../components/chart/chart-data.ts'

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

/** @returns undefined where it is none that we can draw: its rows say the same */
export function drawnChart({ spec, column_names: columns, data }: Chart): DrawnChart | undefined {
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
