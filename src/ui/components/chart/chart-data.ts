/** Chooses a suitable chart for some rows and computes its data. Pure functions. */
import type { Cell, Column } from '../../api/sql.ts'
import { isNothing, isNumberType } from '../table/cell-text.ts'

export type ChartKind = 'line' | 'bar' | 'scatter' | 'histogram'

export interface ChartChoice {
  readonly kind: ChartKind
  /** The index of the column on the X axis, or of the column that a histogram counts. */
  readonly x: number
  readonly y: readonly number[]
  /** The index of the column by which rows are grouped into series. */
  readonly by?: number
}

export interface Series {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** Whether the series uses the axis on the right. */
  readonly isSecond: boolean
}

export interface ChartData {
  /** Positions on the X axis, ascending. */
  readonly x: readonly number[]
  /** A label for each position. If missing, the positions are numbers or times. */
  readonly words?: readonly string[]
  readonly isTime: boolean
  /** Whether each series contains the rows of one group. */
  readonly isGrouped: boolean
  readonly y: readonly Series[]
  /** What the chart leaves out; empty if nothing. */
  readonly left: string
}

type Rows = readonly (readonly Cell[])[]
type ColumnKind = 'number' | 'time' | 'text' | 'nothing'

/** Matches times with four-digit years, which a browser can represent. */
const TIME = /^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?([+-]\d{2}(:?\d{2})?|Z)?$/
const NUMBER = /^-?\d+(\.\d+)?$/
/** Values of number columns that cannot be drawn. */
const NO_NUMBER = /^(NaN|-?Infinity)$/
/** How many rows are examined to determine a column's type. */
const LOOKED_AT_MAX = 500
const BARS_MAX = 60
const SERIES_MAX = 8
const SHORT_CHARS = 60
/** Beyond this factor, the smaller series would look like a flat line. */
const SCALES_APART = 20

function columnKind(rows: Rows, column: number, type = ''): ColumnKind {
  const cells = rows
    .slice(0, LOOKED_AT_MAX)
    .map((row) => row[column])
    .filter((cell) => !isNothing(cell))
  if (cells.length === 0) return 'nothing'
  const isDigits = (cell: Cell) => NUMBER.test(String(cell)) || NO_NUMBER.test(String(cell))
  const isNumber = (cell: Cell) =>
    typeof cell === 'number' || (isNumberType(type) && isDigits(cell))
  if (cells.every(isNumber)) return 'number'
  return cells.every((cell) => typeof cell === 'string' && TIME.test(cell)) ? 'time' : 'text'
}

/** Returns null if the cell is not a number. */
function numberOf(cell: Cell): number | null {
  if (typeof cell === 'number') return cell
  return typeof cell === 'string' && NUMBER.test(cell) ? Number(cell) : null
}

/** @returns undefined if there is nothing to draw */
export function chooseChart(columns: readonly Column[], rows: Rows): ChartChoice | undefined {
  if (rows.length < 2) return undefined
  const kinds = columns.map(({ type }, index) => columnKind(rows, index, type))
  const of = (kind: ColumnKind) => kinds.flatMap((one, index) => (one === kind ? [index] : []))
  const numbers = measuresOf(columns, of('number'))
  const [time] = of('time')
  const texts = of('text').filter((column) => isShort(rows, column))
  const [text, otherText] = texts
  const [first, second] = numbers
  if (first === undefined) {
    const counted = texts.find((column) => hasRepeats(rows, column)) ?? time ?? text
    return counted === undefined ? undefined : { kind: 'histogram', x: counted, y: [] }
  }
  // Next to times or text, a row number is not a measurement either.
  const measures = numbers.filter((column) => !countsRows(rows, column))
  const [measure = first] = measures
  const y = measures.length === 0 ? [first] : measures.slice(0, SERIES_MAX)
  if (time !== undefined) {
    if (!hasRepeats(rows, time)) return { kind: 'line', x: time, y }
    const by = texts.find((column) => isGroup(rows, column))
    // Without groups, the line would jump up and down at each time.
    return by === undefined
      ? { kind: 'scatter', x: time, y: [measure] }
      : { kind: 'line', x: time, y: [measure], by }
  }
  if (text !== undefined) {
    const canGroup = hasRepeats(rows, text) && rows.length <= BARS_MAX * SERIES_MAX
    if (otherText !== undefined && canGroup && isGroup(rows, otherText)) {
      return { kind: 'bar', x: text, y: [measure], by: otherText }
    }
    // Too many bars to read are drawn only if the largest come first.
    if (rows.length <= BARS_MAX || isSorted(rows, first, -1)) return { kind: 'bar', x: text, y }
  }
  if (second === undefined) return { kind: 'histogram', x: first, y: [] }
  if (text === undefined && rows.length > 2 && isSorted(rows, first, 1)) {
    return { kind: 'line', x: first, y: numbers.slice(1, SERIES_MAX + 1) }
  }
  return { kind: 'scatter', x: first, y: [second] }
}

