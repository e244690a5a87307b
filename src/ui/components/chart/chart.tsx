/** Rows as a chart. uPlot comes when the first one is shown. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Cell } from '../../api/sql.ts'
import { counted } from '../../format/numbers.ts'
import { Failure, notLoaded } from '../failure.tsx'
import { binned, type ChartChoice, columnKind, shortNumber } from './chart-choice.ts'

export interface ChartProps {
  readonly choice: ChartChoice
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

interface Series {
  /** Values along the axis, and what stands below them; without words, they are numbers or times. */
  readonly x: readonly number[]
  readonly words?: readonly string[]
  readonly isTime: boolean
  readonly y: readonly { readonly label: string; readonly values: readonly (number | null)[] }[]
}

const HEIGHT_PX = 360

export function Chart({ choice, columns, rows }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [failure, setFailure] = useState<Error>()
  const series = seriesOf({ choice, columns, rows })
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const key = JSON.stringify([choice, columns, rows.length, width])
  useEffect(() => {
    const element = frame.current
    if (element === null || width === 0) return
    let close = () => {}
    let isGone = false
    setFailure(undefined)
    import('./plot.ts').then(
      ({ drawPlot }) => {
        if (!isGone)
          close = drawPlot(element, { ...series, kind: choice.kind, width, height: HEIGHT_PX })
      },
      () => setFailure(notLoaded('The chart')),
    )
    return () => {
      isGone = true
      close()
    }
  }, [key])
  return (
    <figure class="chart">
      {failure && <Failure error={failure} onRetry={() => location.reload()} />}
      <div ref={frame} class="chart-frame" aria-hidden="true" />
      <figcaption class="small quiet">{said(choice, columns, series)}</figcaption>
    </figure>
  )
}

function seriesOf({ choice, columns, rows }: ChartProps): Series {
  if (choice.kind === 'histogram') {
    const { labels, counts } = binned(rows.map((row) => row[choice.x]))
    const x = labels.map((_, index) => index)
    return { x, words: labels, isTime: false, y: [{ label: 'rows', values: counts }] }
  }
  const kind = columnKind(rows, choice.x)
  const isText = choice.kind === 'bar' || kind === 'text'
  const at = (row: readonly Cell[], index: number): number => {
    if (isText) return index
    return kind === 'time' ? secondsOf(row[choice.x]) : Number(row[choice.x])
  }
  const points = rows.map((row, index) => ({ x: at(row, index), row }))
  // Lines run from left to right whatever the order of the rows.
  if (!isText) points.sort((a, b) => a.x - b.x)
  const known = points.filter(({ x }) => Number.isFinite(x))
  const series = {
    x: known.map(({ x }) => x),
    isTime: kind === 'time' && !isText,
    y: choice.y.map((column) => ({
      label: columns[column] ?? '',
      values: known.map(({ row }) => {
        const value = row[column]
        return typeof value === 'number' ? value : null
      }),
    })),
  }
  return isText ? { ...series, words: rows.map((row) => String(row[choice.x] ?? 'null')) } : series
}

function secondsOf(cell: Cell): number {
  const text = String(cell).replace(' ', 'T')
  return Date.parse(`${text.length > 10 ? text.slice(0, 23) : `${text}T00:00`}Z`) / 1000
}

/** What the chart shows, for those who do not see it. */
function said(choice: ChartChoice, columns: readonly string[], { y, x }: Series): string {
  const ranges = y.map(({ label, values }) => {
    const known = values.filter((value) => value !== null)
    const [low, high] = known.reduce<readonly [number, number]>(
      ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
      [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    )
    return known.length === 0 ? label : `${label} from ${shortNumber(low)} to ${shortNumber(high)}`
  })
  return `${choice.kind} of ${counted(x.length, 'value')} along ${columns[choice.x] ?? ''}: ${ranges.join('; ')}`
}
