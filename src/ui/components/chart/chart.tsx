/** Shows rows as a chart. uPlot is loaded with the first chart. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Cell, Column } from '../../api/sql.ts'
import { Failure, notLoaded } from '../failure.tsx'
import { watchTheme } from '../theme-colours.ts'
import { type ChartChoice, captionOf, chartData } from './chart-data.ts'

const HEIGHT_PX = 360

export function Chart(props: {
  readonly choice: ChartChoice
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
}) {
  const { choice, columns, rows } = props
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [themeCount, setThemeCount] = useState(0)
  const [failure, setFailure] = useState<Error>()
  const chosen = JSON.stringify([choice, columns])
  const data = useMemo(() => chartData(choice, columns, rows), [chosen, rows])
  useEffect(() => watchTheme(() => setThemeCount((before) => before + 1)), [])
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
        const size = { width, height: HEIGHT_PX }
        if (!isGone) close = drawPlot(element, { ...data, kind: choice.kind, ...size })
      },
      () => setFailure(notLoaded('The chart')),
    )
    return () => {
      isGone = true
      close()
    }
  }, [chosen, data, width, themeCount])
  return (
    <figure class="chart">
      {failure && <Failure error={failure} onRetry={() => location.reload()} />}
      <div ref={frame} class="chart-frame" aria-hidden="true" />
      <figcaption class="small quiet">{captionOf(choice, columns, data)}</figcaption>
    </figure>
  )
}