/** Ids may be numbers but measure nothing, so they are used only as a last resort. */
function measuresOf(columns: readonly Column[], numbers: readonly number[]): readonly number[] {
  const measures = numbers.filter((column) => !/(^|_)id$/i.test(columns[column]?.name ?? ''))
  return measures.length === 0 ? numbers : measures
}

/** Whether the texts are short enough to be axis labels. */
function isShort(rows: Rows, column: number): boolean {
  return rows.slice(0, LOOKED_AT_MAX).every((row) => {
    const cell = row[column]
    return cell === null || (typeof cell !== 'object' && String(cell).length <= SHORT_CHARS)
  })
}

function hasRepeats(rows: Rows, column: number): boolean {
  return distinctShare(rows, column) < 1
}

/** Whether the column's values occur in several rows each. */
function isGroup(rows: Rows, column: number): boolean {
  return distinctShare(rows, column) <= 0.5
}

function distinctShare(rows: Rows, column: number): number {
  const looked = rows.slice(0, LOOKED_AT_MAX)
  return new Set(looked.map((row) => String(row[column]))).size / looked.length
}

/** Whether the column only counts rows: each value is one more than the previous one. */
function countsRows(rows: Rows, column: number): boolean {
  const values = rows.slice(0, LOOKED_AT_MAX).map((row) => numberOf(row[column]))
  const start = values[0] ?? Number.NaN
  return values.length > 2 && values.every((value, at) => value === start + at)
}

/** @param direction 1 for ascending values, -1 for descending ones */
function isSorted(rows: Rows, column: number, direction: 1 | -1): boolean {
  const values = rows.map((row) => numberOf(row[column]))
  return values.every((value, index) => {
    const before = values[index - 1]
    if (value === null) return false
    if (before === undefined || before === null) return true
    return direction === 1 ? value > before : value <= before
  })
}

export function chartData(choice: ChartChoice, columns: readonly Column[], rows: Rows): ChartData {
  const { x, y, by, kind } = choice
  const xKind = columnKind(rows, x, columns[x]?.type)
  const cells = rows.map((row) => row[x])
  if (kind === 'histogram') return histogram(cells, xKind === 'time')
  const isWords = kind === 'bar' || xKind === 'text' || xKind === 'nothing'
  const groups = by === undefined ? undefined : countsOf(rows.map((row) => row[by]))
  const isShared = groups !== undefined && kind !== 'scatter'
  const places = isWords
    ? wordPlaces(cells, isShared, kind === 'bar' ? BARS_MAX : rows.length)
    : numberPlaces(cells.map(xKind === 'time' ? secondsOf : numberOf), isShared)
  const shown = groups?.slice(0, SERIES_MAX).map(([label]) => label)
  const drawn =
    shown === undefined
      ? y.map((column) => valuesOf(rows, places, { label: columns[column]?.name ?? '', column }))
      : shown.map((label) => {
          const isOwn = (row: readonly Cell[]) => textOf(row[by ?? 0]) === label
          return valuesOf(rows, places, { label, column: y[0] ?? 0, isOwn })
        })
  const added = drawn.reduce((sum, one) => sum + one.added, 0)
  const isCut = shown !== undefined && groups !== undefined && groups.length > shown.length
  return {
    x: places.x,
    ...(places.words === undefined ? {} : { words: places.words }),
    isTime: xKind === 'time' && !isWords,
    isGrouped: groups !== undefined,
    y: withAxes(drawn, groups !== undefined),
    left: [
      places.left,
      isCut ? `Only the ${SERIES_MAX} largest of ${groups.length} groups are shown.` : '',
      added > 0 ? `${added} rows have the same position; their values are added up.` : '',
    ]
      .filter((one) => one !== '')
      .join(' '),
  }
}

