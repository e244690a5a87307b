import { type Block, blocksOf, withMarginTagFirst } from './blocks.ts'
import { Headings, withoutContents } from './headings.ts'
import { joined, Vocabulary } from './joined-lines.ts'
import { type Fragment, fragmentsOf, type Line } from './page/fragments.ts'
import type { PageDrawing } from './page/page-glyphs.ts'
import type { OutlineEntry } from './page/pdf-file.ts'
import { readingOrder } from './reading-order.ts'
import { runningPieces } from './running-lines.ts'
import { withAlignedTables } from './tables/aligned-tables.ts'
import { ruledTables } from './tables/ruled-tables.ts'

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
