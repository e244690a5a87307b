import type { Line } from './page/fragments.ts'
import type { OutlineEntry } from './page/pdf-file.ts'

/** Finds headings: lines that the outline names, and lines in a larger font than the text. */
export class Headings {
  readonly bodySize: number
  readonly #sizes: readonly number[]
  readonly #outline: ReadonlyMap<number, readonly { key: string; depth: number }[]>
  readonly #depthOfSize = new Map<number, number>()

  constructor(lines: Iterable<Line>, outline: readonly OutlineEntry[], bodySize: number) {
    this.bodySize = bodySize
    const byPage = new Map<number, { key: string; depth: number }[]>()
    for (const { title, depth, pageIndex } of outline) {
      const entry = { key: styleKey(title), depth }
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
    // Ignore rare sizes, such as those of a title page, which would push all other levels down.
    const frequent = [...sizes].filter(([, count]) => count >= FREQUENT_MIN || sizes.size <= 3)
    this.#sizes = frequent.map(([size]) => size).sort((a, b) => b - a)
  }

  /** Call for all lines first: the headings in the outline determine the levels of the others. */
  learn(line: Line, pageIndex: number): void {
    const depth = this.#outlineDepth(line, pageIndex)
    const size = rounded(line.size)
    if (depth === null || this.#depthOfSize.has(size)) return
    if (line.size > this.bodySize * LARGER) this.#depthOfSize.set(size, depth)
  }

  /** From 1 to 6; null if it is not a heading. */
  levelOf(line: Line, pageIndex: number): number | null {
    if (line.table !== null || line.text.length > HEADING_CHARS_MAX || !HAS_LETTERS.test(line.text))
      return null
    const depth = this.#outlineDepth(line, pageIndex)
    if (depth !== null) return Math.min(depth, LEVEL_MAX)
    if (!this.#isLarge(line) || (pageIndex === 0 && isListOfNames(line))) return null
    const size = rounded(line.size)
    const rank =
      this.#depthOfSize.get(size) ?? this.#sizes.filter((other) => other > size).length + 1
    return Math.min(Math.max(rank, 1), LEVEL_MAX)
  }

  /** The level of a bold heading in the font size of the text. */
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
    const key = styleKey(line.text)
    if (key.length < 2 || line.size < this.bodySize * 0.95) return null
    // Some programs refer to the end of the previous page.
    for (const page of [pageIndex, pageIndex - 1]) {
      for (const entry of this.#outline.get(page) ?? []) {
        if (isSameStyle(key, entry.key)) return entry.depth
      }
    }
    return null
  }
}

/** Two or more names, with space, commas or note marks between them. */
export function isListOfNames({ cells, text }: Line): boolean {
  const isMarked = cells.length > 1 || /[,;]/.test(text.replace(NOTE_MARKS, ';'))
  const names = cells
    .flatMap(({ text }) => text.replace(NOTE_MARKS, ';').split(NAME_ENDS))
    .filter((part) => part !== '')
  return isMarked && names.length > 1 && names.every((name) => NAME.test(name))
}

/** `¹`, `1,2` or `∗` after a name. */
const NOTE_MARKS =
  /(?<=[\p{L}.])[\p{No}\d]{1,2}(?:,[\p{No}\d*∗†‡§¶]{1,2})*(?![\p{L}\d])|\s*[*∗†‡§¶]+/gu
const NAME_ENDS = /\s*(?:,|;|&|(?<=\s|;)(?:and|und|et|y)(?=\s))\s*/u
/** For example `Ada B. Lovelace`. */
const NAME =
  /^\p{Lu}[\p{L}\p{M}'’-]*\.?(?: (?:(?:de|la|van|von|der|den|di|da|del|bin|al) )*\p{Lu}[\p{L}\p{M}'’-]*\.?){1,3}$/u

/** One of them may have the chapter number before the words that both share. */
function isSameStyle(line: string, title: string): boolean {
  if (line === title) return true
  const [longer, shorter] = line.length > title.length ? [line, title] : [title, line]
  if (shorter.length < 3 || !longer.endsWith(shorter)) return false
  const before = longer.slice(0, longer.length - shorter.length)
  return before.length <= NUMBER_CHARS_MAX && (/\p{N}/u.test(before) || /^[a-z]$/.test(before))
}

function styleKey(text: string): string {
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

/** Titles with dots before a page number; late in a book only below a heading, unlike an index. */
export function withoutContents(lines: readonly Line[], isLate: boolean): Line[] {
  const dotted = lines.map(({ text, table }) => table === null && LEADERS.test(text))
  if (dotted.filter(Boolean).length < DOTTED_MIN) return [...lines]
  if (isLate && !lines.some(({ text }) => CONTENTS.test(text))) return [...lines]
  const gone = new Set<Line>()
  let [first, last] = [-1, -1]
  for (const [index, line] of lines.entries()) {
    if (dotted[index] !== true) continue
    gone.add(line)
    if (first < 0) first = index
    // Between dotted entries, chapters may have page numbers without dots and take two lines.
    const between = lines.slice(last + 1, index)
    if (last >= 0 && (between.length < UNDOTTED_MAX || between.every(isEntry))) {
      for (const line of between) gone.add(line)
    }
    last = index
  }
  for (let at = first - 1; at >= 0; at -= 1) {
    const line = lines[at]
    if (line === undefined || !(isEntry(line) || CONTENTS.test(line.text))) break
    gone.add(line)
    if (CONTENTS.test(line.text)) break
  }
  for (const line of lines.slice(last + 1)) {
    if (!isEntry(line)) break
    gone.add(line)
  }
  return lines.filter((line) => !gone.has(line))
}

/** Recognizes a title with its page number, without dots. */
function isEntry({ text, table, cells }: Line): boolean {
  return table === null && cells.length >= 2 && text.length < 120 && ENDS_WITH_NUMBER.test(text)
}

const LEADERS =
  /(?:…|[.·‥．](?:\s*[.·‥．]){3,})\s*(?:[\p{N}ivxlc]+(?:[-–.][\p{N}ivxlc]+)*|\p{L})?\s*$/iu
const ENDS_WITH_NUMBER = /\s[\divxlc]+$/i
const CONTENTS =
  /^(table of )?contents$|^inhalt(sverzeichnis)?$|^table des mati[eè]res$|^sommaire$|^[ií]ndice( general)?$|^содержание$|^оглавление$|^目\s*[次录錄]$|^차\s*례$|^목\s*차$|^المحتويات$|^תוכן/iu
const DOTTED_MIN = 3
const UNDOTTED_MAX = 3
