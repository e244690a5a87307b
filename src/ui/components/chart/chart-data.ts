/** What a chart draws, from the rows. Pure. */
import type { Cell, Column } from '../../api/sql.ts'
import {
  BARS_MAX,
  type ChartChoice,
  columnKind,
  NO_NUMBER,
  numberOf,
  SERIES_MAX,
} from './chart-choice.ts'

export interface Series {
  readonly label: string
  readonly values: readonly (number | null)[]
}

export interface ChartData {
  /** Values along the axis, rising. */
  readonly x: readonly number[]
  /** What stands below each; without words, they are numbers or times. */
  readonly words?: readonly string[]
  readonly isTime: boolean
  /** Each series has the rows of one group. */
  readonly isGrouped: boolean
  readonly y: readonly Series[]
  /** What is not drawn as it is, in words; empty: nothing. */
  readonly left: string
}

type Rows = readonly (readonly Cell[])[]

export function chartData(choice: ChartChoice, columns: readonly Column[], rows: Rows): ChartData {
  const kind = columnKind(rows, choice.x, columns[choice.x]?.type)
  if (choice.kind === 'histogram') return histogram(rows, choice.x, kind === 'time')
  const isWords = choice.kind === 'bar' || kind === 'text' || kind === 'nothing'
  const nameOf = (column: number) => columns[column]?.name ?? ''
  const groups = choice.by === undefined ? undefined : groupsOf(rows, choice.by)
  const place = isWords
    ? wordPlaces(rows, choice, groups !== undefined && choice.kind !== 'scatter')
    : numberPlaces(rows, choice, kind === 'time')
  const drawn =
    groups === undefined
      ? choice.y.map((column) => seriesOf({ label: nameOf(column), column }, place, rows))
      : groups.shown.map((label) => {
          const isOwn = (row: readonly Cell[]) => textOf(row[choice.by ?? 0]) === label
          return seriesOf({ label, column: choice.y[0] ?? 0, isOwn }, place, rows)
        })
  const shared = drawn.reduce((sum, one) => sum + one.shared, 0)
  const added = shared === 0 ? '' : `${shared} rows share a place: their values are added up`
  const left = [place.left, groups?.left ?? '', added].filter((one) => one !== '').join('; ')
  return {
    x: place.x,
    ...(place.words === undefined ? {} : { words: place.words }),
    isTime: kind === 'time' && !isWords,
    isGrouped: groups !== undefined,
    y: drawn.map(({ label, values }) => ({ label, values })),
    left,
  }
}

/** Where each row stands along the axis. */
interface Places {
  readonly x: readonly number[]
  readonly words?: readonly string[]
  /** Index in `x`; undefined: it is not drawn. */
  readonly indexOf: (row: readonly Cell[], rowIndex: number) => number | undefined
  readonly left: string
}

interface OneSeries {
  readonly label: string
  readonly column: number
  readonly isOwn?: (row: readonly Cell[]) => boolean
}

function seriesOf({ label, column, isOwn }: OneSeries, { x, indexOf }: Places, rows: Rows) {
  const values = new Array<number | null>(x.length).fill(null)
  const rowCounts = new Array<number>(x.length).fill(0)
  for (const [rowIndex, row] of rows.entries()) {
    const index = isOwn?.(row) === false ? undefined : indexOf(row, rowIndex)
    const value = numberOf(row[column])
    if (index === undefined || value === null) continue
    values[index] = (values[index] ?? 0) + value
    rowCounts[index] = (rowCounts[index] ?? 0) + 1
  }
  const shared = rowCounts.filter((count) => count > 1).reduce((sum, count) => sum + count, 0)
  return { label, values, shared }
}

/** A word for each row; where rows are grouped, for each word. */
function wordPlaces(rows: Rows, { x, kind }: ChartChoice, isGrouped: boolean): Places {
  const max = kind === 'bar' ? BARS_MAX : rows.length
  const all = rows.map((row) => textOf(row[x]))
  const distinct = isGrouped ? [...new Set(all)] : all
  const words = distinct.slice(0, max)
  const left = distinct.length > max ? `the first ${max} of ${distinct.length} are drawn` : ''
  const known = new Map(words.map((word, index) => [word, index]))
  return {
    x: words.map((_, index) => index),
    words,
    left,
    indexOf: isGrouped
      ? (row) => known.get(textOf(row[x]))
      : (_, rowIndex) => (rowIndex < words.length ? rowIndex : undefined),
  }
}

