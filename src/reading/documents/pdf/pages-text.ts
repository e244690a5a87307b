import { withAlignedTables } from './aligned-tables.ts'
import { type Block, blocksOf } from './blocks.ts'
import { withoutContents } from './contents-lines.ts'
import { type Fragment, fragmentsOf } from './fragments.ts'
import { Headings } from './headings.ts'
import { joined, Vocabulary } from './joined-lines.ts'
import type { Line } from './lines.ts'
import type { PageDrawing } from './page-glyphs.ts'
import type { OutlineEntry } from './pdf-file.ts'
import { readingOrder } from './reading-order.ts'
import { ruledTables } from './ruled-tables.ts'
import { runningPieces } from './running-lines.ts'

/** The pieces of a page, for each direction of its lines. */
export interface PagePieces {
  readonly directions: readonly (readonly Fragment[])[]
}

export function pagePieces({ directions, rules }: PageDrawing): PagePieces {
  return {
    directions: directions.map((glyphs) => {
      const { tables, rest } = ruledTables(glyphs, glyphs === directions[0] ? rules : [])
      return [...tables, ...fragmentsOf(rest)]
    }),
  }
}

/** The text of all pages as Markdown, and where each page begins in it. */
export function pagesText(
  pages: readonly PagePieces[],
  outline: readonly OutlineEntry[],
): { readonly content: string; readonly starts: readonly number[] } {
  const bodySize = usualSize(pages)
  const upright = pages.map(({ directions }) => ({ fragments: directions[0] ?? [] }))
  const running = runningPieces(upright, bodySize)
  const regions = pages.map(({ directions }) =>
    directions.flatMap((pieces) =>
      readingOrder(pieces.filter((piece) => !running.has(piece))).map(({ lines }) =>
        withoutContents(withAlignedTables(lines)),
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
  for (const [pageIndex, found] of regions.entries()) {
    const around = { headings, vocabulary, pageIndex, isTypewritten }
    writing.addPage(found.flatMap((one) => blocksOf(one, around)))
  }
  return writing
}

/** Of the type in which most of the text is. */
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

  /** A sentence that the end of the page has cut. */
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
