import type { Fragment } from '../page/fragments.ts'
import type { Line } from '../page/lines.ts'

/** A strip from top to bottom in which nothing stands. */
export type Gap = readonly [number, number]

export const ANYWHERE: readonly Gap[] = [[Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]]

/** What is left of the gaps below these cells. */
export function freeGaps(gaps: readonly Gap[], cells: readonly Fragment[]): readonly Gap[] {
  let free = [...gaps]
  for (const { x0, x1, size } of cells) {
    free = free.flatMap(([a, b]): Gap[] => {
      if (x1 <= a || x0 >= b) return [[a, b]]
      const parts: Gap[] = [
        [a, x0],
        [x1, b],
      ]
      return parts.filter(([from, to]) => to - from > size * 0.7)
    })
  }
  return free
}

/** The middle of each gap that all lines leave free. */
export function bordersBetween(lines: readonly Line[]): number[] {
  let gaps = ANYWHERE
  for (const { cells } of lines) gaps = freeGaps(gaps, cells)
  return gaps
    .filter(([from, to]) => Number.isFinite(from) && Number.isFinite(to))
    .map(([from, to]) => (from + to) / 2)
    .sort((a, b) => a - b)
}

/** Rows of cells in the place of the lines that they were. */
export function tableLine(
  table: readonly (readonly string[])[],
  box: Pick<Fragment, 'x0' | 'x1' | 'top' | 'bottom'>,
  parts: readonly Pick<Fragment, 'order' | 'size' | 'font'>[],
): Line {
  const [one] = parts
  return {
    ...box,
    text: '',
    baseline: box.top,
    size: one?.size ?? 0,
    font: one?.font ?? { name: '', bold: false, monospace: false },
    isMonospace: false,
    order: parts.reduce((least, { order }) => Math.min(least, order), Number.POSITIVE_INFINITY),
    cells: [],
    table,
  }
}
