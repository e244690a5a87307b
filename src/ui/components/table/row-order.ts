/** Rows by a column, in steps: a million of them take seconds, and the page stays at hand meanwhile. Pure. */
import type { Cell } from '../../api/sql.ts'
import { cellText, isNothing, isNumberType } from './cell-text.ts'

export interface Order {
  readonly column: number
  readonly isDescending: boolean
}

type Row = readonly Cell[]
/** Gives, often, how much of it is done, from 0 to 1; in the end the rows. */
export type Sorting = Generator<number, readonly Row[], void>

/** Between two looks at what else is to be done: each is one comparison, or less. */
const STEPS_PER_LOOK = 1000
/** Of reading and of writing the rows, beside all that is compared. */
const READING_SHARE = 0.2
const WRITING_SHARE = 0.05

/** Rows that are equal stay as they were; nothing comes last, whichever way. */
export function* sorting(rows: readonly Row[], order: Order, type: string): Sorting {
  const { column, isDescending } = order
  const cells = keyedCells(type, rows.length, isDescending)
  const places = new Uint32Array(rows.length)
  const empty: number[] = []
  let count = 0
  for (let index = 0; index < rows.length; index += 1) {
    const cell = rows[index]?.[column]
    if (isNothing(cell)) empty.push(index)
    else {
      cells.add(cell, index)
      places[count] = index
      count += 1
    }
    if (index % STEPS_PER_LOOK === 0) yield (index / rows.length) * READING_SHARE
  }
  const sorted = yield* merged(places.subarray(0, count), cells)
  const ordered: Row[] = []
  for (let at = 0; at < rows.length; at += 1) {
    const index = at < count ? sorted[at] : empty[at - count]
    ordered.push(rows[index ?? 0] ?? [])
    if (at % STEPS_PER_LOOK === 0) yield 1 - WRITING_SHARE * (1 - at / rows.length)
  }
  return ordered
}

/** Neighbours are merged into runs of twice the length, until there is one. */
function* merged(
  places: Uint32Array,
  { isAfter }: KeyedCells,
): Generator<number, Uint32Array, void> {
  const { length } = places
  let from: Uint32Array = places
  let to: Uint32Array = new Uint32Array(length)
  const rounds = Math.max(1, Math.ceil(Math.log2(length)))
  let round = 0
  let steps = 0
  for (let width = 1; width < length; width *= 2, round += 1) {
    for (let start = 0; start < length; start += width * 2) {
      const middle = Math.min(start + width, length)
      const end = Math.min(start + width * 2, length)
      let left = start
      let right = middle
      // Often they are in order already.
      if (middle === end || !isAfter(from[middle - 1] ?? 0, from[middle] ?? 0)) {
        to.set(from.subarray(start, end), start)
        left = end
      }
      for (let at = left; at < end; at += 1) {
        const one = from[left] ?? 0
        const other = from[right] ?? 0
        const isRight = left >= middle || (right < end && isAfter(one, other))
        to[at] = isRight ? other : one
        if (isRight) right += 1
        else left += 1
        steps += 1
        if (steps % STEPS_PER_LOOK === 0) yield doneOf((round + at / length) / rounds)
      }
      steps += 1
      if (steps % STEPS_PER_LOOK === 0) yield doneOf((round + end / length) / rounds)
    }
    ;[from, to] = [to, from]
  }
  return from
}

function doneOf(share: number): number {
  return READING_SHARE + (1 - READING_SHARE - WRITING_SHARE) * share
}

/** In which order the cells of a column come, by its type: as numbers for a first look, and exactly where those are equal. Pure. */
interface SortKeys<Key = unknown> {
  /** What is compared of a cell: made once. */
  readonly keyOf: (cell: Cell) => Key
  /** Never falls from a smaller key to a larger one. */
  readonly roughly: (key: Key) => number
  /** Of two that are roughly the same: below, at or above 0. */
  readonly exactly: (a: Key, b: Key) => number
}

/** What is done with the keys of a column, whatever they are. */
interface KeyedCells {
  readonly add: (cell: Cell, index: number) => void
  /** Whether one, by its index, comes after another. */
  readonly isAfter: (a: number, b: number) => boolean
}

/** @param type as DuckDB names it; empty: unknown */
function keyedCells(type: string, count: number, isDescending: boolean): KeyedCells {
  if (isNumberType(type)) return keyed(NUMBERS, count, isDescending)
  if (type.startsWith('ENUM(')) return keyed(enumKeys(type), count, isDescending)
  if (/[\])]$|^JSON$|^$/.test(type) && !isNumberType(type)) {
    return keyed(nestedKeys(type), count, isDescending)
  }
  if (/^(DATE|TIME)/.test(type)) return keyed(TIMES, count, isDescending)
  if (type === 'INTERVAL') return keyed(INTERVALS, count, isDescending)
  if (type === 'BOOLEAN') return keyed(BOOLEANS, count, isDescending)
  return keyed(type === 'BLOB' ? BYTES : TEXTS, count, isDescending)
}

