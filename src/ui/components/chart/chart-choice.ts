/** Which chart says most about some rows, without a setting. Pure. */
import type { Cell, Column } from '../../api/sql.ts'
import { isNumberType } from '../table/cell-text.ts'

export type ChartKind = 'line' | 'bar' | 'scatter' | 'histogram'

export interface ChartChoice {
  readonly kind: ChartKind
  /** Index of the column along the axis; of a histogram what is counted. */
  readonly x: number
  /** Indexes of the columns drawn. */
  readonly y: readonly number[]
  /** Index of the column whose values each have a line or bar of their own. */
  readonly by?: number
}

export type ColumnKind = 'number' | 'time' | 'text' | 'nothing'

/** What a browser can count in milliseconds: years of four digits. */
const TIME = /^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?([+-]\d{2}(:?\d{2})?|Z)?$/
const NUMBER = /^-?\d+(\.\d+)?$/
/** What is of a type of numbers, and none that can be drawn. */
export const NO_NUMBER = /^(NaN|-?Infinity)$/
/** Rows that are looked at to tell what a column holds. */
const LOOKED_AT_MAX = 500
export const BARS_MAX = 60
export const SERIES_MAX = 8

type Rows = readonly (readonly Cell[])[]

export function columnKind(rows: Rows, column: number, type = ''): ColumnKind {
  const cells = rows
    .slice(0, LOOKED_AT_MAX)
    .map((row) => row[column])
    .filter((cell) => cell !== null && cell !== undefined)
  if (cells.length === 0) return 'nothing'
  const isNumber = isNumberType(type)
    ? (cell: Cell) =>
        NUMBER.test(String(cell)) || typeof cell === 'number' || NO_NUMBER.test(String(cell))
    : (cell: Cell) => typeof cell === 'number'
  if (cells.every(isNumber)) return 'number'
  return cells.every((cell) => typeof cell === 'string' && TIME.test(cell)) ? 'time' : 'text'
}

/** A cell of a column of numbers; null where it is none. */
export function numberOf(cell: Cell): number | null {
  if (typeof cell === 'number') return cell
  return typeof cell === 'string' && NUMBER.test(cell) ? Number(cell) : null
}

/** @returns undefined where there is nothing to draw */
export function chooseChart(columns: readonly Column[], rows: Rows): ChartChoice | undefined {
  if (rows.length < 2) return undefined
  const kinds = columns.map(({ type }, index) => columnKind(rows, index, type))
  const of = (kind: ColumnKind) => kinds.flatMap((one, index) => (one === kind ? [index] : []))
  const numbers = measuresOf(columns, of('number'))
  const [time] = of('time')
  const texts = of('text').filter((column) => isShort(rows, column))
  const [text] = texts
  const [first, second] = numbers
  if (first === undefined) {
    const counted = texts.find((column) => hasRepeats(rows, column)) ?? time ?? text
    return counted === undefined ? undefined : { kind: 'histogram', x: counted, y: [] }
  }
  const y = numbers.slice(0, SERIES_MAX)
  if (time !== undefined) return withGroups({ kind: 'line', x: time, y }, rows, text)
  if (text !== undefined) return ofText({ kind: 'bar', x: text, y }, rows, texts[1])
  if (second === undefined) return { kind: 'histogram', x: first, y: [] }
  if (isRising(rows, first)) {
    return { kind: 'line', x: first, y: numbers.slice(1, SERIES_MAX + 1) }
  }
  return { kind: 'scatter', x: first, y: [second] }
}

/** Names of rows are numbers at times, but measure nothing: they count only where there is nothing else. */
function measuresOf(columns: readonly Column[], numbers: readonly number[]): readonly number[] {
  const measures = numbers.filter((column) => !/(^|_)id$/i.test(columns[column]?.name ?? ''))
  return measures.length === 0 ? numbers : measures
}

/** A row for each time and group: each group is a line. */
function withGroups(choice: ChartChoice, rows: Rows, text: number | undefined): ChartChoice {
  if (text === undefined || !hasRepeats(rows, choice.x)) return choice
  return { ...choice, y: choice.y.slice(0, 1), by: text }
}

function ofText(bars: ChartChoice, rows: Rows, second: number | undefined): ChartChoice {
  const [first = 0, other] = bars.y
  if (second !== undefined && hasRepeats(rows, bars.x) && rows.length <= BARS_MAX * SERIES_MAX) {
    return { ...bars, y: [first], by: second }
  }
  // More bars than can be read are drawn where the first ones are the largest.
  if (rows.length <= BARS_MAX || isFalling(rows, first)) return bars
  if (other === undefined) return { kind: 'histogram', x: first, y: [] }
  return { kind: 'scatter', x: first, y: [other] }
}

const SHORT_CHARS = 60

/** Words to stand below an axis, and no long texts. */
function isShort(rows: Rows, column: number): boolean {
  const looked = rows.slice(0, LOOKED_AT_MAX)
  const isWord = (cell: Cell) => typeof cell !== 'object' && String(cell).length <= SHORT_CHARS
  return looked.every((row) => row[column] === null || isWord(row[column]))
}

function hasRepeats(rows: Rows, column: number): boolean {
  const looked = rows.slice(0, LOOKED_AT_MAX)
  return new Set(looked.map((row) => String(row[column]))).size < looked.length
}

function isRising(rows: Rows, column: number): boolean {
  let before = Number.NEGATIVE_INFINITY
  for (const row of rows) {
    const value = numberOf(row[column])
    if (value === null || value <= before) return false
    before = value
  }
  return rows.length > 2
}

function isFalling(rows: Rows, column: number): boolean {
  let before = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const value = numberOf(row[column])
    if (value === null || value > before) return false
    before = value
  }
  return true
}
