import { bordersBetween, tableLine } from './aligned-tables.ts'
import type { Glyph } from './page/fragment-text.ts'
import { type Fragment, fragmentLines, fragmentsOf, type Line } from './page/fragments.ts'
import type { Rule } from './page/page-objects.ts'

export function ruledTables(
  glyphs: readonly Glyph[],
  rules: readonly Rule[],
): { readonly tables: readonly Line[]; readonly rest: readonly Glyph[] } {
  const tables: Line[] = []
  let rest = glyphs
  if (rules.length >= 4 && rules.length <= RULES_MAX) {
    for (const grid of gridsOf(rules)) {
      const within = rest.filter((glyph) => isInCell(glyph, grid))
      const table = within.length === 0 ? null : ruledTable(within, grid)
      if (table === null) continue
      tables.push(table)
      rest = rest.filter((glyph) => !isInCell(glyph, grid))
    }
  }
  return { tables, rest }
}

interface Grid {
  readonly xs: readonly number[]
  readonly ys: readonly number[]
  readonly horizontal: readonly Rule[]
  readonly vertical: readonly Rule[]
}

function gridsOf(rules: readonly Rule[]): Grid[] {
  return touchingGroups(rules).flatMap((group) => {
    const horizontal = group.filter(({ x0, x1, y0, y1 }) => x1 - x0 > y1 - y0)
    const vertical = group.filter(({ x0, x1, y0, y1 }) => x1 - x0 <= y1 - y0)
    if (horizontal.length === 0 || vertical.length === 0) return []
    // Many tables have no lines at the sides; the ends of their horizontal lines are the edges.
    const xs = distinct([...vertical.map(({ x0 }) => x0), ...ends(horizontal, 'x0', 'x1')])
    const ys = distinct([...horizontal.map(({ y0 }) => y0), ...ends(vertical, 'y0', 'y1')])
    const isGrid =
      xs.length >= 3 &&
      ys.length >= 2 &&
      xs.length <= RULED_COLUMNS_MAX + 1 &&
      ys.length <= RULED_ROWS_MAX + 1
    return isGrid ? [{ xs, ys, horizontal, vertical }] : []
  })
}

function ends(rules: readonly Rule[], from: 'x0' | 'y0', to: 'x1' | 'y1'): [number, number] {
  return [Math.min(...rules.map((rule) => rule[from])), Math.max(...rules.map((rule) => rule[to]))]
}

function touchingGroups(rules: readonly Rule[]): Rule[][] {
  const sorted = [...rules].sort((a, b) => a.y0 - b.y0)
  const parents = sorted.map((_, index) => index)
  const root = (index: number): number => {
    let at = index
    while (parents[at] !== at) {
      parents[at] = parents[parents[at] ?? at] ?? at
      at = parents[at] ?? at
    }
    return at
  }
  for (const [index, rule] of sorted.entries()) {
    for (let next = index + 1; next < sorted.length; next += 1) {
      const other = sorted[next]
      if (other === undefined || other.y0 > rule.y1 + NEAR) break
      if (other.x0 <= rule.x1 + NEAR && other.x1 >= rule.x0 - NEAR)
        parents[root(next)] = root(index)
    }
  }
  const groups = new Map<number, Rule[]>()
  for (const [index, rule] of sorted.entries()) {
    const key = root(index)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [rule])
    else group.push(rule)
  }
  return [...groups.values()].filter(({ length }) => length >= 4)
}

/** Returns positions that differ by more than the thickness of a line. */
function distinct(positions: readonly number[]): number[] {
  const found: number[] = []
  for (const position of [...positions].sort((a, b) => a - b)) {
    const last = found[found.length - 1]
    if (last === undefined || position - last > NEAR) found.push(position)
  }
  return found
}

function isInCell({ x0, x1, baseline, size }: Glyph, { xs, ys }: Grid): boolean {
  const [x, y] = [(x0 + x1) / 2, baseline - size * 0.3]
  return x > first(xs) && x < last(xs) && y > first(ys) && y < last(ys)
}

/** Null if these are boxes around texts or parts of a drawing. */
function ruledTable(glyphs: readonly Glyph[], grid: Grid): Line | null {
  const cells = cellsOf(glyphs, grid)
  const borders = Array.from({ length: grid.xs.length - 1 }, (_, column) =>
    innerBorders(cells.flatMap((row) => fragmentLines(row[column] ?? []))),
  )
  const rows = cells
    .flatMap((row) =>
      splitRows(row.flatMap((cell, column) => parted(fragmentLines(cell), borders[column] ?? []))),
    )
    .filter((row) => row.some((cell) => cell !== ''))
  const used = rows[0]?.map((_, column) => rows.some((row) => row[column] !== '')) ?? []
  const table = rows.map((row) => row.filter((_, column) => used[column]))
  const filled = table.filter((row) => row.filter((cell) => cell !== '').length >= 2).length
  if (table.length < 2 || filled < 2 || filled < table.length * 0.4) return null
  return tableLine(table, boxOf(grid), glyphs)
}

