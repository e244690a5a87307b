/** Which chart says most about some rows, without a setting. Pure. */
import type { Cell } from '../../api/sql.ts'

export type ChartKind = 'line' | 'bar' | 'scatter' | 'histogram'

export interface ChartChoice {
  readonly kind: ChartKind
  /** Index of the column along the axis; of a histogram what is counted. */
  readonly x: number
  /** Indexes of the columns drawn. */
  readonly y: readonly number[]
}

export type ColumnKind = 'number' | 'time' | 'text' | 'nothing'

const TIME = /^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$/
/** Rows that are looked at to tell what a column holds. */
const LOOKED_AT_MAX = 500
const BARS_MAX = 60
const LINES_MAX = 4

export function columnKind(rows: readonly (readonly Cell[])[], column: number): ColumnKind {
  const cells = rows
    .slice(0, LOOKED_AT_MAX)
    .map((row) => row[column])
    .filter((cell) => cell !== null && cell !== undefined)
  if (cells.length === 0) return 'nothing'
  if (cells.every((cell) => typeof cell === 'number')) return 'number'
  return cells.every((cell) => typeof cell === 'string' && TIME.test(cell)) ? 'time' : 'text'
}

/** @returns undefined where there is nothing to draw */
export function chooseChart(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): ChartChoice | undefined {
  const kinds = columns.map((_, index) => columnKind(rows, index))
  const of = (kind: ColumnKind) => kinds.flatMap((one, index) => (one === kind ? [index] : []))
  const numbers = of('number')
  const [time] = of('time')
  const [text] = of('text')
  const [first, second] = numbers
  if (rows.length === 0 || first === undefined) {
    return text === undefined || rows.length < 2 ? undefined : { kind: 'histogram', x: text, y: [] }
  }
  if (time !== undefined) return { kind: 'line', x: time, y: numbers.slice(0, LINES_MAX) }
  if (text !== undefined && rows.length <= BARS_MAX)
    return { kind: 'bar', x: text, y: numbers.slice(0, LINES_MAX) }
  if (second === undefined) return { kind: 'histogram', x: first, y: [] }
  if (isRising(rows, first)) return { kind: 'line', x: first, y: numbers.slice(1, LINES_MAX + 1) }
  return { kind: 'scatter', x: first, y: [second] }
}

function isRising(rows: readonly (readonly Cell[])[], column: number): boolean {
  let before = Number.NEGATIVE_INFINITY
  for (const row of rows) {
    const value = row[column]
    if (typeof value !== 'number' || value <= before) return false
    before = value
  }
  return rows.length > 2
}

export interface Bins {
  readonly labels: readonly string[]
  readonly counts: readonly number[]
}

const BINS = 30
const VALUES_MAX = 40

/** How often values occur: of numbers in ranges of a round width, of other values each. */
export function binned(cells: readonly Cell[]): Bins {
  const numbers = cells.filter((cell) => typeof cell === 'number' && Number.isFinite(cell))
  // The filter left numbers alone.
  if (numbers.length > 0) return numberBins(numbers as readonly number[])
  const counts = new Map<string, number>()
  for (const cell of cells) {
    const word = cell === null || cell === undefined ? 'null' : String(cell)
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  const best = [...counts].sort((a, b) => b[1] - a[1]).slice(0, VALUES_MAX)
  return { labels: best.map(([label]) => label), counts: best.map(([, count]) => count) }
}

function numberBins(numbers: readonly number[]): Bins {
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (const one of numbers) {
    low = Math.min(low, one)
    high = Math.max(high, one)
  }
  const width = roundWidth((high - low) / BINS)
  const start = Math.floor(low / width) * width
  const count = Math.max(1, Math.floor((high - start) / width) + 1)
  const counts = new Array<number>(count).fill(0)
  for (const one of numbers) {
    const at = Math.min(count - 1, Math.floor((one - start) / width))
    counts[at] = (counts[at] ?? 0) + 1
  }
  const labels = counts.map((_, index) => shortNumber(start + index * width))
  return { labels, counts }
}

/** 1, 2 or 5 times a power of ten, at least so wide. */
function roundWidth(width: number): number {
  if (!(width > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(width))
  const factor = [1, 2, 5, 10].find((one) => one * power >= width) ?? 10
  return factor * power
}

export function shortNumber(value: number): string {
  return Number(value.toPrecision(6)).toString()
}
