import { type Font, fragmentText, type Glyph, isJoinedSpace } from './fragment-text.ts'

/** Part of a line without a wide gap: a line of a column, or a table cell. */
export interface Fragment extends Omit<Glyph, 'isAfterGap'> {
  readonly top: number
  readonly bottom: number
  /** The most frequent font size of its characters. */
  readonly size: number
  /** Whether nearly all of its characters are monospaced. */
  readonly isMonospace: boolean
  /** The index of its first character in drawing order. */
  readonly order: number
}

/** Groups characters of one direction into parts of lines, in no particular order. */
export function fragmentsOf(glyphs: readonly Glyph[]): Fragment[] {
  const drawn = withoutDoubles(glyphs)
  const spaced = fontsWithSpaces(drawn)
  return merged(runsOf(drawn)).map((run) => fragmentOf(run, spaced))
}

/** Returns the fonts that draw spaces. Others only leave gaps, and a page may use both kinds. */
function fontsWithSpaces(glyphs: readonly Glyph[]): Set<Font> {
  const counts = new Map<Font, { all: number; spaces: number }>()
  for (const { font, text } of glyphs) {
    const count = counts.get(font) ?? { all: 0, spaces: 0 }
    count.all += 1
    if (isJoinedSpace(text)) count.spaces += 1
    counts.set(font, count)
  }
  return new Set(
    [...counts].flatMap(([font, { all, spaces }]) =>
      spaces > all * SPACES_SHARE_MIN ? [font] : [],
    ),
  )
}

/** Consecutive characters of a line, as drawn. */
interface Run {
  glyphs: Glyph[]
  x0: number
  x1: number
  baseline: number
  size: number
}

function runsOf(glyphs: readonly Glyph[]): Run[] {
  const runs: Run[] = []
  let run: Run | null = null
  for (const glyph of glyphs) {
    if (run !== null && continues(run, glyph)) add(run, glyph)
    else {
      const { x0, x1, baseline, size } = glyph
      run = { glyphs: [glyph], x0, x1, baseline, size }
      runs.push(run)
    }
  }
  // Remove spaces at the ends, which would make a column as wide as the page.
  return runs.map(trimmed).filter(({ glyphs: found }) => found.length > 0)
}

function add(run: Run, glyph: Glyph): void {
  run.glyphs.push(glyph)
  run.x0 = Math.min(run.x0, glyph.x0)
  run.x1 = Math.max(run.x1, glyph.x1)
  // The size of a line is that of its larger characters, because raised and lowered ones are
  // smaller.
  if (glyph.size > run.size * 1.05) {
    run.size = glyph.size
    run.baseline = glyph.baseline
  }
}

function continues(run: Run, glyph: Glyph): boolean {
  const size = Math.max(run.size, glyph.size)
  const small = Math.min(run.size, glyph.size)
  const shift = Math.abs(glyph.baseline - run.baseline)
  // Raised and lowered characters are close to their base.
  const isRaised = small < size * 0.85 && shift < size * 0.65
  if (shift > size * 0.25 && !isRaised) return false
  const last = run.glyphs[run.glyphs.length - 1]
  if (last === undefined) return true
  // The letters of a ligature share one position, so a wide one would look like a step back.
  if (glyph.x0 === last.x0 && glyph.x1 === last.x1) return true
  const gap = glyph.x0 - last.x1
  const isBackwards = last.x0 - glyph.x1
  // From right to left, a character ends where the previous one starts.
  if (gap < 0 && Math.abs(isBackwards) < size * GAP_MAX && !isRaised) return true
  return gap < size * (isRaised ? 0.4 : GAP_MAX) && gap > -size * 0.6
}

function trimmed(run: Run): Run {
  let [start, end] = [0, run.glyphs.length]
  while (start < end && run.glyphs[start]?.text.trim() === '') start += 1
  while (end > start && run.glyphs[end - 1]?.text.trim() === '') end -= 1
  if (start === 0 && end === run.glyphs.length) return run
  return runOf(run.glyphs.slice(start, end))
}

