import { withAlignedTables } from './aligned-tables.ts'
import { type Block, blocksOf, withMarginTagFirst } from './blocks.ts'
import { Headings, withoutContents } from './headings.ts'
import { joined, Vocabulary } from './joined-lines.ts'
import { type Fragment, fragmentLines, fragmentsOf, type Line, RTL } from './page/fragments.ts'
import type { PageDrawing } from './page/page-glyphs.ts'
import type { OutlineEntry } from './page/pdf-file.ts'
import { ruledTables } from './ruled-tables.ts'
import { runningPieces } from './running-lines.ts'

export interface PagePieces {
  readonly directions: readonly (readonly Fragment[])[]
  readonly scan?: string
}

export function pagePieces({ directions, rules }: PageDrawing): PagePieces {
  return {
    directions: directions.map((glyphs) => {
      const { tables, rest } = ruledTables(glyphs, glyphs === directions[0] ? rules : [])
      return [...tables, ...fragmentsOf(rest)]
    }),
  }
}

export function pagesText(
  pages: readonly PagePieces[],
  outline: readonly OutlineEntry[],
): {
  readonly content: string
  readonly starts: readonly number[]
  /** The title shown on the first page. */
  readonly title: string | null
} {
  const bodySize = usualSize(pages)
  const upright = pages.map(({ directions }) => ({ fragments: directions[0] ?? [] }))
  const running = runningPieces(upright, bodySize)
  const regions = pages.map(({ directions }, pageIndex) =>
    directions.flatMap((pieces) =>
      readingOrder(pieces.filter((piece) => !running.has(piece))).map(({ lines }) =>
        withAlignedTables(
          withoutContents(lines, pageIndex > pages.length / 2).map(withMarginTagFirst),
        ),
      ),
    ),
  )
  const lines = regions.flat(2)
  const headings = new Headings(lines, outline, bodySize)
  const vocabulary = new Vocabulary()
  for (const [pageIndex, found] of regions.entries()) {
    for (const line of found.flat()) {
      headings.learn(line, pageIndex)
      vocabulary.add(line.text)
    }
  }
  const isTypewritten = mostly(lines, ({ isMonospace }) => isMonospace)
  const writing = new Writing(vocabulary)
  let title: string | null = null
  for (const [pageIndex, found] of regions.entries()) {
    const around = { headings, vocabulary, pageIndex, isTypewritten }
    const scan = pages[pageIndex]?.scan
    const own: readonly Block[] =
      scan === undefined
        ? found.flatMap((one) => blocksOf(one, around))
        : [{ kind: 'text', text: scan }]
    writing.addPage(own)
    if (pageIndex === 0) title = titleAmong(own, bodySize)
  }
  return { content: writing.content, starts: writing.starts, title }
}

