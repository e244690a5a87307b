/** A chart of an agent, which it describes in Vega-Lite, as our charts draw it. Pure. */
import type { Chart } from '../../../../domain/agents/completion-event.ts'
import type { Cell } from '../../../api/sql.ts'
import type { ChartChoice, ChartKind } from '../../../components/chart/chart-choice.ts'

export interface DrawnChart {
  readonly title: string
  readonly choice: ChartChoice
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** Clouds, lines or bars beside each other that can still be told apart. */
const SERIES_MAX = 8
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
  const apart = besideEachOther(data, { x, y, series })
  const names = [columns[x] ?? '', ...apart.names]
  const choice = { kind, x: 0, y: apart.names.map((_, index) => index + 1) }
  return { title, choice, columns: names, rows: apart.rows }
}

/** One row for each place along the axis, one column for each series. */
function besideEachOther(
  rows: readonly (readonly Cell[])[],
  { x, y, series }: { readonly x: number; readonly y: number; readonly series: number },
) {
  const names = [...new Set(rows.map((row) => String(row[series])))].slice(0, SERIES_MAX)
  const places = Map.groupBy(rows, (row) => row[x])
  return {
    names,
    rows: [...places].map(([place, members]) => {
      const cellOf = (name: string) => members.find((row) => String(row[series]) === name)?.[y]
      return [place, ...names.map((name) => cellOf(name) ?? null)]
    }),
  }
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return
  return Object.hasOwn(value, field) ? Reflect.get(value, field) : undefined
}
