import type { Line } from './page/lines.ts'
import type { OutlineEntry } from './page/pdf-file.ts'

/** Which lines are headings: those that the outline names, and those whose type is larger than the text's. */
export class Headings {
  readonly bodySize: number
  readonly #sizes: readonly number[]
  readonly #outline: ReadonlyMap<number, readonly { key: string; depth: number }[]>
  readonly #depthOfSize = new Map<number, number>()

  constructor(lines: Iterable<Line>, outline: readonly OutlineEntry[], bodySize: number) {
    this.bodySize = bodySize
    const byPage = new Map<number, { key: string; depth: number }[]>()
    for (const { title, depth, pageIndex } of outline) {
      const entry = { key: keyOf(title), depth }
      const entries = byPage.get(pageIndex)
      if (entries === undefined) byPage.set(pageIndex, [entry])
      else entries.push(entry)
    }
    this.#outline = byPage
    const sizes = new Map<number, number>()
    for (const line of lines) {
      if (!this.#isLarge(line)) continue
      sizes.set(rounded(line.size), (sizes.get(rounded(line.size)) ?? 0) + 1)
    }
    // A title page has sizes of its own, which would push all others down.
    const frequent = [...sizes].filter(([, count]) => count >= FREQUENT_MIN || sizes.size <= 3)
    this.#sizes = frequent.map(([size]) => size).sort((a, b) => b - a)
  }

  /** Call it for all lines before asking: sizes that the outline's headings have tell the depth of others. */
  learn(line: Line, pageIndex: number): void {
    const depth = this.#outlineDepth(line, pageIndex)
    const size = rounded(line.size)
    if (depth === null || this.#depthOfSize.has(size)) return
    if (line.size > this.bodySize * LARGER) this.#depthOfSize.set(size, depth)
  }

  /** 1 to 6; null: no heading. */
  levelOf(line: Line, pageIndex: number): number | null {
    if (line.table !== null || line.text.length > HEADING_CHARS_MAX || !HAS_LETTERS.test(line.text))
      return null
    const depth = this.#outlineDepth(line, pageIndex)
    if (depth !== null) return Math.min(depth, LEVEL_MAX)
    if (!this.#isLarge(line)) return null
    const size = rounded(line.size)
    const rank =
      this.#depthOfSize.get(size) ?? this.#sizes.filter((other) => other > size).length + 1
    return Math.min(Math.max(rank, 1), LEVEL_MAX)
  }

  /** Of a heading in bold type of the text's own size. */
  get boldLevel(): number {
    return Math.min(Math.max(this.#sizes.length, ...this.#depthOfSize.values(), 0) + 1, LEVEL_MAX)
  }

  #isLarge({ size, text, table }: Line): boolean {
    return (
      table === null &&
      size > this.bodySize * LARGER &&
      text.length <= HEADING_CHARS_MAX &&
      HAS_LETTERS.test(text)
    )
  }

  #outlineDepth(line: Line, pageIndex: number): number | null {
    const key = keyOf(line.text)
    if (key.length < 2 || line.size < this.bodySize * 0.95) return null
    // Some programs point to the end of the page before.
    for (const page of [pageIndex, pageIndex - 1]) {
      for (const entry of this.#outline.get(page) ?? []) {
        if (isSame(key, entry.key)) return entry.depth
      }
    }
    return null
  }
}

/** One may have the number of the chapter before the words that both have. */
function isSame(line: string, title: string): boolean {
  if (line === title) return true
  const [longer, shorter] = line.length > title.length ? [line, title] : [title, line]
  if (shorter.length < 3 || !longer.endsWith(shorter)) return false
  const before = longer.slice(0, longer.length - shorter.length)
  return before.length <= NUMBER_CHARS_MAX && (/\p{N}/u.test(before) || /^[a-z]$/.test(before))
}

function keyOf(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

function rounded(size: number): number {
  return Math.round(size * 2) / 2
}

const LARGER = 1.12
const FREQUENT_MIN = 3
const LEVEL_MAX = 6
const HEADING_CHARS_MAX = 200
const NUMBER_CHARS_MAX = 14
const HAS_LETTERS = /\p{L}.*\p{L}|[\u3040-\u9fff\uac00-\ud7af]/u
