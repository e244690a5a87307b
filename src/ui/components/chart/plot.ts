/** Configures uPlot for this page. Loaded when the first chart is shown. */
import uPlot from 'uplot'
import { colourReader } from '../theme-colours.ts'
import type { ChartData, ChartKind } from './chart-data.ts'

interface Plot extends ChartData {
  readonly kind: ChartKind
  readonly width: number
  readonly height: number
}

const WORD_CHARS_MAX = 14
/** The minimum distance between axis labels. */
const WORD_PX = 76
const BAR_SHARE = 0.7
const BAR_PX_MAX = 60

/** Formats of time labels, by the distance between marks and at the start of a day or year. */
const TIMES: (string | number | null)[][] = [
  [365 * 86_400, '{YYYY}', null, null, null, null, null, null, 1],
  [28 * 86_400, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [86_400, '{D} {MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [60, '{HH}:{mm}', '\n{D} {MMM} {YYYY}', null, '\n{D} {MMM}', null, null, null, 1],
  [0.001, '{HH}:{mm}:{ss}', '\n{D} {MMM} {YYYY}', null, '\n{D} {MMM}', null, null, null, 1],
]

function hasBars({ kind }: Plot): boolean {
  return kind === 'bar' || kind === 'histogram'
}

/** The axis starts at zero, because bars are compared by their length. */
function fromNothing(_: uPlot, low: number, high: number): [number, number] {
  const room = (Math.max(high, 0) - Math.min(low, 0)) * 0.05 || 1
  return [low < 0 ? low - room : 0, high > 0 ? high + room : 0]
}

/**
 * Adds space at both ends. If an axis ended at a value of several rows, uPlot would draw only the
 * first of them.
 */
function withRoom(_: uPlot, low: number, high: number): [number, number] {
  const room = (high - low) * 0.01 || 1
  return [low - room, high + room]
}

/** @returns a function that removes the chart */
export function drawPlot(host: HTMLElement, plot: Plot): () => void {
  const read = colourReader(host)
  const colour = (index: number) => read(`--series-${(index % 8) + 1}`)
  const axis = { stroke: read('--quiet'), grid: { stroke: read('--line'), width: 1 } }
  const hasSecond = plot.y.some(({ isSecond }) => isSecond)
  const { words } = plot
  const chart = new uPlot(
    {
      width: plot.width,
      height: plot.height,
      // Times are shown as written, without a time zone.
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      scales: {
        ...(hasBars(plot) ? { y: { range: fromNothing }, second: { range: fromNothing } } : {}),
        x: {
          time: plot.isTime,
          range: words === undefined ? withRoom : [-0.6, Math.max(0.6, words.length - 0.4)],
        },
      },
      axes: [
        {
          ...axis,
          ...(plot.isTime ? { values: TIMES } : {}),
          ...(words === undefined
            ? {}
            : {
                values: (_: uPlot, splits: number[]) => splits.map((at) => shortWord(words[at])),
                incrs: [1, 2, 5, 10, 20, 50],
                space: WORD_PX,
              }),
        },
        { ...axis, size: 72 },
        ...(hasSecond
          ? [{ ...axis, scale: 'second', side: 1 as const, size: 72, grid: { show: false } }]
          : []),
      ],
      series: [
        axisSeries(words),
        ...plot.y.map((_, index) => seriesOf(plot, index, colour(index))),
      ],
    },
    // uPlot only reads these arrays.
    [plot.x, ...plot.y.map(({ values }) => values)] as unknown as uPlot.AlignedData,
    host,
  )
  return () => chart.destroy()
}

function axisSeries(words: Plot['words']): uPlot.Series {
  return words === undefined ? {} : { value: (_: uPlot, at: number) => words[at] ?? '' }
}

function seriesOf(plot: Plot, at: number, stroke: string): uPlot.Series {
  const { kind } = plot
  const { label = '', isSecond = false } = plot.y[at] ?? {}
  const drawn = { label, stroke, width: 2, scale: isSecond ? 'second' : 'y' }
  if (kind === 'scatter') {
    return { ...drawn, paths: () => null, points: { show: true, size: 6, fill: stroke } }
  }
  // If a group has no row for some time, its line continues to its next row.
  if (kind === 'line') return { ...drawn, spanGaps: plot.isGrouped }
  const paths = uPlot.paths.bars?.({ disp: besideOthers(plot, at), size: [1, BAR_PX_MAX] })
  return { ...drawn, width: 0, fill: stroke, ...(paths ? { paths } : {}), points: { show: false } }
}

/** Draws the bars at one position side by side. */
function besideOthers({ x, y }: Plot, at: number): uPlot.Series.BarsPathBuilderDisplay {
  const scale = { unit: 1 } as const
  // If there are few bars, each is narrower than its space, but centred in it.
  const widthIn = (chart: uPlot) => {
    const unitPx = chart.valToPos(1, 'x') - chart.valToPos(0, 'x')
    return Math.min(BAR_SHARE / y.length, BAR_PX_MAX / unitPx)
  }
  return {
    x0: {
      ...scale,
      values: (chart) => {
        const width = widthIn(chart)
        return x.map((one) => one + (at - y.length / 2) * width)
      },
    },
    size: {
      ...scale,
      values: (chart) => {
        const width = widthIn(chart)
        return x.map(() => width)
      },
    },
  }
}

function shortWord(word: string | undefined): string {
  if (word === undefined) return ''
  return word.length > WORD_CHARS_MAX ? `${word.slice(0, WORD_CHARS_MAX - 1)}…` : word
}