function keyed<Key>(
  { keyOf, roughly, exactly }: SortKeys<Key>,
  count: number,
  isDescending: boolean,
): KeyedCells {
  const rough = new Float64Array(count)
  const keys = new Array<Key>(count)
  return {
    add(cell, index) {
      const key = keyOf(cell)
      keys[index] = key
      rough[index] = roughly(key)
    },
    isAfter(a, b) {
      const one = rough[a] ?? 0
      const other = rough[b] ?? 0
      if (one !== other) return one > other !== isDescending
      // Both were added.
      const order = exactly(keys[a] as Key, keys[b] as Key)
      return isDescending ? order < 0 : order > 0
    },
  }
}

function same(): number {
  return 0
}

const BOOLEANS: SortKeys<number> = { keyOf: Number, roughly: (key) => key, exactly: same }

/** Beyond 2^53 numbers come as their digits; what is no number as NaN, Infinity and -Infinity. */
const NUMBERS: SortKeys<Cell> = {
  keyOf: (cell) => cell,
  // As in the database, NaN is the largest: beside infinity, where `exactly` tells them apart.
  roughly: (cell) => {
    const number = Number(cell)
    return Number.isNaN(number) ? Number.POSITIVE_INFINITY : number
  },
  exactly: (a, b) => {
    if (typeof a === 'number' && typeof b === 'number') return 0
    const one = String(a)
    const other = String(b)
    if (DIGITS.test(one) && DIGITS.test(other)) return compareDigits(one, other)
    return Number(one === 'NaN') - Number(other === 'NaN')
  },
}

const DIGITS = /^-?\d+(\.\d+)?$/

/** Numbers of any length, with or without a fraction. */
function compareDigits(a: string, b: string): number {
  const places = Math.max(...[a, b].map((one) => one.split('.')[1]?.length ?? 0))
  const [one = 0n, other = 0n] = [a, b].map((text) => {
    const [whole = '', fraction = ''] = text.split('.')
    return BigInt(whole + fraction.padEnd(places, '0'))
  })
  return compare(one, other)
}

function compare<T extends string | number | bigint>(a: T, b: T): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** So much of a text is compared: what begins alike for so long stays as it came. */
const COMPARED_CHARS_MAX = 2000
const MARKS = /\p{M}/gu

/** As people look for them: `apple`, `Banana`, `été`, `Zoo`; what differs in nothing else, by its characters. */
const TEXTS: SortKeys<string> = {
  keyOf: (cell) => {
    const text = textOf(cell).slice(0, COMPARED_CHARS_MAX)
    const plain = folded(text)
    return plain === text ? text : `${plain}\0${text}`
  },
  roughly: packed,
  exactly: compare,
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cellText(cell, COMPARED_CHARS_MAX)
}

function folded(text: string): string {
  const lower = text.toLowerCase()
  // Few texts of a column have other letters than these, and taking marks off takes long.
  return /[^\0-\x7f]/.test(lower) ? lower.normalize('NFD').replaceAll(MARKS, '') : lower
}

const UNIT = 2 ** 16

/** The first three characters as one number. */
function packed(text: string): number {
  return (unitAt(text, 0) * UNIT + unitAt(text, 1)) * UNIT + unitAt(text, 2)
}

function unitAt(text: string, index: number): number {
  return index < text.length ? text.charCodeAt(index) : 0
}

/** They come in base64, whose signs are in another order than the bytes they stand for. */
const BYTES: SortKeys<string> = {
  keyOf: (cell) => atob(textOf(cell).slice(0, COMPARED_CHARS_MAX)),
  roughly: packed,
  exactly: compare,
}

/** In the order in which the type names them. */
function enumKeys(type: string): SortKeys<number> {
  const names = [...type.matchAll(/'((?:[^']|'')*)'/g)].map(([, name = '']) => name)
  const places = new Map(names.map((name, index) => [name.replaceAll("''", "'"), index]))
  const keyOf = (cell: Cell) => places.get(textOf(cell)) ?? names.length
  return { keyOf, roughly: (key) => key, exactly: same }
}