/** Returns the heading in the largest font, if there is exactly one. */
function titleAmong(blocks: readonly Block[], bodySize: number): string | null {
  const sizes = blocks.map(({ kind, size = 0 }) => (kind === 'heading' ? size : 0))
  const largest = Math.max(...sizes, bodySize * TITLE_SIZE)
  const found = blocks.filter((_, index) => (sizes[index] ?? 0) > largest - 0.3)
  const [first] = blocks
  // The title of a paper may have the font size of its text.
  if (found.length === 0 && first?.kind === 'heading') found.push(first)
  const [only] = found
  const text = only?.text.replace(/^#+ /, '').replace(/[∗*†‡¹]+$/u, '') ?? ''
  const isShown = text.length <= TITLE_CHARS_MAX && /\p{L}{2}|[\u3040-\u9fff]/u.test(text)
  return found.length === 1 && isShown && !/^\d/.test(text) ? text : null
}

const TITLE_SIZE = 1.2
const TITLE_CHARS_MAX = 150

/** Returns the font size of most of the text. */
function usualSize(pages: readonly PagePieces[]): number {
  const counts = new Map<number, number>()
  for (const { directions } of pages) {
    for (const { size, text, font } of directions[0] ?? []) {
      const key = Math.round(size * 10) / 10
      counts.set(key, (counts.get(key) ?? 0) + (font.monospace ? text.length / 2 : text.length))
    }
  }
  let [best, most] = [10, 0]
  for (const [size, count] of counts) if (count > most) [best, most] = [size, count]
  return best
}

function mostly(lines: readonly Line[], holds: (line: Line) => boolean): boolean {
  let [chars, held] = [0, 0]
  for (const line of lines) {
    chars += line.text.length
    if (holds(line)) held += line.text.length
  }
  return held > chars * 0.6
}

class Writing {
  readonly starts: number[] = []
  readonly #pieces: string[] = []
  readonly #vocabulary: Vocabulary
  #length = 0
  #last: Block | null = null

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary
  }

  get content(): string {
    return this.#pieces.join('').toWellFormed()
  }

  addPage(blocks: readonly Block[]): void {
    const [first, ...others] = blocks
    if (first === undefined) {
      this.starts.push(this.#length)
      return
    }
    const separator = this.#goesOn(first) ? '' : this.#separatorBefore(first)
    if (separator !== '') {
      this.#write(separator)
      this.starts.push(this.#length)
      this.#write(first.text)
    } else this.#continue(first)
    this.#last = first
    for (const block of others) {
      this.#write(this.#separatorBefore(block) + block.text)
      this.#last = block
    }
  }

  #separatorBefore(block: Block): string {
    if (this.#last === null) return ''
    return this.#last.kind === 'entry' && block.kind === 'entry' ? '\n' : '\n\n'
  }

  /** Whether a sentence continues on the next page. */
  #goesOn(block: Block): boolean {
    const last = this.#last
    if (last === null || block.kind !== 'text') return false
    if (last.kind !== 'text' && last.kind !== 'entry') return false
    return /[\p{L},;\u00ad\u2010-]$/u.test(last.text) && /^[\p{Ll}\u3040-\u9fff]/u.test(block.text)
  }

  #continue(block: Block): void {
    const before = this.#pieces.pop() ?? ''
    const both = this.#last === null ? block.text : joined(before, block.text, this.#vocabulary)
    this.#length -= before.length
    this.starts.push(this.#length + both.length - block.text.length)
    this.#write(both)
  }

  #write(text: string): void {
    this.#pieces.push(text)
    this.#length += text.length
  }
}

interface Region {
  readonly lines: readonly Line[]
}

/** A gap separates columns if its sides are prose or drawn one by one; otherwise cells. */
export function readingOrder(fragments: readonly Fragment[], depth = 0): Region[] {
  const gutter = depth < CUT_DEPTH_MAX ? bestGutter(fragments) : null
  if (gutter === null) return fragments.length === 0 ? [] : [{ lines: fragmentLines(fragments) }]
  const regions: Region[] = []
  let whole: Fragment[] = []
  const flush = () => {
    if (whole.length > 0) regions.push(...readingOrder(whole, depth + 1))
    whole = []
  }
  for (const band of bandsAt(fragments, gutter)) {
    if (band.isColumns) {
      flush()
      const sides = isRtl(fragments) ? [band.right, band.left] : [band.left, band.right]
      for (const side of sides) regions.push(...readingOrder(side, depth + 1))
    } else {
      whole.push(...band.left, ...band.right)
    }
    whole.push(...band.crossing)
  }
  flush()
  return regions
}

interface Gutter {
  readonly x0: number
  readonly x1: number
}

/** The text between two fragments that cross the gutter, with the fragment that ends it. */
interface Band {
  readonly left: Fragment[]
  readonly right: Fragment[]
  readonly crossing: Fragment[]
  readonly isColumns: boolean
}

/** Returns the gutter with the most lines on both sides. */
function bestGutter(fragments: readonly Fragment[]): Gutter | null {
  if (fragments.length < LINES_MIN * 2) return null
  let best: Gutter | null = null
  let bestCount = 0
  for (const gutter of gutters(fragments)) {
    const count = bandsAt(fragments, gutter)
      .filter(({ isColumns }) => isColumns)
      .reduce((sum, { left, right }) => sum + Math.min(left.length, right.length), 0)
    if (count > bestCount) [best, bestCount] = [gutter, count]
  }
  return best
}

