/** Draws what grows with a knowledge base and what stays flat, on log scales, as an SVG for light and dark pages. */
import type { Measure } from './measure.ts'

interface Point {
  readonly chunks: number
  readonly value: number
}

interface Line {
  readonly label: string
  readonly points: readonly Point[]
  /** True for the other checkout, whose line is dashed. */
  readonly isOther: boolean
}

interface Panel {
  readonly title: string
  readonly unit: string
  readonly lines: readonly Line[]
}

const PANEL = { width: 290, height: 240, left: 56, right: 12, top: 66, bottom: 34 }
const COLUMNS = 3
const COLORS = ['own', 'second', 'third'] as const
/** Smaller values are drawn as this value. */
const LEAST = 0.001
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .axis { stroke: #8c959f; fill: none }
  .grid { stroke: #8c959f; stroke-opacity: .25 }
  .line { fill: none; stroke-width: 2 } .other { stroke-dasharray: 4 4; stroke-width: 1.5 }
  .own { stroke: #cf222e } .second { stroke: #0969da } .third { stroke: #8250df }
  circle.own { fill: #cf222e } circle.second { fill: #0969da } circle.third { fill: #8250df }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .own { stroke: #ff7b72 } .second { stroke: #58a6ff } .third { stroke: #bc8cff }
    circle.own { fill: #ff7b72 } circle.second { fill: #58a6ff } circle.third { fill: #bc8cff }
  }`

/** Each panel shows the measures whose names end with these words. */
const PANELS = [
  {
    title: 'Search, p50',
    unit: 'ms',
    ends: ['nearest 10, one client', 'best 10 by 3 words, one client'],
  },
  { title: 'Insert of one row, p50', unit: 'ms', ends: ['insert of one row'] },
  { title: 'Inserts of 2,000 rows', unit: 'rows/s', ends: ['inserted 2 000 at a time'] },
  {
    title: 'Start',
    unit: 'ms',
    ends: ['ready after start', 'start to first search', 'second search'],
  },
  { title: 'Memory above idle', unit: 'MB', ends: ['memory above idle'] },
  { title: 'Disk', unit: 'MB', ends: ['disk'] },
] as const

/** @param measures those of the scenario `growth`; their names begin with the number of chunks */
export function growthPlot(
  measures: readonly Measure[],
  others: readonly Measure[] | null,
): string {
  const panels = PANELS.map(({ title, unit, ends }): Panel => {
    const lines = ends.flatMap((label) => [
      { label, points: pointsOf(measures, label), isOther: false },
      ...(others === null ? [] : [{ label, points: pointsOf(others, label), isOther: true }]),
    ])
    return { title, unit, lines }
  })
  const rows = Math.ceil(panels.length / COLUMNS)
  const title = 'One knowledge base that grows: what grows with it and what stays flat'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${COLUMNS * PANEL.width} ${rows * PANEL.height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${STYLE}\n</style>`,
    ...panels.flatMap((panel, index) => {
      const x = (index % COLUMNS) * PANEL.width
      const y = Math.floor(index / COLUMNS) * PANEL.height
      return [`<g transform="translate(${x} ${y})">`, ...panelParts(panel), '</g>']
    }),
    '</svg>\n',
  ].join('\n')
}

function pointsOf(measures: readonly Measure[], end: string): readonly Point[] {
  return measures
    .filter(({ what }) => what.endsWith(`: ${end}`))
    .map((measure) => {
      const chunks = Number(measure.what.replace(/ chunks: .*/, '').replaceAll(',', ''))
      return { chunks, value: 'load' in measure ? measure.load.p50Ms : measure.value }
    })
}

function panelParts({ title, unit, lines }: Panel): readonly string[] {
  const { width, height, left, right, top, bottom } = PANEL
  const points = lines.flatMap((line) => line.points)
  const steps = [...new Set(points.map(({ chunks }) => chunks))].sort((a, b) => a - b)
  const powers = powersOf(points.map(({ value }) => value))
  const x = scale(steps, { from: left, to: width - right - 24 })
  const y = scale(powers, { from: height - bottom, to: top })
  const grid = powers.flatMap((power) => [
    `<path class="grid" d="M${left} ${at(y(power))}H${width - right}"/>`,
    `<text x="${left - 6}" y="${at(y(power) + 4)}" text-anchor="end">${power.toLocaleString('en')}</text>`,
  ])
  const ticks = steps.map((chunks) => {
    return `<text x="${at(x(chunks))}" y="${height - 12}" text-anchor="middle">${shortNumber(chunks)}</text>`
  })
  return [
    `<text class="title" x="${left}" y="18">${title} (${unit})</text>`,
    ...grid,
    `<path class="axis" d="M${left} ${top}V${height - bottom}H${width - right}"/>`,
    ...ticks,
    ...lines.flatMap((line, index) =>
      lineParts(line, { x, y, index: colorOf(lines, line), at: index }),
    ),
  ]
}

function lineParts(
  { label, points, isOther }: Line,
  place: {
    readonly x: (chunks: number) => number
    readonly y: (value: number) => number
    readonly index: number
    readonly at: number
  },
): readonly string[] {
  const color = COLORS[place.index % COLORS.length] ?? 'own'
  const places = points.map(({ chunks, value }) => `${at(place.x(chunks))} ${at(place.y(value))}`)
  const style = isOther ? `line other ${color}` : `line ${color}`
  const dots = isOther
    ? []
    : points.map(({ chunks, value }) => {
        return `<circle class="${color}" cx="${at(place.x(chunks))}" cy="${at(place.y(value))}" r="3"/>`
      })
  const name = isOther ? `${label}, before` : label
  return [
    `<path class="${style}" d="M${places.join('L')}"><title>${name}</title></path>`,
    ...dots,
    ...(isOther
      ? []
      : [
          `<text x="${PANEL.left + 6}" y="${34 + place.index * 14}" style="font-size:10px">${name}</text>`,
          `<path class="line ${color}" d="M${PANEL.left - 14} ${30 + place.index * 14}h14"/>`,
        ]),
  ]
}

/** A line of the other checkout has the same colour as its counterpart. */
function colorOf(lines: readonly Line[], line: Line): number {
  return [...new Set(lines.map(({ label }) => label))].indexOf(line.label)
}

/** Returns the powers of ten around these values, at least two. */
function powersOf(values: readonly number[]): readonly number[] {
  const logs = (values.length === 0 ? [1] : values).map((value) =>
    Math.log10(Math.max(value, LEAST)),
  )
  const first = Math.floor(Math.min(...logs))
  const last = Math.max(first + 1, Math.ceil(Math.max(...logs)))
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index))
}

/** Maps ascending values from the first to the last. */
function scale(
  values: readonly number[],
  { from, to }: { readonly from: number; readonly to: number },
): (value: number) => number {
  const log = (value: number) => Math.log10(Math.max(value, LEAST))
  const [first, last] = [log(values[0] ?? 1), log(values.at(-1) ?? 1)]
  const span = last === first ? 1 : last - first
  return (value) => from + ((log(value) - first) / span) * (to - from)
}

function shortNumber(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000} million`
  return value.toLocaleString('en')
}

function at(value: number): string {
  return value.toFixed(1)
}
