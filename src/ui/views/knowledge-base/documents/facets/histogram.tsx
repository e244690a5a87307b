/** How many values there are of each size. A drag over the bars chooses a range; two fields beside it do the same by keyboard. */
import { useRef, useState } from 'preact/hooks'
import { shownCount } from '../../../../format/numbers.ts'

export interface Bar {
  readonly from: number
  readonly to: number
  readonly count: number
}

interface HistogramProps {
  readonly label: string
  readonly bars: readonly Bar[]
  /** What is chosen now; open ends are undefined. */
  readonly chosen?: { readonly from?: number | undefined; readonly to?: number | undefined }
  readonly shown: (value: number) => string
  /** The bars that were dragged over. */
  readonly onChoose: (first: Bar, last: Bar) => void
}

const HEIGHT = 48

export function Histogram({ label, bars, chosen, shown, onChoose }: HistogramProps) {
  const svg = useRef<SVGSVGElement>(null)
  const [drag, setDrag] = useState<{ from: number; to: number }>()
  const highest = Math.max(1, ...bars.map(({ count }) => count))
  const barAt = (event: PointerEvent) => {
    const box = svg.current?.getBoundingClientRect()
    if (box === undefined || box.width === 0) return 0
    const index = Math.floor(((event.clientX - box.left) / box.width) * bars.length)
    return Math.max(0, Math.min(bars.length - 1, index))
  }
  const isChosen = ({ from, to }: Bar, index: number) => {
    if (drag) return index >= Math.min(drag.from, drag.to) && index <= Math.max(drag.from, drag.to)
    return (chosen?.to === undefined || from <= chosen.to) && (chosen?.from ?? -Infinity) < to
  }
  const end = () => {
    if (drag === undefined) return
    const first = bars[Math.min(drag.from, drag.to)]
    const last = bars[Math.max(drag.from, drag.to)]
    setDrag(undefined)
    if (first && last) onChoose(first, last)
  }
  return (
    <svg
      ref={svg}
      class="histogram"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${bars.length * 10} ${HEIGHT}`}
      preserveAspectRatio="none"
      onPointerDown={(event) => {
        svg.current?.setPointerCapture(event.pointerId)
        setDrag({ from: barAt(event), to: barAt(event) })
      }}
      onPointerMove={(event) => drag && setDrag({ ...drag, to: barAt(event) })}
      onPointerUp={end}
      onPointerCancel={() => setDrag(undefined)}
    >
      {bars.map((bar, index) => {
        const height = bar.count === 0 ? 0 : Math.max(2, (bar.count / highest) * HEIGHT)
        return (
          <g key={bar.from} class={isChosen(bar, index) ? 'chosen' : ''}>
            <rect class="ground" x={index * 10} y={0} width={10} height={HEIGHT} />
            <rect x={index * 10 + 0.5} y={HEIGHT - height} width={9} height={height} />
            <title>{`${shown(bar.from)} – ${shown(bar.to)}: ${shownCount(bar.count)}`}</title>
          </g>
        )
      })}
    </svg>
  )
}

/** Bars of one round width over all values: 1, 2 or 5 times a power of ten; whole numbers are not divided. */
export function barsOver(min: number, max: number, isWhole: boolean): readonly Bar[] {
  const wanted = (max - min) / BARS_MAX
  const power = 10 ** Math.floor(Math.log10(wanted || 1))
  const round = [1, 2, 5, 10].map((factor) => factor * power).find((width) => width >= wanted)
  const width = isWhole ? Math.max(1, Math.round(round ?? 1)) : (round ?? 1)
  const from = Math.floor(min / width) * width
  const count = Math.min(BARS_MAX + 2, Math.floor((max - from) / width) + 1)
  return Array.from({ length: count }, (_, index) => {
    // Edges are multiples of the width, so that they stay round: 0.1 + 0.2 is not 0.3.
    const edge = (at: number) => Number((from + at * width).toPrecision(12))
    return { from: edge(index), to: edge(index + 1), count: 0 }
  })
}

const BARS_MAX = 30