function runOf(glyphs: Glyph[]): Run {
  const run: Run = { glyphs, x0: Infinity, x1: -Infinity, baseline: 0, size: 0 }
  for (const { x0, x1, size, baseline } of glyphs) {
    run.x0 = Math.min(run.x0, x0)
    run.x1 = Math.max(run.x1, x1)
    if (size > run.size * 1.05) {
      run.size = size
      run.baseline = baseline
    }
  }
  return run
}

function merged(runs: readonly Run[]): Run[] {
  const sorted = [...runs].sort((a, b) => a.baseline - b.baseline || a.x0 - b.x0)
  const done: Run[] = []
  /** Runs that a later one may still be joined to. */
  let open: Run[] = []
  for (const run of sorted) {
    open = open.filter(({ baseline, size }) => run.baseline - baseline <= size)
    const neighbour = open.find((other) => belongTogether(other, run))
    if (neighbour === undefined) {
      open.push(run)
      done.push(run)
    } else {
      for (const glyph of run.glyphs) add(neighbour, glyph)
    }
  }
  return joinedAgain(done)
}

/** A run that closes the gap between two others joins all three. */
function joinedAgain(runs: readonly Run[]): Run[] {
  const sorted = [...runs].sort((a, b) => a.x0 - b.x0)
  const gone = new Set<Run>()
  const rows = new Map<number, Run[]>()
  for (const run of sorted) {
    const row = Math.round(run.baseline / 4)
    const near = [row - 1, row, row + 1].flatMap((key) => rows.get(key) ?? [])
    const neighbour = near.find((other) => !gone.has(other) && belongTogether(other, run))
    if (neighbour !== undefined) {
      for (const glyph of run.glyphs) add(neighbour, glyph)
      gone.add(run)
    } else {
      const others = rows.get(row)
      if (others === undefined) rows.set(row, [run])
      else others.push(run)
    }
  }
  return sorted.filter((run) => !gone.has(run))
}

function belongTogether(a: Run, b: Run): boolean {
  const size = Math.max(a.size, b.size)
  const small = Math.min(a.size, b.size)
  const shift = Math.abs(a.baseline - b.baseline)
  const isRaised = small < size * 0.85 && shift < size * 0.65
  if (shift > small * 0.3 && !isRaised) return false
  const gap = Math.max(a.x0, b.x0) - Math.min(a.x1, b.x1)
  return gap < (isRaised && shift > small * 0.3 ? size * 0.3 : size * GAP_MAX) && gap > -size * 0.8
}

function fragmentOf(
  { glyphs, x0, x1, baseline, size }: Run,
  fontsSpaced: ReadonlySet<Font>,
): Fragment {
  const order = Math.min(glyphs[0]?.order ?? 0, glyphs[glyphs.length - 1]?.order ?? 0)
  const main = mainGlyph(glyphs)
  const spaced = main !== undefined && fontsSpaced.has(main.font)
  return {
    text: fragmentText(glyphs, { baseline, size, spaced, isLong: glyphs.length > NOTE_CHARS_MIN }),
    x0,
    x1,
    top: baseline - size * 0.8,
    bottom: baseline + size * 0.2,
    baseline,
    size: main?.size ?? size,
    font: main?.font ?? { name: '', bold: false, monospace: false },
    isMonospace: isMonospace(glyphs),
    order,
  }
}

function isMonospace(glyphs: readonly Glyph[]): boolean {
  let [drawn, monospace] = [0, 0]
  for (const { text, font } of glyphs) {
    if (isJoinedSpace(text)) continue
    drawn += 1
    if (font.monospace) monospace += 1
  }
  return monospace >= drawn * 0.9
}

/** Returns a character in the font that most characters have. */
function mainGlyph(glyphs: readonly Glyph[]): Glyph | undefined {
  const kinds: { glyph: Glyph; count: number }[] = []
  let kind: { glyph: Glyph; count: number } | undefined
  for (const glyph of glyphs) {
    if (isJoinedSpace(glyph.text)) continue
    if (kind === undefined || !isSameType(kind.glyph, glyph)) {
      kind = kinds.find((other) => isSameType(other.glyph, glyph))
      if (kind === undefined) {
        kind = { glyph, count: 0 }
        kinds.push(kind)
      }
    }
    kind.count += 1
  }
  let best = kinds[0]
  for (const other of kinds) if (best === undefined || other.count > best.count) best = other
  return best?.glyph
}

