/** Draws recall over latency as an SVG that is readable on light and dark pages. */
export interface PlotPoint {
  readonly label: string
  readonly p50Ms: number
  /** From 0 to 1. */
  readonly recall: number
  readonly group: 'own' | 'exact' | 'approximate'
}

const SIZE = { width: 890, height: 520 }
/** The labels are slanted and above the frame. */
const FRAME = { left: 64, right: 700, top: 190, bottom: 470 }
const LABEL_GAP = 19
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .axis, .leader { stroke: #8c959f; fill: none }
  .leader { stroke-width: .6 }
  .grid { stroke: #8c959f; stroke-opacity: .25 }
  .own { fill: #cf222e } .exact { fill: #0969da } .approximate { fill: #8250df }
  text.own { font-weight: 600; fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .own, text.own { fill: #ff7b72 } .exact { fill: #58a6ff } .approximate { fill: #bc8cff }
  }`

interface Scales {
  readonly x: (ms: number) => number
  readonly y: (recall: number) => number
  /** The powers of ten at both ends. */
  readonly decades: readonly number[]
  readonly recalls: readonly number[]
}

export function recallPlot(points: readonly PlotPoint[], title: string): string {
  const scales = scalesOf(points)
  const { width, height } = SIZE
  const parts = [...axes(scales), ...marks(points, scales), ...legend()]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<text x="${FRAME.left}" y="22" style="font-weight:600">${escaped(title)}</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

function scalesOf(points: readonly PlotPoint[]): Scales {
  const times = points.map(({ p50Ms }) => Math.log10(p50Ms))
  const first = Math.floor(Math.min(...times))
  const last = Math.max(first + 1, Math.ceil(Math.max(...times)))
  const lowest = Math.min(0.95, ...points.map(({ recall }) => recall))
  const bottom = Math.floor(lowest * 20) / 20
  const { left, right, top: upper, bottom: lower } = FRAME
  const steps = Math.round((1 - bottom) * 20)
  return {
    x: (ms) => left + ((Math.log10(ms) - first) / (last - first)) * (right - left),
    y: (recall) => upper + 12 + ((1 - recall) / (1 - bottom)) * (lower - upper - 12),
    decades: Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at)),
    recalls: Array.from({ length: steps + 1 }, (_, at) => 1 - at / 20),
  }
}

function axes({ x, y, decades, recalls }: Scales): readonly string[] {
  const { left, right, top, bottom } = FRAME
  const columns = decades.flatMap((ms) => [
    `<path class="grid" d="M${at(x(ms))} ${top}V${bottom}"/>`,
    `<text x="${at(x(ms))}" y="${bottom + 18}" text-anchor="middle">${Number(ms.toPrecision(2))} ms</text>`,
  ])
  const rows = recalls.flatMap((recall) => [
    `<path class="grid" d="M${left} ${at(y(recall))}H${right}"/>`,
    `<text x="${left - 8}" y="${at(y(recall) + 4)}" text-anchor="end">${recall.toFixed(2)}</text>`,
  ])
  const middle = (left + right) / 2
  return [
    ...columns,
    ...rows,
    `<path class="axis" d="M${left} ${top}V${bottom}H${right}"/>`,
    `<text x="${middle}" y="${bottom + 38}" text-anchor="middle">p50 of one search, one client</text>`,
    `<text transform="translate(18 ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle">recall@10</text>`,
  ]
}

/** Places labels from left to right with a minimum gap, each connected to its point by a line. */
function marks(points: readonly PlotPoint[], { x, y }: Scales): readonly string[] {
  const ordered = [...points].sort((a, b) => a.p50Ms - b.p50Ms)
  const anchor = FRAME.top - 14
  let free = Number.NEGATIVE_INFINITY
  return ordered.flatMap(({ label, p50Ms, recall, group }) => {
    const column = Math.max(x(p50Ms), free)
    free = column + LABEL_GAP
    const place = `${at(x(p50Ms))} ${at(y(recall))}`
    const text = `translate(${at(column + 3)} ${anchor - 3}) rotate(-40)`
    return [
      `<path class="leader" d="M${place}L${at(column)} ${anchor}"/>`,
      `<circle class="${group}" cx="${at(x(p50Ms))}" cy="${at(y(recall))}" r="5"/>`,
      `<text class="${group === 'own' ? 'own' : ''}" transform="${text}">${escaped(label)}</text>`,
    ]
  })
}

function legend(): readonly string[] {
  const entries = [
    ['own', 'Eider, HTTP included'],
    ['exact', 'exact'],
    ['approximate', 'approximate'],
  ] as const
  return entries.flatMap(([group, words], index) => {
    const height = FRAME.bottom - 60 + index * 20
    return [
      `<circle class="${group}" cx="${FRAME.right + 24}" cy="${height - 4}" r="5"/>`,
      `<text x="${FRAME.right + 36}" y="${height}">${words}</text>`,
    ]
  })
}

function at(value: number): string {
  return value.toFixed(1)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