const MOMENT =
  /^(?:([+-]?\d+)-(\d\d)-(\d\d) ?)?(?:(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?([+-]\d\d(?::\d\d)*)?(?: \(BC\))?$/

interface Moment {
  readonly seconds: number
  /** Digits behind them. */
  readonly fraction: string
}

/** Dates of every year, also before Christ and after the year 9999, and times of the day with their zones. */
const TIMES: SortKeys<Moment> = {
  keyOf: (cell) => {
    const text = textOf(cell)
    if (text === 'infinity') return { seconds: Number.POSITIVE_INFINITY, fraction: '' }
    if (text === '-infinity') return { seconds: Number.NEGATIVE_INFINITY, fraction: '' }
    const [, year = '0', month = '0', day = '0', ...time] = MOMENT.exec(text) ?? []
    const [hours, minutes, seconds, fraction = '', zone] = time
    const count = text.endsWith('(BC)') ? 1 - Number(year) : Number(year)
    const days = (count * 12 + Number(month)) * 31 + Number(day)
    const ofDay = secondsOf(hours, minutes, seconds) - zoneSeconds(zone)
    return { seconds: days * 86_400 + ofDay, fraction }
  },
  roughly: ({ seconds }) => seconds,
  exactly: (a, b) => compare(a.fraction, b.fraction),
}

function secondsOf(hours = '0', minutes = '0', seconds = '0'): number {
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
}

function zoneSeconds(zone: string | undefined): number {
  if (zone === undefined) return 0
  const [hours, minutes, seconds] = zone.slice(1).split(':')
  return (zone.startsWith('-') ? -1 : 1) * secondsOf(hours, minutes, seconds)
}

const UNIT_DAYS: Readonly<Record<string, number>> = { year: 360, month: 30, day: 1 }

/** As the database compares them: a month has thirty days. */
const INTERVALS: SortKeys<number> = {
  keyOf: (cell) => {
    const text = textOf(cell)
    let days = 0
    for (const [, count, unit = ''] of text.matchAll(/(-?\d+) (year|month|day)s?/g)) {
      days += Number(count) * (UNIT_DAYS[unit] ?? 0)
    }
    const [, sign, hours, minutes, rest] = /(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(text) ?? []
    return days * 86_400 + (sign === '-' ? -1 : 1) * secondsOf(hours, minutes, rest)
  },
  roughly: (key) => key,
  exactly: same,
}

/** Lists and structs by their parts, the first that differs; a shorter list before the one that goes on. */
function nestedKeys(type: string): SortKeys<Cell> {
  // Where no texts can be, a text is a number with more digits than JSON keeps.
  const hasTexts = /VARCHAR|JSON|ENUM|^$/.test(type)
  const exactly = (a: Cell, b: Cell): number => {
    if (isNothing(a) || isNothing(b)) return Number(isNothing(a)) - Number(isNothing(b))
    if (typeof a === 'object' && typeof b === 'object') {
      return compareParts(Object.values(a), Object.values(b), exactly)
    }
    const areNumbers = !hasTexts && typeof a !== 'object' && typeof b !== 'object'
    const bySize = areNumbers ? compareNumbers(a, b) : 0
    return bySize || compareAny(a, b)
  }
  const roughly = (cell: Cell): number => {
    // Of JSON, a number and a list have nothing by which they could be compared at a glance.
    if (hasTexts || isNothing(cell)) return 0
    const first = typeof cell === 'object' ? firstOf(cell) : cell
    const isText = typeof first === 'string'
    return typeof first === 'number' || isText ? NUMBERS.roughly(first) : Number.POSITIVE_INFINITY
  }
  return { keyOf: (cell) => cell, roughly, exactly }
}

/** Of an empty list, what comes before all numbers. */
function firstOf(parts: object): Cell {
  for (const part of Object.values(parts)) return part
  return Number.NEGATIVE_INFINITY
}

function compareNumbers(a: Cell, b: Cell): number {
  return compare(NUMBERS.roughly(a), NUMBERS.roughly(b)) || NUMBERS.exactly(a, b)
}

function compareAny(a: Cell, b: Cell): number {
  if (typeof a === 'number' && typeof b === 'number') return compare(a, b)
  return compare(kindOf(a), kindOf(b)) || compare(TEXTS.keyOf(a), TEXTS.keyOf(b))
}

/** Of JSON, which may hold anything: numbers, then what is true or false, texts, and all that has parts. */
function kindOf(cell: Cell): number {
  const kind = ['number', 'boolean', 'string'].indexOf(typeof cell)
  return kind === -1 ? 3 : kind
}

function compareParts(
  a: readonly Cell[],
  b: readonly Cell[],
  exactly: (a: Cell, b: Cell) => number,
): number {
  for (const [index, one] of a.entries()) {
    if (index >= b.length) return 1
    const order = exactly(one, b[index])
    if (order !== 0) return order
  }
  return compare(a.length, b.length)
}