/** Where each row is on the X axis. */
interface Places {
  readonly x: readonly number[]
  readonly words?: readonly string[]
  /** For each row, the index in `x`; undefined if the row is not drawn. */
  readonly of: readonly (number | undefined)[]
  readonly left: string
}

/** One position per row, or one per label if several groups share labels. */
function wordPlaces(cells: readonly Cell[], isShared: boolean, max: number): Places {
  const all = cells.map(textOf)
  const distinct = isShared ? [...new Set(all)] : all
  const words = distinct.slice(0, max)
  const known = new Map(words.map((word, index) => [word, index]))
  const isCut = distinct.length > max
  return {
    x: words.map((_, index) => index),
    words,
    left: isCut ? `Only the first ${max} of ${distinct.length} are shown.` : '',
    of: all.map((word, row) => (isShared ? known.get(word) : row < max ? row : undefined)),
  }
}

/** Positions from left to right, for rows in any order. */
function numberPlaces(values: readonly (number | null)[], isShared: boolean): Places {
  const known = values
    .map((value, row) => ({ value: value ?? Number.NaN, row }))
    .filter(({ value }) => Number.isFinite(value))
    .sort((a, b) => a.value - b.value)
  const x: number[] = []
  const of = new Array<number | undefined>(values.length).fill(undefined)
  for (const { value, row } of known) {
    if (!isShared || x.at(-1) !== value) x.push(value)
    of[row] = x.length - 1
  }
  const without = values.length - known.length
  return { x, of, left: without === 0 ? '' : `${without} rows have no value on the X axis.` }
}

function valuesOf(
  rows: Rows,
  { x, of }: Places,
  props: {
    readonly label: string
    readonly column: number
    readonly isOwn?: (row: readonly Cell[]) => boolean
  },
) {
  const { label, column, isOwn } = props
  const values = new Array<number | null>(x.length).fill(null)
  let added = 0
  for (const [index, row] of rows.entries()) {
    const place = isOwn?.(row) === false ? undefined : of[index]
    const value = numberOf(row[column])
    if (place === undefined || value === null) continue
    const before = values[place] ?? null
    if (before !== null) added += 1
    values[place] = (before ?? 0) + value
  }
  return { label, values, added }
}

/** Gives series far below the largest one a second axis. */
function withAxes(
  drawn: readonly { readonly label: string; readonly values: readonly (number | null)[] }[],
  isGrouped: boolean,
): readonly Series[] {
  const sizes = drawn.map(({ values }) => {
    return values.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0)
  })
  const largest = Math.max(0, ...sizes)
  return drawn.map(({ label, values }, index) => {
    const size = sizes[index] ?? 0
    return { label, values, isSecond: !isGrouped && size > 0 && size * SCALES_APART < largest }
  })
}

/** Values with their counts, most frequent first. */
function countsOf(cells: readonly Cell[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const cell of cells) counts.set(textOf(cell), (counts.get(textOf(cell)) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])
}

function textOf(cell: Cell): string {
  if (isNothing(cell)) return 'null'
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}

/** Returns null if the browser cannot represent the time. */
function secondsOf(cell: Cell): number | null {
  if (isNothing(cell)) return null
  const [, date = '', time = '00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)\d*)?([+-].*|Z)?$/.exec(
      String(cell),
    ) ?? []
  const ms = Date.parse(`${date}T${time}${/^[+-]\d{2}$/.test(zone) ? `${zone}:00` : zone}`)
  return Number.isNaN(ms) ? null : ms / 1000
}