/** Returns nearly empty strips from top to bottom. */
function gutters(fragments: readonly Fragment[]): Gutter[] {
  const start = Math.floor(Math.min(...fragments.map(({ x0 }) => x0)))
  const end = Math.ceil(Math.max(...fragments.map(({ x1 }) => x1)))
  const width = Math.min(end - start, WIDTH_MAX)
  if (!(width > 0)) return []
  const covered = new Float64Array(width + 1)
  for (const { x0, x1, top, bottom } of fragments) {
    const last = Math.min(Math.floor(x1) - start, width)
    for (let x = Math.max(Math.ceil(x0) - start, 0); x < last; x += 1) {
      covered[x] = (covered[x] ?? 0) + bottom - top
    }
  }
  const most = covered.reduce((a, b) => Math.max(a, b), 0)
  return COVERED_SHARES_MAX.flatMap((share) => freeStrips(covered, most * share, start))
}

function freeStrips(covered: Float64Array, limit: number, start: number): Gutter[] {
  const found: Gutter[] = []
  let from = -1
  for (let x = 0; x < covered.length; x += 1) {
    const isFree = (covered[x] ?? 0) <= limit
    if (isFree && from < 0) from = x
    if (!isFree && from >= 0) {
      if (from > 0 && x - from >= GUTTER_MIN) found.push({ x0: from + start, x1: x + start })
      from = -1
    }
  }
  return found
}

function bandsAt(fragments: readonly Fragment[], gutter: Gutter): Band[] {
  const sorted = [...fragments].sort((a, b) => a.top - b.top)
  const bands: Band[] = []
  let left: Fragment[] = []
  let right: Fragment[] = []
  const close = (crossing: Fragment[]) => {
    bands.push({ left, right, crossing, isColumns: areColumns(left, right) })
    left = []
    right = []
  }
  for (const fragment of sorted) {
    if (fragment.x1 <= gutter.x1) left.push(fragment)
    else if (fragment.x0 >= gutter.x0) right.push(fragment)
    else close([fragment])
  }
  close([])
  return bands
}

function areColumns(left: readonly Fragment[], right: readonly Fragment[]): boolean {
  if (left.length < LINES_MIN || right.length < LINES_MIN) return false
  if (!standBeside(left, right)) return false
  const sides = [
    ...left.map((one) => ({ one, side: 0 })),
    ...right.map((one) => ({ one, side: 1 })),
  ]
  sides.sort((a, b) => a.one.order - b.one.order)
  let switches = 0
  for (const [index, { side }] of sides.entries()) {
    if (index > 0 && sides[index - 1]?.side !== side) switches += 1
  }
  const smaller = Math.min(left.length, right.length)
  const isDrawnBySide = switches <= 1 + smaller * 0.15
  return (isDrawnBySide && smaller > LINES_MIN) || (isProse(left) && isProse(right))
}

function standBeside(left: readonly Fragment[], right: readonly Fragment[]): boolean {
  const [a, b] = [left, right].map((side) => ({
    top: Math.min(...side.map(({ top }) => top)),
    bottom: Math.max(...side.map(({ bottom }) => bottom)),
  }))
  if (a === undefined || b === undefined) return false
  const shared = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
  return shared > 0.4 * Math.min(a.bottom - a.top, b.bottom - b.top)
}

/** Whether most lines fill the column. */
function isProse(side: readonly Fragment[]): boolean {
  const width = Math.max(...side.map(({ x1 }) => x1)) - Math.min(...side.map(({ x0 }) => x0))
  const full = side.filter(({ x0, x1 }) => x1 - x0 > width * 0.7)
  const chars = full.reduce((sum, { text }) => sum + weight(text), 0) / (full.length || 1)
  return full.length >= side.length * 0.5 && chars >= PROSE_CHARS_MIN
}

/** The length of a text, counting an ideograph as two letters. */
function weight(text: string): number {
  return text.length + (text.match(IDEOGRAPHS)?.length ?? 0)
}

function isRtl(fragments: readonly Fragment[]): boolean {
  return fragments.filter(({ text }) => RTL.test(text)).length > fragments.length / 2
}

const CUT_DEPTH_MAX = 6
const LINES_MIN = 3
/** In points. */
const GUTTER_MIN = 6
const WIDTH_MAX = 20_000
/** A title or figure may span the columns and take up much of the page. */
const COVERED_SHARES_MAX = [0.1, 0.35, 0.6]
const PROSE_CHARS_MIN = 22
const IDEOGRAPHS = /[\u3040-\u9fff\uac00-\ud7af]/g
