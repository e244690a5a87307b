/** Which chart suits some rows, and its data. Pure. */
import type { Cell, Column } from '../../api/sql.ts'
import { isNothing, isNumberType } from '../table/cell-text.ts'

export type ChartKind = 'line' | 'bar' | 'scatter' | 'histogram'

export interface ChartChoice {
  readonly kind: ChartKind
  /** Index of the column on the X axis; of a histogram, the column that is counted. */
  readonly x: number
  /** Indexes of the columns drawn. */
  readonly y: readonly number[]
  /** Index of the column whose values each are a series. */
  readonly by?: number
}

export interface Series {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** Drawn against the axis on the right. */
  readonly isSecond: boolean
}

export interface ChartData {
  /** Positions on the X axis, rising. */
  readonly x: readonly number[]
  /** The label of each position; without words they are numbers or times. */
  readonly words?: readonly string[]
  readonly isTime: boolean
  /** Each series has the rows of one group. */
  readonly isGrouped: boolean
  readonly y: readonly Series[]
  /** Sentences on what the chart leaves out; empty if nothing. */
  readonly left: string
}

type Rows = readonly (readonly Cell[])[]
type ColumnKind = 'number' | 'time' | 'text' | 'nothing'

/** Times a browser can hold in milliseconds: years of four digits. */
const TIME = /^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?([+-]\d{2}(:?\d{2})?|Z)?$/
const NUMBER = /^-?\d+(\.\d+)?$/
/** Values of number types that cannot be drawn. */
const NO_NUMBER = /^(NaN|-?Infinity)$/
/** Rows examined to find a column's type. */
const LOOKED_AT_MAX = 500
const BARS_MAX = 60
const SERIES_MAX = 8
const SHORT_CHARS = 60
/** Beyond it, small values would be a flat line. */
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

/** null: the cell is not a number. */
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
  const y = numbers.slice(0, SERIES_MAX)
  if (time !== undefined) {
    const isGrouped = text !== undefined && hasRepeats(rows, time)
    return isGrouped
      ? { kind: 'line', x: time, y: [first], by: text }
      : { kind: 'line', x: time, y }
  }
  if (text !== undefined) {
    const canGroup = hasRepeats(rows, text) && rows.length <= BARS_MAX * SERIES_MAX
    if (otherText !== undefined && canGroup) {
      return { kind: 'bar', x: text, y: [first], by: otherText }
    }
    // Too many bars to read are drawn only if the first ones are the largest.
    if (rows.length <= BARS_MAX || isSorted(rows, first, -1)) return { kind: 'bar', x: text, y }
  }
  if (second === undefined) return { kind: 'histogram', x: first, y: [] }
  if (text === undefined && rows.length > 2 && isSorted(rows, first, 1)) {
    return { kind: 'line', x: first, y: numbers.slice(1, SERIES_MAX + 1) }
  }
  return { kind: 'scatter', x: first, y: [second] }
}

/** Ids may be numbers but measure nothing: they are used only as a last resort. */
function measuresOf(columns: readonly Column[], numbers: readonly number[]): readonly number[] {
  const measures = numbers.filter((column) => !/(^|_)id$/i.test(columns[column]?.name ?? ''))
  return measures.length === 0 ? numbers : measures
}

/** Labels for an axis, not long texts. */
function isShort(rows: Rows, column: number): boolean {
  return rows.slice(0, LOOKED_AT_MAX).every((row) => {
    const cell = row[column]
    return cell === null || (typeof cell !== 'object' && String(cell).length <= SHORT_CHARS)
  })
}

function hasRepeats(rows: Rows, column: number): boolean {
  const looked = rows.slice(0, LOOKED_AT_MAX)
  return new Set(looked.map((row) => String(row[column]))).size < looked.length
}

/** @param direction 1 for ascending values, -1 for descending */
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
      added > 0 ? `${added} rows share a place; their values are added up.` : '',
    ]
      .filter((one) => one !== '')
      .join(' '),
  }
}

/** Each row's position on the X axis. */
interface Places {
  readonly x: readonly number[]
  readonly words?: readonly string[]
  /** For each row its index in `x`; undefined: it is not drawn. */
  readonly of: readonly (number | undefined)[]
  readonly left: string
}

/** One position for each row; for each word, if groups share words. */
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

/** From left to right, for rows in any order. */
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

/** Gives series far below the largest an axis of their own. */
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

/** The most frequent first. */
function countsOf(cells: readonly Cell[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const cell of cells) counts.set(textOf(cell), (counts.get(textOf(cell)) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])
}

function textOf(cell: Cell): string {
  if (isNothing(cell)) return 'null'
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}

/** null: not a time that a browser counts. */
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

/** How often values occur: numbers and times in ranges of a round width, other values separately. */
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

/** 1, 2 or 5 times a power of ten, at least this wide. */
function roundWidth(width: number): number {
  if (!(width > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(width))
  return ([1, 2, 5, 10].find((one) => one * power >= width) ?? 10) * power
}

function shortNumber(value: number): string {
  return Number(value.toPrecision(6)).toString()
}

const NAMED_MAX = 3

/** Describes the chart in a sentence, for screen readers and as its caption. */
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
  const range = values.length === 0 ? '' : `, from ${shortNumber(low)} to ${shortNumber(high)}`
  const sentence = {
    bar: `${what} by ${along}${group}: ${places.length} bars${range}.`,
    line: `${what} over ${along}${group}: ${places.length} points${range}.`,
    scatter: `${what} against ${along}${group}: ${places.length} points.`,
    histogram: `How often each ${along} occurs, in ${places.length} bars.`,
  }[kind]
  const second = series.filter(({ isSecond }) => isSecond).map(({ label }) => label)
  const axes = second.length === 0 ? '' : ` ${second.join(', ')} on the right axis.`
  return `${sentence}${axes}${left === '' ? '' : ` ${left}`}`
}