/** Rows of one group with one value are points of their own, one behind the other; those of two groups share a place. */
function numberPlaces(rows: Rows, { x, by }: ChartChoice, isTime: boolean): Places {
  const along = (row: readonly Cell[]) => (isTime ? secondsOf(row[x]) : numberOf(row[x]))
  const known = rows.map((row, rowIndex) => ({ value: along(row), rowIndex }))
  const points = known.filter(({ value }) => value !== null && Number.isFinite(value))
  // Lines run from left to right whatever the order of the rows.
  const sorted = points.toSorted((a, b) => Number(a.value) - Number(b.value))
  const left = sorted.length < rows.length ? `${rows.length - sorted.length} without a place` : ''
  const values: number[] = []
  const indexes = new Map<number, number>()
  const taken = new Map<string, number>()
  let start = 0
  for (const { value, rowIndex } of sorted) {
    if (values[start] !== Number(value)) {
      start = values.length
      taken.clear()
    }
    const group = by === undefined ? '' : textOf(rows[rowIndex]?.[by])
    const index = start + (taken.get(group) ?? 0)
    taken.set(group, index - start + 1)
    values[index] = Number(value)
    indexes.set(rowIndex, index)
  }
  return { x: values, left, indexOf: (_, rowIndex) => indexes.get(rowIndex) }
}

/** The values with the most rows. */
function groupsOf(rows: Rows, column: number) {
  const counts = countsOf(rows.map((row) => row[column]))
  const shown = counts.slice(0, SERIES_MAX).map(([word]) => word)
  const left =
    counts.length > SERIES_MAX ? `the ${SERIES_MAX} largest of ${counts.length} groups` : ''
  return { shown, left }
}

/** The most frequent first; as they came where they are as frequent. */
function countsOf(cells: readonly Cell[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const cell of cells) counts.set(textOf(cell), (counts.get(textOf(cell)) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])
}

function textOf(cell: Cell): string {
  if (cell === null || cell === undefined) return 'null'
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}

/** Null: no time that a browser counts. */
function secondsOf(cell: Cell): number | null {
  if (cell === null || cell === undefined) return null
  const [, date = '', time = '00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)\d*)?([+-].*|Z)?$/.exec(
      String(cell),
    ) ?? []
  const ms = Date.parse(`${date}T${time}${/^[+-]\d{2}$/.test(zone) ? `${zone}:00` : zone}`)
  return Number.isNaN(ms) ? null : ms / 1000
}

function histogram(rows: Rows, column: number, isTime: boolean): ChartData {
  const { labels, counts, left } = binned(
    rows.map((row) => row[column]),
    isTime,
  )
  const x = labels.map((_, index) => index)
  const y = [{ label: 'rows', values: counts }]
  return { x, words: labels, isTime: false, isGrouped: false, y, left }
}

interface Bins {
  readonly labels: readonly string[]
  readonly counts: readonly number[]
  readonly left: string
}

const BINS = 30
const VALUES_MAX = 40

/** How often values occur: of numbers and times in ranges of a round width, of other values each. */
export function binned(cells: readonly Cell[], isTime = false): Bins {
  const numbers = cells.map(isTime ? secondsOf : numberOf)
  const known = numbers.filter((one) => one !== null && Number.isFinite(one))
  const nothing = cells.length - known.length
  // The filter left numbers alone.
  if (known.length > 0 && (isTime || known.length === cells.filter(isThere).length)) {
    const left = nothing === 0 ? '' : `${nothing} without a value`
    return { ...numberBins(known as readonly number[], isTime), left }
  }
  const counts = countsOf(cells)
  const best = counts.slice(0, VALUES_MAX)
  return {
    labels: best.map(([label]) => label),
    counts: best.map(([, count]) => count),
    left: counts.length > VALUES_MAX ? `the ${VALUES_MAX} most frequent of ${counts.length}` : '',
  }
}

function isThere(cell: Cell): boolean {
  return cell !== null && cell !== undefined && !NO_NUMBER.test(String(cell))
}

function numberBins(numbers: readonly number[], isTime: boolean): Omit<Bins, 'left'> {
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (const one of numbers) {
    low = Math.min(low, one)
    high = Math.max(high, one)
  }
  const width = isTime ? timeWidth((high - low) / BINS) : roundWidth((high - low) / BINS)
  const start = Math.floor(low / width) * width
  const count = Math.max(1, Math.floor((high - start) / width) + 1)
  const counts = new Array<number>(count).fill(0)
  for (const one of numbers) {
    const at = Math.min(count - 1, Math.floor((one - start) / width))
    counts[at] = (counts[at] ?? 0) + 1
  }
  const label = isTime ? (at: number) => shortTime(at, width) : shortNumber
  return { labels: counts.map((_, index) => label(start + index * width)), counts }
}

/** 1, 2 or 5 times a power of ten, at least so wide. */
function roundWidth(width: number): number {
  if (!(width > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(width))
  const factor = [1, 2, 5, 10].find((one) => one * power >= width) ?? 10
  return factor * power
}

const DAY = 86_400
const WIDTHS = [1, 10, 60, 600, 3600, 6 * 3600, DAY, 7 * DAY, 30 * DAY, 91 * DAY, 365 * DAY]

function timeWidth(width: number): number {
  return WIDTHS.find((one) => one >= width) ?? roundWidth(width / (365 * DAY)) * 365 * DAY
}

function shortTime(seconds: number, width: number): string {
  const text = new Date(seconds * 1000).toISOString()
  if (width >= DAY) return text.slice(0, 10)
  return text.slice(5, width >= 60 ? 16 : 19).replace('T', ' ')
}

export function shortNumber(value: number): string {
  return Number(value.toPrecision(6)).toString()
}