function isSameType(a: Glyph, b: Glyph): boolean {
  return a.font === b.font && Math.abs(a.size - b.size) < 0.05
}

/** Removes duplicates: bold text is sometimes drawn twice, slightly shifted. */
function withoutDoubles(glyphs: readonly Glyph[]): readonly Glyph[] {
  const seen = new Map<number, Glyph[]>()
  return glyphs.filter((glyph) => {
    const key = (glyph.text.codePointAt(0) ?? 0) * 1_000_000 + Math.round(glyph.baseline / 2)
    const others = seen.get(key)
    if (others === undefined) {
      seen.set(key, [glyph])
      return true
    }
    const isDouble = others.some((other) => {
      // The letters of a ligature share one position.
      if (glyph.order - other.order < LIGATURE_LETTERS_MAX) return false
      const near = Math.min(glyph.size, other.size) * 0.12
      return (
        Math.abs(other.x0 - glyph.x0) < near && Math.abs(other.baseline - glyph.baseline) < near
      )
    })
    if (!isDouble) others.push(glyph)
    return !isDouble
  })
}

const LIGATURE_LETTERS_MAX = 4
const NOTE_CHARS_MIN = 20
/** The minimum share of spaces among a font's characters. */
const SPACES_SHARE_MIN = 0.03
/** In font sizes. Wider gaps separate columns and cells. */
const GAP_MAX = 0.95

/** A line of a column, or a table that replaces lines. */
export interface Line extends Fragment {
  /** The parts between wide gaps, in reading order. */
  readonly cells: readonly Fragment[]
  /** Rows of cells; null for a line of text. */
  readonly table: readonly (readonly string[])[] | null
}

/** Groups the fragments of a column into lines from top to bottom. */
export function fragmentLines(fragments: readonly Fragment[]): Line[] {
  const sorted = [...fragments].sort((a, b) => a.baseline - b.baseline)
  const lines: Line[] = []
  let cells: Fragment[] = []
  for (const fragment of sorted) {
    const first = cells[0]
    if (first !== undefined && !isBeside(first, fragment, cells)) {
      lines.push(lineOf(cells))
      cells = []
    }
    cells.push(fragment)
  }
  if (cells.length > 0) lines.push(lineOf(cells))
  return lines
}

function isBeside(first: Fragment, next: Fragment, cells: readonly Fragment[]): boolean {
  if (isTable(first) || isTable(next)) return false
  if (next.baseline - first.baseline > Math.min(first.size, next.size) * 0.45) return false
  return cells.every(
    ({ x0, x1 }) => next.x0 > x1 - next.size * 0.5 || next.x1 < x0 + next.size * 0.5,
  )
}

function isTable(fragment: Fragment): boolean {
  return 'table' in fragment && fragment.table !== null
}

function lineOf(found: readonly Fragment[]): Line {
  const [only] = found
  if (found.length === 1 && only !== undefined && isLine(only)) return only
  const isRtl =
    found.some(({ text }) => RTL.test(text)) && found.every(({ text }) => !LATIN.test(text))
  const cells = [...found].sort((a, b) => (isRtl ? b.x0 - a.x0 : a.x0 - b.x0))
  const { baseline, size, font } = cells.reduce((a, b) => (b.text.length > a.text.length ? b : a))
  return {
    text: cells.map(({ text }) => text).join(' '),
    x0: Math.min(...cells.map(({ x0 }) => x0)),
    x1: Math.max(...cells.map(({ x1 }) => x1)),
    top: Math.min(...cells.map(({ top }) => top)),
    bottom: Math.max(...cells.map(({ bottom }) => bottom)),
    ...{ baseline, size, font },
    isMonospace: cells.every((cell) => cell.isMonospace),
    order: Math.min(...cells.map(({ order }) => order)),
    cells,
    table: null,
  }
}

function isLine(fragment: Fragment): fragment is Line {
  return 'cells' in fragment
}

export const RTL = /[\u0590-\u08ff]/
const LATIN = /\p{Script=Latin}/u