function cellsOf(glyphs: readonly Glyph[], grid: Grid): Fragment[][][] {
  const columns = grid.xs.length - 1
  const cells = Array.from({ length: grid.ys.length - 1 }, () =>
    Array.from({ length: columns }, (): Glyph[] => []),
  )
  const heads = joinedCells(grid)
  for (const glyph of glyphs) {
    const row = slot(grid.ys, glyph.baseline - glyph.size * 0.3)
    const column = slot(grid.xs, (glyph.x0 + glyph.x1) / 2)
    const head = heads[row * columns + column] ?? 0
    cells[Math.floor(head / columns)]?.[head % columns]?.push(glyph)
  }
  return cells.map((row) => row.map((cell) => fragmentsOf(cell)))
}

/** Finds columns of numbers within a column between lines: the middle of the gaps between them. */
function innerBorders(lines: readonly Line[]): number[] {
  const several = lines.filter(({ cells }) => cells.length >= 2)
  if (several.length < 3 || several.length < lines.length * 0.5) return []
  return bordersBetween(several)
}

interface CellLine {
  readonly text: string
  readonly baseline: number
}

/** Splits a cell's lines into the columns within it. */
function parted(lines: readonly Line[], borders: readonly number[]): CellLine[][] {
  const columns = Array.from({ length: borders.length + 1 }, (): CellLine[] => [])
  for (const { cells, baseline } of lines) {
    for (const [index, column] of columns.entries()) {
      const own = cells.filter(({ x0, x1 }) => slotAmong(borders, (x0 + x1) / 2) === index)
      if (own.length > 0) column.push({ text: own.map(({ text }) => text).join(' '), baseline })
    }
  }
  return columns
}

/** For each cell, the first of the cells that no line separates from it. */
function joinedCells({ xs, ys, horizontal, vertical }: Grid): number[] {
  const columns = xs.length - 1
  const heads: number[] = []
  for (let row = 0; row < ys.length - 1; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const [x0, x1] = [xs[column] ?? 0, xs[column + 1] ?? 0]
      const [y0, y1] = [ys[row] ?? 0, ys[row + 1] ?? 0]
      const hasLeft =
        column === 0 || vertical.some((rule) => covers(rule.x0, x0, [rule.y0, rule.y1], [y0, y1]))
      const hasTop =
        row === 0 || horizontal.some((rule) => covers(rule.y0, y0, [rule.x0, rule.x1], [x0, x1]))
      const at = row * columns + column
      if (!hasLeft) heads.push(heads[at - 1] ?? at)
      else heads.push(hasTop ? at : (heads[at - columns] ?? at))
    }
  }
  return heads
}

type Span = readonly [number, number]

function covers(position: number, wanted: number, [a, b]: Span, [from, to]: Span): boolean {
  if (Math.abs(position - wanted) > NEAR) return false
  return Math.min(b, to) - Math.max(a, from) > (to - from) * 0.5
}

/** If drawn lines separate only columns, each line of short texts is a row. */
function splitRows(row: readonly (readonly CellLine[])[]): string[][] {
  const whole = [row.map((lines) => lines.map(({ text }) => text).join('\n'))]
  const baselines = distinct(row.flat().map(({ baseline }) => baseline))
  if (baselines.length < SPLIT_LINES_MIN) return whole
  const rows = baselines.map((baseline) =>
    row.map((lines) => {
      const own = lines.filter(
        (line) => line.baseline >= baseline && line.baseline <= baseline + NEAR,
      )
      return own.map(({ text }) => text).join(' ')
    }),
  )
  const filled = rows.filter((cells) => cells.filter((cell) => cell !== '').length >= 2).length
  const [, ...others] = row
  const lengths = others.flat().map(({ text }) => text.length)
  const short = lengths.filter((length) => length <= SPLIT_CHARS_USUAL).length
  return filled >= rows.length * 0.6 && short >= lengths.length * 0.8 ? rows : whole
}

function boxOf({ xs, ys }: Grid): Pick<Fragment, 'x0' | 'x1' | 'top' | 'bottom'> {
  return { x0: first(xs), x1: last(xs), top: first(ys), bottom: last(ys) }
}

function slotAmong(borders: readonly number[], value: number): number {
  return borders.filter((border) => border < value).length
}

function slot(positions: readonly number[], value: number): number {
  let index = 0
  while (index < positions.length - 2 && value >= (positions[index + 1] ?? 0)) index += 1
  return index
}

function first(values: readonly number[]): number {
  return values[0] ?? 0
}

function last(values: readonly number[]): number {
  return values[values.length - 1] ?? 0
}

/** In points. Lines closer than this touch, or are the same. */
const NEAR = 3
const SPLIT_LINES_MIN = 3
const SPLIT_CHARS_USUAL = 16
const RULES_MAX = 4000
const RULED_COLUMNS_MAX = 40
const RULED_ROWS_MAX = 300
