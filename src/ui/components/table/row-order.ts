/** Rows by a column, in steps: a million of them take seconds, and the page stays at hand meanwhile. Pure. */
import type { Cell } from '../../api/sql.ts'
import { isNothing } from './cell-text.ts'
import { type KeyedCells, keyedCells } from './sort-keys.ts'

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