const BINS = 30
const VALUES_MAX = 40
const DAY = 86_400

/** Counts values: numbers and times in ranges of a round width, other values individually. */
function histogram(cells: readonly Cell[], isTime: boolean): ChartData {
  const { labels, counts, left } = binned(cells, isTime)
  return {
    x: labels.map((_, index) => index),
    words: labels,
    isTime: false,
    isGrouped: false,
    y: [{ label: 'rows', values: counts, isSecond: false }],
    left,
  }
}

function binned(cells: readonly Cell[], isTime: boolean) {
  const known = cells
    .map(isTime ? secondsOf : numberOf)
    .filter((one): one is number => one !== null && Number.isFinite(one))
  const expected = cells.filter((cell) => !isNothing(cell) && !NO_NUMBER.test(String(cell)))
  if (known.length > 0 && (isTime || known.length === expected.length)) {
    const without = cells.length - known.length
    const left = without === 0 ? '' : `${without} rows have no value.`
    return { ...numberBins(known, isTime), left }
  }
  const counts = countsOf(cells)
  const best = counts.slice(0, VALUES_MAX)
  return {
    labels: best.map(([label]) => label),
    counts: best.map(([, count]) => count),
    left:
      counts.length > VALUES_MAX
        ? `Only the ${VALUES_MAX} most frequent of ${counts.length} values are shown.`
        : '',
  }
}

function numberBins(numbers: readonly number[], isTime: boolean) {
  const low = numbers.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY)
  const high = numbers.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY)
  const width = isTime
    ? roundWidth((high - low) / BINS / DAY) * DAY
    : roundWidth((high - low) / BINS)
  const start = Math.floor(low / width) * width
  const counts = new Array<number>(Math.floor((high - start) / width) + 1).fill(0)
  for (const one of numbers) {
    const at = Math.min(counts.length - 1, Math.floor((one - start) / width))
    counts[at] = (counts[at] ?? 0) + 1
  }
  const label = isTime
    ? (at: number) => new Date(at * 1000).toISOString().slice(0, width < DAY ? 16 : 10)
    : shortNumber
  return { labels: counts.map((_, index) => label(start + index * width)), counts }
}

/** The smallest of 1, 2 or 5 times a power of ten that is at least this wide. */
function roundWidth(width: number): number {
  if (!(width > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(width))
  return ([1, 2, 5, 10].find((one) => one * power >= width) ?? 10) * power
}

function shortNumber(value: number): string {
  return Number(value.toPrecision(6)).toString()
}

const NAMED_MAX = 3
const SHOWN = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 })

/** Describes the chart in a sentence, for its caption and for screen readers. */
export function captionOf(
  { kind, x, y, by }: ChartChoice,
  columns: readonly Column[],
  { x: places, y: series, left }: ChartData,
): string {
  const nameOf = (column: number | undefined) => columns[column ?? -1]?.name ?? ''
  const along = nameOf(x)
  const named = y.slice(0, NAMED_MAX).map(nameOf)
  const what = y.length > NAMED_MAX ? `${y.length} columns` : named.join(' and ')
  const group = by === undefined ? '' : `, one series for each ${nameOf(by)}`
  const values = series.flatMap((one) => one.values.filter((value) => value !== null))
  const low = values.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY)
  const high = values.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY)
  const second = series.filter(({ isSecond }) => isSecond).map(({ label }) => label)
  // With two scales, one range would be misleading.
  const isRanged = values.length > 0 && second.length === 0
  const range = isRanged ? `, from ${SHOWN.format(low)} to ${SHOWN.format(high)}` : ''
  const sentence = {
    bar: `${what} by ${along}${group}: ${places.length} bars${range}.`,
    line: `${what} over ${along}${group}: ${places.length} points${range}.`,
    scatter: `${what} against ${along}${group}: ${places.length} points.`,
    histogram: `How often each ${along} occurs, in ${places.length} bars.`,
  }[kind]
  const axes = second.length === 0 ? '' : ` ${second.join(', ')} on the right axis.`
  return `${sentence}${axes}${left === '' ? '' : ` ${left}`}`
}
