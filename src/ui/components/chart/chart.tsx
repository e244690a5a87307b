/** Rows as a chart. uPlot comes when the first one is shown. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Cell, Column } from '../../api/sql.ts'
import { Failure, notLoaded } from '../failure.tsx'
import { counted } from '../numbers.ts'
import type { ChartChoice } from './chart-choice.ts'
import { type ChartData, chartData, shortNumber } from './chart-data.ts'

interface ChartProps {
  readonly choice: ChartChoice
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
}

const HEIGHT_PX = 360

export function Chart({ choice, columns, rows }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [failure, setFailure] = useState<Error>()
  const chosen = JSON.stringify([choice, columns])
  const data = useMemo(() => chartData(choice, columns, rows), [chosen, rows])
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    const element = frame.current
    if (element === null || width === 0) return
    let close = () => {}
    let isGone = false
    setFailure(undefined)
    import('./plot.ts').then(
      ({ drawPlot }) => {
        if (!isGone)
          close = drawPlot(element, { ...data, kind: choice.kind, width, height: HEIGHT_PX })
      },
      () => setFailure(notLoaded('The chart')),
    )
    return () => {
      isGone = true
      close()
    }
  }, [chosen, data, width])
  return (
    <figure class="chart">
      {failure && <Failure error={failure} onRetry={() => location.reload()} />}
      <div ref={frame} class="chart-frame" aria-hidden="true" />
      <figcaption class="small quiet">{said(choice, columns, data)}</figcaption>
    </figure>
  )
}

const NAMED_MAX = 8

/** What the chart shows, for those who do not see it. */
function said(choice: ChartChoice, columns: readonly Column[], { y, x, left }: ChartData): string {
  const ranges = y.slice(0, NAMED_MAX).map(({ label, values }) => {
    const known = values.filter((value) => value !== null)
    const [low, high] = known.reduce<readonly [number, number]>(
      ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
      [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    )
    return known.length === 0 ? label : `${label} from ${shortNumber(low)} to ${shortNumber(high)}`
  })
  const along = columns[choice.x]?.name ?? ''
  const drawn = `${choice.kind} of ${counted(x.length, 'value')} along ${along}: ${ranges.join('; ')}`
  return left === '' ? drawn : `${drawn} (${left})`
}
