/** uPlot as this page wants it. Loaded when the first chart is shown. */
import uPlot from 'uplot'
import type { ChartKind } from './chart-choice.ts'

export interface Plot {
  readonly kind: ChartKind
  readonly x: readonly number[]
  readonly words?: readonly string[]
  readonly isTime: boolean
  readonly y: readonly { readonly label: string; readonly values: readonly (number | null)[] }[]
  readonly width: number
  readonly height: number
}

const WORD_CHARS_MAX = 14
const BAR_SHARE = 0.7
const BAR_PX_MAX = 60

/** @returns what takes it away */
export function drawPlot(host: HTMLElement, plot: Plot): () => void {
  const style = getComputedStyle(host)
  const colour = (index: number) => resolved(style, `--series-${(index % 8) + 1}`)
  const axis = {
    stroke: resolved(style, '--quiet'),
    grid: { stroke: resolved(style, '--line'), width: 1 },
  }
  const { words } = plot
  const chart = new uPlot(
    {
      width: plot.width,
      height: plot.height,
      scales: {
        x: {
          time: plot.isTime,
          ...(words === undefined ? {} : { range: [-0.6, Math.max(0.6, words.length - 0.4)] }),
        },
      },
      axes: [
        {
          ...axis,
          ...(words === undefined
            ? {}
            : {
                values: (_: uPlot, splits: number[]) => splits.map((at) => shortWord(words[at])),
                incrs: [1, 2, 5, 10, 20, 50],
              }),
        },
        { ...axis, size: 72 },
      ],
      series: [
        axisSeries(words),
        ...plot.y.map(({ label }, index) => seriesOf(plot, label, colour(index))),
      ],
    },
    // uPlot reads them and changes nothing.
    [plot.x, ...plot.y.map(({ values }) => values)] as unknown as uPlot.AlignedData,
    host,
  )
  return () => chart.destroy()
}

function axisSeries(words: Plot['words']): uPlot.Series {
  return words === undefined ? {} : { value: (_: uPlot, at: number) => words[at] ?? '' }
}

function seriesOf({ kind, y }: Plot, label: string, stroke: string): uPlot.Series {
  const drawn = { label, stroke, width: 2 }
  if (kind === 'scatter') {
    return { ...drawn, paths: () => null, points: { show: true, size: 6, fill: stroke } }
  }
  if (kind === 'line') return drawn
  const paths = uPlot.paths.bars?.({ size: [BAR_SHARE / y.length, BAR_PX_MAX] })
  return { ...drawn, fill: stroke, ...(paths ? { paths } : {}), points: { show: false } }
}

/** A colour as a canvas takes it: a token may say `light-dark(…)`. */
function resolved(style: CSSStyleDeclaration, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = style.getPropertyValue(token)
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function shortWord(word: string | undefined): string {
  if (word === undefined) return ''
  return word.length > WORD_CHARS_MAX ? `${word.slice(0, WORD_CHARS_MAX - 1)}…` : word
}
